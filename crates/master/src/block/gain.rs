//! A gain: y = gain·u + offset, at the same instant.
//!
//! The same as `gain` and `offset` of a connection, for a value that feeds many inputs or is recorded.

use super::{Block, BlockFacts};
use crate::registry::{Entry, ParameterInfo};

struct Gain {
    gain: f64,
    offset: f64,
}

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "gain",
    summary: "gain·u + offset",
    source: "Modelica.Blocks.Math.Gain; LinearTransformation of the Open Simulation Platform",
    parameters: &[
        ParameterInfo::any_number("gain", "factor", 1.0),
        ParameterInfo::any_number("offset", "added after the gain", 0.0),
    ],
    facts: |_, ()| BlockFacts::FUNCTION,
    build: |arguments| {
        Ok(Box::new(Gain {
            gain: arguments.number("gain"),
            offset: arguments.number("offset"),
        }))
    },
};

impl Block for Gain {
    fn inputs(&self) -> Vec<String> {
        vec!["u".to_owned()]
    }

    fn output(&self, _output: usize, _time: f64, inputs: &[f64]) -> Result<f64, String> {
        Ok(self.gain * inputs[0] + self.offset)
    }

    fn gain(&self, _output: usize, _input: usize, _inputs: &[f64]) -> f64 {
        self.gain
    }
}
