//! A unit whose outputs are noisy.

use gyrator::{Handle, Period, SavedState, StepOutcome, Unit, UnitDescription, UnitResult, Value};

/// Every value that is read is off by up to `level` of itself, uniformly distributed.
pub(super) struct Noisy<U> {
    unit: U,
    level: f64,
    random: u64,
}

impl<U: Unit> Noisy<U> {
    pub(super) fn new(unit: U, level: f64, seed: u64) -> Self {
        Self {
            unit,
            level,
            random: seed,
        }
    }

    /// From −1 to 1: a linear congruential generator (Knuth's MMIX), its upper bits.
    fn draw(&mut self) -> f64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

impl<U: Unit> Unit for Noisy<U> {
    fn description(&self) -> &UnitDescription {
        self.unit.description()
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.unit.setup_experiment(period)
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.unit.enter_initialization_mode()
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.unit.exit_initialization_mode()
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        self.unit.set_reals(handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.unit.get_reals(handles, values)?;
        if self.level > 0.0 {
            for value in values {
                *value *= 1.0 + self.level * self.draw();
            }
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.unit.step(time, step)
    }

    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        self.unit.set_value(handle, value)
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        self.unit.set_input_derivatives(handles, orders, values)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        self.unit
            .directional_derivative(unknowns, knowns, seed, values)
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        self.unit.save(previous)
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        self.unit.restore(state)
    }
}
