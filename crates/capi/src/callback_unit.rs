//! Units that are functions of the caller.

#![expect(unsafe_code, reason = "calls functions of the caller")]

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

use gyrator::Unit;
use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{
    Capabilities, Causality, Handle, Period, StepOutcome, UnitDescription, UnitResult, Variable,
};

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
    /// Advances it from `time` by `step`, both in s, with these inputs, which are held; writes the outputs at the end, where the
    /// array has the last ones. Called once with `step` 0 for the initial outputs, which depend on no input.
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

/// A [`GyratorUnit`] in a system.
pub(crate) struct CallbackUnit {
    description: UnitDescription,
    inputs: Vec<f64>,
    outputs: Vec<f64>,
    time: f64,
    step: Step,
    data: Data,
}

/// The pointer of the caller, which is released once.
struct Data {
    pointer: *mut c_void,
    release: Option<extern "C" fn(data: *mut c_void)>,
}

// SAFETY: the caller provides data that any thread may use, one at a time (`gyrator.h`).
unsafe impl Send for Data {}

impl Drop for Data {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            release(self.pointer);
        }
    }
}

impl CallbackUnit {
    pub(crate) fn new(unit: &GyratorUnit<'_>) -> Result<Self, Refusal> {
        let step = there(unit.step, "the step of the unit")?;
        let inputs = array(unit.inputs, unit.input_count, "the inputs of the unit")?;
        let outputs = array(unit.outputs, unit.output_count, "the outputs of the unit")?;
        let mut variables = Vec::new();
        for (of, causality) in [(inputs, Causality::Input), (outputs, Causality::Output)] {
            for variable in of {
                let name = variable.name.read("the name of a variable")?;
                let handle = Handle::try_from(variables.len())
                    .map_err(|_| Refusal::usage("a unit has too many variables"))?;
                variables.push(Variable::real(name, handle, causality));
            }
        }
        let capabilities = Capabilities {
            variable_step: true,
            ..Capabilities::default()
        };
        let starts = |of: &[GyratorVariable<'_>]| of.iter().map(|v| v.start).collect();
        Ok(Self {
            description: UnitDescription::new(variables, BTreeMap::new(), capabilities),
            inputs: starts(inputs),
            outputs: starts(outputs),
            time: 0.0,
            step,
            data: Data {
                pointer: unit.data,
                release: unit.release,
            },
        })
    }

    fn advance(&mut self, time: f64, step: f64) -> UnitResult {
        let (inputs, outputs) = (self.inputs.as_ptr(), self.outputs.as_mut_ptr());
        match (self.step)(self.data.pointer, time, step, inputs, outputs) {
            0 => Ok(()),
            code => {
                let message = format!("the callback returned {code}");
                Err(UnitFault::new("step", Cause::Error, message))
            }
        }
    }
}

impl Unit for CallbackUnit {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.time = period.start;
        Ok(())
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.advance(self.time, 0.0)
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        for (&handle, &value) in handles.iter().zip(values) {
            let Some(input) = self.inputs.get_mut(handle as usize) else {
                let message = "an output cannot be set";
                return Err(UnitFault::new("set_reals", Cause::Error, message));
            };
            *input = value;
        }
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        let inputs = self.inputs.len();
        for (&handle, value) in handles.iter().zip(values) {
            let handle = handle as usize;
            let found = match handle.checked_sub(inputs) {
                None => self.inputs.get(handle),
                Some(output) => self.outputs.get(output),
            };
            *value = *found.ok_or_else(|| {
                UnitFault::new("get_reals", Cause::Error, "there is no such variable")
            })?;
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.advance(time, step)?;
        Ok(StepOutcome::Done)
    }
}
