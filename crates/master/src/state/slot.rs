//! A unit in its place among the members. The engine's inner loops and the groups of FMUs call it; it passes calls on, and
//! never changes what they mean.

use std::any::Any;

use gyrator_fmu::{Instance, Interruption};

use crate::profile::{GroupCall, ProfiledUnit};
use crate::unit::{AroundFmu, FmuUnit};
use crate::unit::{Handle, ProcessTies, StepOutcome, Unit, UnitResult, Value};

/// A unit in its place. FMUs stand in it by value and are called without a table of virtual
/// functions: at the speed of small FMUs the indirections would cost as much as the calls.
pub(crate) enum Slot {
    /// An FMU in this process, whose calls may be measured.
    Fmu(ProfiledUnit<FmuUnit>),
    /// Anything else.
    Other(Box<dyn Unit>),
}

// The three hot calls are inlined always: each has two callers, and its result would else travel
// through memory.
impl Slot {
    /// With a unit around an FMU, which is called in groups if its type is known here.
    pub(crate) fn around(unit: Box<dyn AroundFmu>) -> Self {
        let is_profiled = (&*unit as &dyn Any).is::<ProfiledUnit<FmuUnit>>();
        if !is_profiled {
            return Self::Other(unit);
        }
        match (unit as Box<dyn Any>).downcast::<ProfiledUnit<FmuUnit>>() {
            Ok(unit) => Self::Fmu(*unit),
            Err(_) => unreachable!("its type was looked at"),
        }
    }

    #[inline(always)]
    pub(crate) fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        match self {
            Self::Fmu(unit) => Unit::set_reals(unit, handles, values),
            Self::Other(unit) => unit.set_reals(handles, values),
        }
    }

    #[inline(always)]
    pub(crate) fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        match self {
            Self::Fmu(unit) => Unit::get_reals(unit, handles, values),
            Self::Other(unit) => unit.get_reals(handles, values),
        }
    }

    /// As [`Unit::begin_step`].
    #[inline(always)]
    pub(crate) fn begin_step(&mut self, time: f64, step: f64) -> UnitResult<Option<StepOutcome>> {
        match self {
            Self::Fmu(unit) => Unit::step(unit, time, step).map(Some),
            Self::Other(unit) => unit.begin_step(time, step),
        }
    }

    pub(crate) fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        self.unit().set_value(handle, value)
    }

    pub(crate) fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        self.unit().get_value(handle, value)
    }

    pub(crate) fn warnings(&self) -> u64 {
        match self {
            Self::Fmu(unit) => Unit::warnings(unit),
            Self::Other(unit) => unit.warnings(),
        }
    }

    /// As [`Unit::process_ties`].
    pub(crate) fn process_ties(&self) -> ProcessTies {
        match self {
            Self::Fmu(unit) => Unit::process_ties(unit),
            Self::Other(unit) => unit.process_ties(),
        }
    }

    /// The unit behind its seam, for calls that need not be fast.
    pub(crate) fn unit(&mut self) -> &mut dyn Unit {
        match self {
            Self::Fmu(unit) => unit,
            Self::Other(unit) => &mut **unit,
        }
    }

    /// The instance of an FMU in this process.
    pub(crate) fn instance(&self) -> Option<&Instance> {
        match self {
            Self::Fmu(unit) => Some(unit.unmeasured().instance()),
            Self::Other(_) => None,
        }
    }

    /// The same, for calls.
    #[inline(always)]
    pub(crate) fn instance_mut(&mut self) -> Option<&mut Instance> {
        match self {
            Self::Fmu(unit) => Some(unit.unmeasured_mut().instance_mut()),
            Self::Other(_) => None,
        }
    }

    /// The same, and whether it may be promised that no state from before the coming step will be restored.
    #[inline(always)]
    pub(crate) fn for_lane(&self) -> Option<(&Instance, bool)> {
        match self {
            Self::Fmu(unit) => Some(unit.unmeasured().for_lane()),
            Self::Other(_) => None,
        }
    }

    /// The unit of such an FMU.
    pub(crate) fn fmu(&self) -> Option<&ProfiledUnit<FmuUnit>> {
        match self {
            Self::Fmu(unit) => Some(unit),
            Self::Other(_) => None,
        }
    }

    /// Gives the interrupted calls of a lane their effects: each has the effect of the call alone.
    pub(crate) fn conclude_set(
        &mut self,
        interruption: &Interruption,
        handles: &[Handle],
        values: &[f64],
    ) -> UnitResult {
        match self {
            Self::Fmu(unit) => {
                GroupCall::Set.count(unit);
                let unit = unit.unmeasured_mut();
                unit.conclude_values(interruption, Some((handles, values)))
            }
            Self::Other(unit) => unit.set_reals(handles, values),
        }
    }

    /// As [`conclude_set`](Self::conclude_set), for a step from `time` by `step`, s.
    pub(crate) fn conclude_step(
        &mut self,
        interruption: &Interruption,
        time: f64,
        step: f64,
    ) -> UnitResult<StepOutcome> {
        match self {
            Self::Fmu(unit) => {
                GroupCall::Step.count(unit);
                let unit = unit.unmeasured_mut();
                unit.conclude_step_in_lane(interruption, time, step)
            }
            Self::Other(unit) => unit.step(time, step),
        }
    }

    /// As [`conclude_set`](Self::conclude_set), for outputs that were read.
    pub(crate) fn conclude_get(&mut self, interruption: &Interruption) -> UnitResult {
        match self {
            Self::Fmu(unit) => {
                GroupCall::Get.count(unit);
                unit.unmeasured_mut().conclude_values(interruption, None)
            }
            Self::Other(_) => Ok(()),
        }
    }
}
