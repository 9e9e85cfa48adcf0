//! Units whose calls are measured.

use std::sync::Arc;

use super::Profile;
use super::calls::{Call, Calls};
use super::sampling::Timing;
use crate::start_error::LoadError;
use crate::unit::{
    AroundFmu, FmuUnit, Handle, Made, Period, SavedState, StepOutcome, Unit, UnitMaker, UnitOrder,
    UnitResult, UnitWrapper, Value,
};

/// Makes units whose calls are measured; the maker inside makes them as it does without a
/// profile.
#[derive(Debug)]
pub struct ProfiledUnits<M> {
    inner: M,
    profile: Option<Profile>,
}

impl<M> ProfiledUnits<M> {
    /// Of the units of `inner`.
    pub const fn new(inner: M, profile: Option<Profile>) -> Self {
        Self { inner, profile }
    }
}

impl<M: UnitMaker> UnitMaker for ProfiledUnits<M> {
    fn plan(&mut self, orders: &[UnitOrder<'_>]) {
        self.inner.plan(orders);
    }

    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        Ok(self.make_in_place(order)?.map(Made::into_unit))
    }

    fn make_in_place(&mut self, order: &UnitOrder<'_>) -> Result<Option<Made>, LoadError> {
        let Some(profile) = &self.profile else {
            return self.inner.make_in_place(order);
        };
        let calls = profile.calls(order.name());
        let make = || order.make(&mut self.inner);
        let made = measured(profile, &calls, Call::Load, Timing::All, make)?;
        Ok(Some(match made {
            Made::Here(unit) => Made::Around(Box::new(ProfiledUnit::new(unit, profile, calls))),
            other => {
                let unit = ProfiledUnit::new(other.into_unit(), profile, calls);
                Made::Elsewhere(Box::new(unit))
            }
        }))
    }

    fn set_apart(&mut self, component: &str, why: &str) -> bool {
        self.inner.set_apart(component, why)
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }
}

/// Time in which calls of a component's unit wait.
#[derive(Debug)]
pub struct Waits {
    profile: Profile,
    calls: Arc<Calls>,
}

impl Waits {
    pub(super) const fn new(profile: Profile, calls: Arc<Calls>) -> Self {
        Self { profile, calls }
    }

    /// Waits. Until the unit is initialised, the time is one of its initialisation.
    #[inline]
    pub fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        if !self.calls.is_initialized() {
            return wait();
        }
        measured(&self.profile, &self.calls, Call::Wait, Timing::All, wait)
    }

    /// Adds the time in which the other process computed, by its own clock, ns.
    pub fn add_computing(&self, nanoseconds: u64) {
        if self.calls.is_initialized() {
            self.calls.add_elsewhere(nanoseconds);
        }
    }
}

#[inline]
fn measured<T>(
    profile: &Profile,
    calls: &Calls,
    call: Call,
    timing: Timing,
    act: impl FnOnce() -> T,
) -> T {
    let tally = calls.tally(call);
    tally.count();
    let Some(stands) = tally.stands(timing) else {
        return act();
    };
    let (result, stretch) = profile.0.measure(act);
    tally.add(stands, stretch.own);
    profile.0.trace(Some(calls.number()), call.word(), stretch);
    result
}

/// A unit whose calls are measured, if there is a profile.
pub struct ProfiledUnit<U> {
    unit: U,
    profile: Option<(Profile, Arc<Calls>)>,
}

impl AroundFmu for ProfiledUnit<FmuUnit> {}

impl<U: Unit> ProfiledUnit<U> {
    pub(super) fn new(unit: U, profile: &Profile, calls: Arc<Calls>) -> Self {
        Self {
            unit,
            profile: Some((profile.clone(), calls)),
        }
    }

    /// Without a profile.
    pub(crate) const fn plain(unit: U) -> Self {
        Self {
            unit,
            profile: None,
        }
    }

    pub(super) const fn profile(&self) -> Option<&(Profile, Arc<Calls>)> {
        self.profile.as_ref()
    }

    /// The unit inside, for calls that are measured elsewhere.
    #[inline]
    pub(crate) const fn unmeasured(&self) -> &U {
        &self.unit
    }

    /// The same, to be called.
    #[inline]
    pub(crate) const fn unmeasured_mut(&mut self) -> &mut U {
        &mut self.unit
    }

    #[inline]
    fn measured<T>(&mut self, call: Call, act: impl FnOnce(&mut U) -> T) -> T {
        let unit = &mut self.unit;
        let Some((profile, calls)) = &self.profile else {
            return act(unit);
        };
        let call = match calls.is_initialized() {
            true => call,
            false => Call::Initialize,
        };
        measured(profile, calls, call, profile.0.timing.get(), || act(unit))
    }
}

/// Measures these calls.
macro_rules! measured {
    ($($operation:ident $call:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $call(&mut self, $($argument: $type),*) -> $result {
            self.measured(Call::$operation, |unit| unit.$call($($argument),*))
        })*
    };
}

impl<U: Unit> UnitWrapper for ProfiledUnit<U> {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        let result = self.measured(Call::Initialize, Unit::exit_initialization_mode);
        if let Some((_, calls)) = &self.profile {
            calls.end_initialization();
        }
        result
    }

    // Its begin and its end are one step.
    fn finish_step(&mut self) -> UnitResult<StepOutcome> {
        let Some((profile, calls)) = &self.profile else {
            return self.unit.finish_step();
        };
        let tally = calls.tally(Call::Step);
        let Some(stands) = tally.stands(profile.0.timing.get()) else {
            return self.unit.finish_step();
        };
        let (result, stretch) = profile.0.measure(|| self.unit.finish_step());
        tally.add_rest(stands, stretch.own);
        (profile.0).trace(Some(calls.number()), Call::Step.word(), stretch);
        result
    }

    measured! {
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
