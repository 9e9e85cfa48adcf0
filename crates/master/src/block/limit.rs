//! A limit: y = min(max(u, min), max), at the same instant.
//!
//! An actuator that saturates. At the limits its derivative jumps.

use super::{Block, BlockFacts};
use crate::registry::{Entry, ParameterInfo};

struct Limit {
    min: f64,
    max: f64,
}

/// Limits; infinity is none.
const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "limit",
    summary: "u, limited to the range from min to max",
    source: "Modelica.Blocks.Nonlinear.Limiter",
    parameters: &[
        ParameterInfo::number("min", "least value", f64::NEG_INFINITY, ANY),
        ParameterInfo::number("max", "greatest value", f64::INFINITY, ANY),
    ],
    facts: |_, ()| BlockFacts::FUNCTION,
    build: |arguments| {
        let (min, max) = (arguments.number("min"), arguments.number("max"));
        if min <= max {
            return Ok(Box::new(Limit { min, max }));
        }
        Err(format!("`min` ({min}) is greater than `max` ({max})"))
    },
};

impl Block for Limit {
    fn inputs(&self) -> Vec<String> {
        vec!["u".to_owned()]
    }

    fn output(&self, _output: usize, _time: f64, inputs: &[f64]) -> Result<f64, String> {
        Ok(inputs[0].clamp(self.min, self.max))
    }

    fn gain(&self, _output: usize, _input: usize, inputs: &[f64]) -> f64 {
        f64::from(u8::from((self.min..=self.max).contains(&inputs[0])))
    }
}
