//! A step: y = offset before the start time, offset + height from it on.
//!
//! Shows how a system answers a sudden change. The step is seen at the first communication point that is
//! not before the start time.

use super::{Block, BlockFacts, reached};
use crate::registry::{Entry, ParameterInfo};

struct Step {
    offset: f64,
    height: f64,
    start: f64,
}

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "step",
    summary: "offset, and offset + height from the start time on",
    source: "Modelica.Blocks.Sources.Step",
    parameters: &[
        ParameterInfo::any_number("height", "height of the step", 1.0),
        ParameterInfo::any_number("offset", "value before", 0.0),
        ParameterInfo::any_number("start_time", "time of the step, s", 0.0),
    ],
    facts: |_, ()| BlockFacts::JUMPS,
    build: |arguments| {
        Ok(Box::new(Step {
            offset: arguments.number("offset"),
            height: arguments.number("height"),
            start: arguments.number("start_time"),
        }))
    },
};

impl Block for Step {
    fn output(&self, _output: usize, time: f64, _inputs: &[f64]) -> Result<f64, String> {
        let is_up = reached(time, self.start);
        Ok(self.offset + if is_up { self.height } else { 0.0 })
    }
}
