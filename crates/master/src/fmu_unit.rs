//! An FMU as a unit.

use crate::unit::*;

pub(crate) struct FmuUnit(UnitDescription);

impl Unit for FmuUnit {
    fn description(&self) -> &UnitDescription {
        &self.0
    }
    fn begin_initialization(&mut self, _: &Period) -> UnitResult {
        Ok(())
    }
    fn end_initialization(&mut self) -> UnitResult {
        Ok(())
    }
    fn set_reals(&mut self, _: &[Handle], _: &[f64]) -> UnitResult {
        Ok(())
    }
    fn get_reals(&mut self, _: &[Handle], _: &mut [f64]) -> UnitResult {
        Ok(())
    }
    fn step(&mut self, _: f64, _: f64) -> UnitResult<StepOutcome> {
        Ok(StepOutcome::Done)
    }
}
