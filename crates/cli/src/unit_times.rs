//! Time that the calls of FMUs take, by component and operation: measured for the report of a run alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use gyrator::error::LoadError;
use gyrator::unit::{
    Handle, Period, SavedState, StepOutcome, UnitMaker, UnitOrder, UnitResult, UnitWrapper,
};
use gyrator::{Unit, Value};
use serde::Serialize;

/// Purpose of a call.
#[derive(Debug, Clone, Copy)]
enum Operation {
    /// Loads the library, makes the instance.
    Load,
    /// Until Initialization Mode has ended, with the values that are set and read until then.
    Initialize,
    Set,
    Step,
    Get,
    /// Directional derivatives.
    Derivative,
    /// Saves and restores the state.
    State,
    Terminate,
}

/// All operations, with their words.
const OPERATIONS: [(Operation, &str); 8] = [
    (Operation::Load, "load"),
    (Operation::Initialize, "initialize"),
    (Operation::Set, "set"),
    (Operation::Step, "step"),
    (Operation::Get, "get"),
    (Operation::Derivative, "derivative"),
    (Operation::State, "state"),
    (Operation::Terminate, "terminate"),
];

/// Calls of one operation of a component.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OperationTime {
    component: String,
    operation: &'static str,
    calls: u64,
    /// Time of all of them, s.
    seconds: f64,
}

/// Times of the calls of a run's FMUs; clones share them.
#[derive(Clone, Default)]
pub(crate) struct UnitTimes(Arc<Mutex<Vec<OfComponent>>>);

/// A component with the calls of its FMU.
type OfComponent = (String, Arc<Tallies>);

/// Calls of a component, by operation. Only the thread that calls the unit writes them.
#[derive(Debug, Default)]
struct Tallies([Tally; OPERATIONS.len()]);

#[derive(Debug, Default)]
struct Tally {
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Tallies {
    fn add(&self, operation: Operation, since: Instant) {
        add(&self.0[operation as usize].calls, 1);
        self.add_time(operation, since);
    }

    /// Adds time to a call that was counted.
    fn add_time(&self, operation: Operation, since: Instant) {
        let time = since.elapsed().as_nanos() as u64;
        add(&self.0[operation as usize].nanoseconds, time);
    }
}

fn add(sum: &AtomicU64, term: u64) {
    sum.store(sum.load(Ordering::Relaxed) + term, Ordering::Relaxed);
}

impl UnitTimes {
    fn of(&self, component: &str) -> Arc<Tallies> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tallies)) = all.iter().find(|(name, _)| name == component) {
            return Arc::clone(tallies);
        }
        let tallies = Arc::default();
        all.push((component.to_owned(), Arc::clone(&tallies)));
        tallies
    }

    /// The operations that were called, by component.
    pub(crate) fn report(&self) -> Vec<OperationTime> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_component = |(component, tallies): &OfComponent| {
            let time = |(operation, word): (Operation, &'static str)| {
                let tally = &tallies.0[operation as usize];
                OperationTime {
                    component: component.clone(),
                    operation: word,
                    calls: tally.calls.load(Ordering::Relaxed),
                    seconds: 1e-9 * tally.nanoseconds.load(Ordering::Relaxed) as f64,
                }
            };
            OPERATIONS.map(time)
        };
        let times = all.iter().flat_map(of_component);
        times.filter(|time| time.calls > 0).collect()
    }
}

/// Makes units whose calls are timed; those of `inner` as they are without `times`.
pub(crate) struct TimedUnits<M> {
    pub(crate) inner: M,
    pub(crate) times: Option<UnitTimes>,
}

impl<M: UnitMaker> UnitMaker for TimedUnits<M> {
    fn plan(&mut self, orders: &[UnitOrder<'_>]) {
        self.inner.plan(orders);
    }

    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        let Some(times) = &self.times else {
            return self.inner.make(order);
        };
        let tallies = times.of(order.name());
        let since = Instant::now();
        let unit = match self.inner.make(order)? {
            Some(unit) => unit,
            None => Box::new(order.instantiate()?),
        };
        tallies.add(Operation::Load, since);
        Ok(Some(Box::new(TimedUnit {
            unit,
            tallies,
            is_initialized: false,
        })))
    }
}

/// A unit whose calls are timed.
struct TimedUnit {
    unit: Box<dyn Unit>,
    tallies: Arc<Tallies>,
    is_initialized: bool,
}

impl TimedUnit {
    #[inline]
    fn timed<T>(&mut self, operation: Operation, call: impl FnOnce(&mut dyn Unit) -> T) -> T {
        let operation = match self.is_initialized {
            true => operation,
            false => Operation::Initialize,
        };
        let since = Instant::now();
        let result = call(&mut *self.unit);
        self.tallies.add(operation, since);
        result
    }
}

/// Times these calls.
macro_rules! timed {
    ($($operation:ident $call:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $call(&mut self, $($argument: $type),*) -> $result {
            self.timed(Operation::$operation, |unit| unit.$call($($argument),*))
        })*
    };
}

impl UnitWrapper for TimedUnit {
    fn inner(&self) -> &dyn Unit {
        &*self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut *self.unit
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        let result = self.timed(Operation::Initialize, |unit| {
            unit.exit_initialization_mode()
        });
        self.is_initialized = true;
        result
    }

    // Its begin and its end are one step.
    fn finish_step(&mut self) -> UnitResult<StepOutcome> {
        let since = Instant::now();
        let outcome = self.unit.finish_step();
        self.tallies.add_time(Operation::Step, since);
        outcome
    }

    timed! {
        Initialize setup_experiment(period: &Period) -> UnitResult;
        Initialize enter_initialization_mode() -> UnitResult;
        Set set_reals(handles: &[Handle], values: &[f64]) -> UnitResult;
        Get get_reals(handles: &[Handle], values: &mut [f64]) -> UnitResult;
        Step step(time: f64, step: f64) -> UnitResult<StepOutcome>;
        Step begin_step(time: f64, step: f64) -> UnitResult<Option<StepOutcome>>;
        Set set_value(handle: Handle, value: &Value) -> UnitResult;
        Get get_value(handle: Handle, value: &mut Value) -> UnitResult;
        Set set_input_derivatives(handles: &[Handle], orders: &[i32], values: &[f64]) -> UnitResult;
        Get output_derivatives(handles: &[Handle], orders: &[i32], values: &mut [f64]) -> UnitResult;
        Derivative directional_derivative(
            unknowns: &[Handle],
            knowns: &[Handle],
            seed: &[f64],
            values: &mut [f64]
        ) -> UnitResult;
        State save(previous: Option<SavedState>) -> UnitResult<SavedState>;
        State restore(state: &SavedState) -> UnitResult;
        State serialize() -> UnitResult<Vec<u8>>;
        State deserialize(bytes: &[u8]) -> UnitResult;
        Terminate terminate() -> UnitResult;
    }
}
