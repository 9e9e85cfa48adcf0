use crate::unit::FmuUnit;
use crate::unit::{Handle, StepOutcome, Unit, UnitResult, Value};

/// A unit in its place. FMUs stand in it by value and are called without a table of virtual
/// functions: at the speed of small FMUs the indirections would cost as much as the calls.
pub(crate) enum Slot {
    /// An FMU in this process.
    Fmu(FmuUnit),
    /// Anything else.
    Other(Box<dyn Unit>),
}

// The three hot calls are inlined always: each has two callers, and its result would else travel
// through memory.
impl Slot {
    #[inline(always)]
    pub(crate) fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        match self {
            Self::Fmu(unit) => unit.set_reals(handles, values),
            Self::Other(unit) => unit.set_reals(handles, values),
        }
    }

    #[inline(always)]
    pub(crate) fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        match self {
            Self::Fmu(unit) => unit.get_reals(handles, values),
            Self::Other(unit) => unit.get_reals(handles, values),
        }
    }

    /// As [`Unit::begin_step`].
    #[inline(always)]
    pub(crate) fn begin_step(&mut self, time: f64, step: f64) -> UnitResult<Option<StepOutcome>> {
        match self {
            Self::Fmu(unit) => unit.step(time, step).map(Some),
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
            Self::Fmu(unit) => unit.warnings(),
            Self::Other(unit) => unit.warnings(),
        }
    }

    /// The unit behind its seam, for calls that need not be fast.
    pub(crate) fn unit(&mut self) -> &mut dyn Unit {
        match self {
            Self::Fmu(unit) => unit,
            Self::Other(unit) => &mut **unit,
        }
    }
}
