//! A wrapper that watches how a unit is called.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gyrator::error::Cause;
use gyrator::unit::{Handle, Period, SavedState, StepOutcome, UnitResult, UnitWrapper};
use gyrator::{Unit, Value};

/// Passes all calls on to a unit, and notes those that break the order of calls that [`Unit`] promises.
pub struct Spy<U> {
    unit: U,
    log: Arc<Mutex<Log>>,
    state: CallState,
    /// Stop time that it was given, s.
    stop: Option<f64>,
}

/// Calls, inputs and violations that a [`Spy`] has recorded.
#[derive(Debug, Clone, Default)]
pub struct Spied(Arc<Mutex<Log>>);

/// The inputs of one communication step, as the unit was given them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GivenInputs {
    /// Start of the step, s.
    pub time: f64,
    /// Handles, orders of derivative (0: the value) and values of what was set since the last step.
    pub values: Vec<(Handle, i32, f64)>,
}

#[derive(Debug, Default)]
struct Log {
    steps: u64,
    sets: u64,
    gets: u64,
    derivatives: u64,
    violations: Vec<String>,
    inputs: Vec<GivenInputs>,
    given: Vec<(Handle, i32, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    Instantiated,
    /// After `fmi2SetupExperiment`, in which an FMU may lose the values that were set before (C-31).
    SetUp,
    Initialization,
    /// Between steps, nothing set since the last one.
    StepComplete,
    /// Between steps, and values were set: a get would need a step first (C-28).
    ValuesSet,
    /// A step was discarded: going back to the state before it is the way out.
    Discarded,
    Ended,
}

impl<U: Unit> Spy<U> {
    /// A spy on `unit`, and what it will have seen.
    pub fn on(unit: U) -> (Self, Spied) {
        let spied = Spied::default();
        let spy = Self {
            unit,
            log: Arc::clone(&spied.0),
            state: CallState::Instantiated,
            stop: None,
        };
        (spy, spied)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect(&mut self, call: &str, allowed: &[CallState]) {
        if !allowed.contains(&self.state) {
            let violation = format!("{call} in {:?}", self.state);
            self.log().violations.push(violation);
        }
    }

    fn expect_read(&mut self, call: &str) {
        if self.state == CallState::ValuesSet && self.unit.description().capabilities.fresh_outputs
        {
            return;
        }
        self.expect(call, &[CallState::Initialization, CallState::StepComplete]);
    }

    fn is_stepping(&self) -> bool {
        matches!(self.state, CallState::StepComplete | CallState::ValuesSet)
    }

    fn mark_set(&mut self) {
        if self.is_stepping() {
            self.state = CallState::ValuesSet;
        }
    }

    /// A call that ended badly is the last one.
    fn end_if_failed<T>(&mut self, result: UnitResult<T>) -> UnitResult<T> {
        if result.is_err() {
            self.state = CallState::Ended;
        }
        result
    }
}

impl Spied {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls of `step`.
    pub fn steps(&self) -> u64 {
        self.log().steps
    }

    /// Calls of `set_reals` between steps.
    pub fn sets(&self) -> u64 {
        self.log().sets
    }

    /// Calls of `get_reals` between steps.
    pub fn gets(&self) -> u64 {
        self.log().gets
    }

    /// Calls of `directional_derivative` between steps.
    pub fn derivatives(&self) -> u64 {
        self.log().derivatives
    }

    /// Calls that came in a state that does not allow them.
    pub fn violations(&self) -> Vec<String> {
        self.log().violations.clone()
    }

    /// Inputs that the unit was given, step by step.
    pub fn inputs(&self) -> Vec<GivenInputs> {
        self.log().inputs.clone()
    }
}

use CallState::{Initialization, Instantiated, SetUp, StepComplete, ValuesSet};

impl<U: Unit> UnitWrapper for Spy<U> {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.expect("setup_experiment", &[Instantiated]);
        self.state = SetUp;
        self.stop = period.stop;
        let result = self.unit.setup_experiment(period);
        self.end_if_failed(result)
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.expect("enter_initialization_mode", &[SetUp]);
        self.state = Initialization;
        let result = self.unit.enter_initialization_mode();
        self.end_if_failed(result)
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.expect("exit_initialization_mode", &[Initialization]);
        self.state = StepComplete;
        let result = self.unit.exit_initialization_mode();
        self.end_if_failed(result)
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        self.expect(
            "set_reals",
            &[SetUp, Initialization, StepComplete, ValuesSet],
        );
        if self.is_stepping() {
            let mut log = self.log();
            log.sets += 1;
            let given = handles.iter().zip(values).map(|(h, v)| (*h, 0, *v));
            log.given.extend(given);
        }
        self.mark_set();
        let result = self.unit.set_reals(handles, values);
        self.end_if_failed(result)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.expect_read("get_reals");
        self.log().gets += u64::from(self.is_stepping());
        let result = self.unit.get_reals(handles, values);
        self.end_if_failed(result)
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.expect("step", &[StepComplete, ValuesSet]);
        self.state = StepComplete;
        {
            let mut log = self.log();
            log.steps += 1;
            let values = std::mem::take(&mut log.given);
            log.inputs.push(GivenInputs { time, values });
            // As FMUs of several tools look at it, without any tolerance (C-33).
            if let Some(stop) = self.stop.filter(|stop| time + step > *stop) {
                let text =
                    format!("step from {time} s by {step} s goes beyond the stop time {stop} s");
                log.violations.push(text);
            }
        }
        let result = self.unit.step(time, step);
        let result = self.end_if_failed(result);
        if matches!(&result, Err(fault) if fault.cause == Cause::Discard) {
            self.state = CallState::Discarded;
        }
        result
    }

    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        self.expect(
            "set_value",
            &[SetUp, Initialization, StepComplete, ValuesSet],
        );
        self.mark_set();
        let result = self.unit.set_value(handle, value);
        self.end_if_failed(result)
    }

    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        self.expect_read("get_value");
        let result = self.unit.get_value(handle, value);
        self.end_if_failed(result)
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        self.expect("set_input_derivatives", &[StepComplete, ValuesSet]);
        let given = handles.iter().zip(orders).zip(values);
        let given = given.map(|((h, o), v)| (*h, *o, *v));
        self.log().given.extend(given);
        self.mark_set();
        let result = self.unit.set_input_derivatives(handles, orders, values);
        self.end_if_failed(result)
    }

    fn output_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &mut [f64],
    ) -> UnitResult {
        self.expect_read("output_derivatives");
        let result = self.unit.output_derivatives(handles, orders, values);
        self.end_if_failed(result)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        self.expect_read("directional_derivative");
        self.log().derivatives += u64::from(self.is_stepping());
        let result = self
            .unit
            .directional_derivative(unknowns, knowns, seed, values);
        self.end_if_failed(result)
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let result = self.unit.restore(state);
        if result.is_ok() && self.state == CallState::Discarded {
            self.state = ValuesSet;
        }
        result
    }

    fn terminate(&mut self) -> UnitResult {
        self.expect("terminate", &[StepComplete, ValuesSet]);
        self.state = CallState::Ended;
        self.unit.terminate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_unit::ModelUnit;
    use fmu_models::OscillatorForce;

    #[test]
    fn a_read_after_a_write_is_seen() {
        let unit = ModelUnit::<OscillatorForce>::new().without_fresh();
        let (mut spy, spied) = Spy::on(unit);
        let spy: &mut dyn Unit = &mut spy;
        spy.setup_experiment(&Period {
            start: 0.0,
            stop: None,
            tolerance: None,
        })
        .unwrap();
        spy.enter_initialization_mode().unwrap();
        spy.exit_initialization_mode().unwrap();
        let mut value = [0.0];
        spy.get_reals(&[0], &mut value).unwrap();
        spy.set_reals(&[0], &value).unwrap();
        assert!(spied.violations().is_empty());
        spy.get_reals(&[0], &mut value).unwrap();
        assert_eq!(spied.violations(), ["get_reals in ValuesSet"]);
        spy.step(0.0, 1e-3).unwrap();
        spy.get_reals(&[0], &mut value).unwrap();
        spy.terminate().unwrap();
        spy.step(1e-3, 1e-3).unwrap();
        assert_eq!(spied.violations()[1..], ["step in Ended"]);
        assert_eq!((spied.sets(), spied.gets(), spied.steps()), (1, 3, 2));
    }
}
