//! A unit made of a closure: the quickest way to put a model, a controller or a physical part into
//! a system.

use std::collections::BTreeMap;
use std::error::Error;

use crate::fault::{Cause, UnitFault};
use crate::unit::{
    Capabilities, Causality, Handle, Period, SavedState, StepOutcome, Unit, UnitDescription,
    UnitResult, Variable, set_inputs, unsupported,
};

/// Arguments of a call to a [`ClosureUnit`], one call per communication step.
#[derive(Debug)]
pub struct Call<'a> {
    /// Time at the start of the step, s; the start time when the initial outputs are wanted.
    pub time: f64,
    /// Length of the step, s; 0 when the initial outputs are wanted.
    pub step: f64,
    /// The inputs, in the order of their declaration.
    pub inputs: &'a [f64],
    /// The outputs to be filled in, in the order of their declaration; they hold the last ones.
    pub outputs: &'a mut [f64],
}

/// A unit whose step is a Rust closure over real inputs and outputs.
///
/// The closure is called once per communication step, and once with `step = 0` for the initial
/// outputs. Outputs are those the step left: they do not depend on inputs that are set later, and
/// the initial outputs depend on no input.
///
/// [`Unit::save`] keeps the inputs and the outputs, but not what the closure keeps to itself. The
/// description has the capability only if the closure is [`memoryless`](Self::memoryless); a
/// [`UnitWrapper`](crate::unit::UnitWrapper) that also saves the rest may add it.
pub struct ClosureUnit<F> {
    description: UnitDescription,
    signals: Signals,
    time: f64,
    step: F,
}

/// The values of a [`ClosureUnit`].
#[derive(Clone)]
struct Signals {
    inputs: Vec<f64>,
    outputs: Vec<f64>,
}

/// The results that closures of units have.
mod sealed {
    use super::{Cause, Error, UnitFault, UnitResult};

    pub trait Returned {
        fn into_result(self) -> UnitResult;
    }

    impl Returned for () {
        #[inline]
        fn into_result(self) -> UnitResult {
            Ok(())
        }
    }

    impl<E: Into<Box<dyn Error + Send + Sync>>> Returned for Result<(), E> {
        #[inline]
        fn into_result(self) -> UnitResult {
            self.map_err(|error| {
                let error = error.into();
                let causes = std::iter::successors(error.source(), |&cause| cause.source());
                let message =
                    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
                UnitFault::new("step", Cause::Error, message)
            })
        }
    }
}

impl<F: FnMut(Call<'_>) + Send> ClosureUnit<F> {
    /// A unit with these inputs and outputs (name, start value) that `step` advances.
    pub fn new(inputs: &[(&str, f64)], outputs: &[(&str, f64)], step: F) -> Self {
        Self::made(inputs, outputs, step)
    }
}

impl<F, E> ClosureUnit<F>
where
    F: FnMut(Call<'_>) -> Result<(), E> + Send,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    /// As [`new`](ClosureUnit::new), with a `step` that may fail: a sensor without an answer, a socket that was closed.
    /// An error ends the run as an FMU's error does, with the component, the time and the message, which also has the
    /// sources of the error.
    ///
    /// ```
    /// use gyrator::{ClosureUnit, RunOptions, System};
    ///
    /// let sensor = ClosureUnit::try_new(&[], &[("y", 0.0)], |call| {
    ///     if call.time > 0.15 {
    ///         return Err("the sensor does not answer");
    ///     }
    ///     call.outputs[0] = call.time + call.step;
    ///     Ok(())
    /// });
    /// let mut system = System::new(0.1);
    /// system.add("sensor", sensor);
    /// let mut run = system.start(&RunOptions::default())?;
    /// let failed = run.run_until(1.0).unwrap_err();
    /// assert_eq!(failed.to_string(), "sensor: step at t = 0.2 s (step 2): the sensor does not answer");
    /// # Ok::<(), gyrator::StartError>(())
    /// ```
    pub fn try_new(inputs: &[(&str, f64)], outputs: &[(&str, f64)], step: F) -> Self {
        Self::made(inputs, outputs, step)
    }
}

impl<F> ClosureUnit<F> {
    fn made(inputs: &[(&str, f64)], outputs: &[(&str, f64)], step: F) -> Self {
        let names = inputs.iter().map(|(name, _)| (*name, Causality::Input));
        let names = names.chain(outputs.iter().map(|(name, _)| (*name, Causality::Output)));
        let variables = names
            .zip(0..)
            .map(|((name, causality), handle)| Variable::real(name, handle, causality))
            .collect();
        let capabilities = Capabilities {
            variable_step: true,
            ..Capabilities::default()
        };
        Self {
            description: UnitDescription::new(variables, BTreeMap::new(), capabilities),
            signals: Signals {
                inputs: inputs.iter().map(|(_, start)| *start).collect(),
                outputs: outputs.iter().map(|(_, start)| *start).collect(),
            },
            time: 0.0,
            step,
        }
    }

    /// Declares that the closure keeps nothing from one call to the next, so that the inputs and the outputs are the
    /// whole state: the unit can be saved and restored.
    #[must_use]
    pub fn memoryless(mut self) -> Self {
        self.description.capabilities.save_and_restore = true;
        self
    }
}

impl<F, R> ClosureUnit<F>
where
    F: FnMut(Call<'_>) -> R,
    R: sealed::Returned,
{
    fn call(&mut self, time: f64, step: f64) -> UnitResult {
        let returned = (self.step)(Call {
            time,
            step,
            inputs: &self.signals.inputs,
            outputs: &mut self.signals.outputs,
        });
        returned.into_result()
    }
}

impl<F, R> Unit for ClosureUnit<F>
where
    F: FnMut(Call<'_>) -> R + Send,
    R: sealed::Returned,
{
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.time = period.start;
        Ok(())
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.call(self.time, 0.0)
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        set_inputs(&mut self.signals.inputs, handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        let Signals { inputs, outputs } = &self.signals;
        for (&handle, value) in handles.iter().zip(values) {
            let handle = handle as usize;
            *value = match handle.checked_sub(inputs.len()) {
                None => inputs[handle],
                Some(output) => outputs[output],
            };
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.call(time, step)?;
        Ok(StepOutcome::Done)
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        let previous = previous.and_then(|state| state.downcast::<Signals>().ok());
        Ok(match previous {
            Some(mut kept) => {
                kept.inputs.clone_from(&self.signals.inputs);
                kept.outputs.clone_from(&self.signals.outputs);
                kept
            }
            None => Box::new(self.signals.clone()),
        })
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let Some(kept) = state.downcast_ref::<Signals>() else {
            return Err(unsupported("restore", "the state is another unit's"));
        };
        self.signals.inputs.clone_from(&kept.inputs);
        self.signals.outputs.clone_from(&kept.outputs);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunError, RunOptions, System};

    /// A meter that stops answering at 0.2 s.
    fn failing() -> impl Unit {
        ClosureUnit::try_new(&[("u", 0.0)], &[("y", 0.0)], |call: Call<'_>| {
            if call.time > 0.15 {
                let closed = std::io::Error::other("connection reset");
                return Err(RunError::Observer(Box::new(closed)));
            }
            call.outputs[0] = call.inputs[0];
            Ok(())
        })
    }

    #[test]
    fn an_error_of_the_closure_ends_the_run_where_it_happens() {
        let mut system = System::new(0.1);
        system.add("meter", failing());
        let mut run = system.start(&RunOptions::default()).unwrap();
        assert!(run.run_until(0.2).unwrap());
        let error = run.step().unwrap_err().to_string();
        assert_eq!(error, "meter: step at t = 0.2 s (step 2): connection reset");
        assert!(run.has_ended());
    }

    #[test]
    fn sources_of_an_error_are_in_its_message() {
        #[derive(Debug, thiserror::Error)]
        #[error("the meter is silent")]
        struct Silent(#[source] std::num::ParseIntError);
        let read = |_: Call<'_>| "x".parse::<i32>().map(drop).map_err(Silent);
        let mut unit = ClosureUnit::try_new(&[], &[("y", 0.0)], read);
        let fault = unit.step(0.0, 0.1).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "step: the meter is silent: invalid digit found in string"
        );
    }

    /// A controller without memory goes back; any other closure says that it cannot.
    #[test]
    fn only_a_memoryless_closure_can_be_saved() {
        let double =
            || ClosureUnit::new(&[("u", 0.0)], &[("y", 1.0)], |call| call.outputs[0] *= 2.0);
        assert!(!double().description().capabilities.save_and_restore);
        let mut system = System::new(0.1);
        system.add("double", double().memoryless());
        let mut run = system.start(&RunOptions::default()).unwrap();
        run.step().unwrap();
        let saved = run.save().unwrap();
        run.write("double.u", 3.0).unwrap();
        run.step().unwrap();
        let after = [run.read_real("double.u"), run.read_real("double.y")].map(Result::unwrap);
        assert_eq!(after, [3.0, 8.0]);
        run.restore(&saved).unwrap();
        let before = [run.read_real("double.u"), run.read_real("double.y")].map(Result::unwrap);
        assert_eq!(before, [0.0, 4.0]);
        run.step().unwrap();
        assert_eq!(run.read_real("double.y").unwrap(), 8.0);
    }
}
