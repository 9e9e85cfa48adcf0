//! A limit of the rate: y moves towards u by at most rising·h and −falling·h in a step of length h.
//!
//! An actuator with a greatest speed. It sees u at the start of its steps.

use super::{Block, BlockFacts};
use crate::registry::{Entry, ParameterInfo};

struct RateLimit {
    rising: f64,
    falling: f64,
    /// `None` before the start.
    value: Option<f64>,
}

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "rate-limit",
    summary: "follows u, which is held over each of its steps, but not faster than the limits; begins at u",
    source: "Modelica.Blocks.Nonlinear.SlewRateLimiter without lag, in discrete time",
    parameters: &[
        ParameterInfo::positive("rising", "greatest rise per second", 1.0),
        ParameterInfo::positive("falling", "greatest fall per second", 1.0),
    ],
    facts: |_, ()| BlockFacts {
        feeds_through_at_start: true,
        ..BlockFacts::SMOOTH
    },
    build: |arguments| {
        Ok(Box::new(RateLimit {
            rising: arguments.number("rising"),
            falling: arguments.number("falling"),
            value: None,
        }))
    },
};

impl Block for RateLimit {
    fn inputs(&self) -> Vec<String> {
        vec!["u".to_owned()]
    }

    fn output(&self, _output: usize, _time: f64, inputs: &[f64]) -> Result<f64, String> {
        Ok(self.value.unwrap_or(inputs[0]))
    }

    fn begin(&mut self, _time: f64, inputs: &[f64]) {
        self.value = Some(inputs[0]);
    }

    fn step(&mut self, _time: f64, step: f64, inputs: &[f64]) {
        let before = self.value.unwrap_or(inputs[0]);
        let (least, most) = (before - self.falling * step, before + self.rising * step);
        // If a value is not finite, there may be no limits.
        let has_limits = least <= most;
        self.value = Some(match has_limits {
            true => inputs[0].clamp(least, most),
            false => inputs[0],
        });
    }

    fn memory(&self) -> Vec<f64> {
        self.value.into_iter().collect()
    }

    fn set_memory(&mut self, memory: &[f64]) {
        self.value = memory.first().copied();
    }
}
