//! Units that are functions of the caller.

#![expect(unsafe_code, reason = "calls functions of the caller")]

use std::ffi::{c_int, c_void};

use gyrator::unit::Call;
use gyrator::{ClosureUnit, Unit};

use crate::arguments::{Text, array, there};
use crate::error::Refusal;

/// A real variable of a unit.
#[repr(C)]
pub struct GyratorVariable<'a> {
    /// Its name.
    pub name: Text<'a>,
    /// Its start value.
    pub start: f64,
}

/// A unit that the caller computes: a model, a controller, a physical part. It is called from one thread at a time, which is not
/// always the same one, and calls no function of the run that it is in.
#[repr(C)]
pub struct GyratorUnit<'a> {
    /// Inputs.
    pub inputs: Option<&'a GyratorVariable<'a>>,
    /// How many there are.
    pub input_count: usize,
    /// Outputs.
    pub outputs: Option<&'a GyratorVariable<'a>>,
    /// How many there are.
    pub output_count: usize,
    /// Advances it from `time` by `step`, both in s, with these inputs, which are held. Writes the outputs at the end; before, the
    /// array has the last ones. Called once with `step` 0 for the initial outputs, which do not depend on inputs.
    /// Anything but 0 ends the run as an error.
    pub step: Option<
        extern "C" fn(
            data: *mut c_void,
            time: f64,
            step: f64,
            inputs: *const f64,
            outputs: *mut f64,
        ) -> c_int,
    >,
    /// Frees `data` when the unit is not used any more; may be NULL.
    pub release: Option<extern "C" fn(data: *mut c_void)>,
    /// First argument of both functions.
    pub data: *mut c_void,
}

/// The function of a [`GyratorUnit`] that advances it.
type Step = extern "C" fn(*mut c_void, f64, f64, *const f64, *mut f64) -> c_int;

/// The functions of the caller with their pointer, which is released once.
struct Callback {
    step: Step,
    release: Option<extern "C" fn(data: *mut c_void)>,
    data: *mut c_void,
}

// SAFETY: the caller provides data that any thread may use, one at a time (`gyrator.h`).
unsafe impl Send for Callback {}

impl Callback {
    fn advance(&self, call: Call<'_>) -> Result<(), String> {
        let (inputs, outputs) = (call.inputs.as_ptr(), call.outputs.as_mut_ptr());
        match (self.step)(self.data, call.time, call.step, inputs, outputs) {
            0 => Ok(()),
            code => Err(format!("the callback returned {code}")),
        }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            release(self.data);
        }
    }
}

/// The unit that the caller describes.
pub(crate) fn made(unit: &GyratorUnit<'_>) -> Result<impl Unit + use<>, Refusal> {
    let step = there(unit.step, "the step of the unit")?;
    let inputs = starts(unit.inputs, unit.input_count, "the inputs of the unit")?;
    let outputs = starts(unit.outputs, unit.output_count, "the outputs of the unit")?;
    let callback = Callback {
        step,
        release: unit.release,
        data: unit.data,
    };
    let advance = move |call: Call<'_>| callback.advance(call);
    Ok(ClosureUnit::try_new(&inputs, &outputs, advance))
}

fn starts<'a>(
    first: Option<&'a GyratorVariable<'a>>,
    count: usize,
    name: &str,
) -> Result<Vec<(&'a str, f64)>, Refusal> {
    let variables = array(first, count, name)?.iter();
    variables
        .map(|variable| {
            Ok((
                variable.name.read("the name of a variable")?,
                variable.start,
            ))
        })
        .collect()
}
