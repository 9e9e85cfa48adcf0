//! A unit whose outputs are noisy.

use gyrator::Unit;
use gyrator::unit::{Handle, UnitResult, UnitWrapper};

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

impl<U: Unit> UnitWrapper for Noisy<U> {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
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
}
