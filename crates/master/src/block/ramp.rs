//! A ramp: y = offset + height·min(max((t − start_time)/duration, 0), 1).
//!
//! A change that a system follows although it would not follow a step.

use super::{Block, BlockFacts};
use crate::registry::{Entry, ParameterInfo};

struct Ramp {
    offset: f64,
    height: f64,
    start: f64,
    duration: f64,
}

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "ramp",
    summary: "rises from offset to offset + height within the duration, and stays there",
    source: "Modelica.Blocks.Sources.Ramp",
    parameters: &[
        ParameterInfo::any_number("height", "how far it rises", 1.0),
        ParameterInfo::positive("duration", "how long it rises, s", 1.0),
        ParameterInfo::any_number("offset", "value before", 0.0),
        ParameterInfo::any_number("start_time", "when it begins to rise, s", 0.0),
    ],
    facts: |_, ()| BlockFacts::SMOOTH,
    build: |arguments| {
        Ok(Box::new(Ramp {
            offset: arguments.number("offset"),
            height: arguments.number("height"),
            start: arguments.number("start_time"),
            duration: arguments.number("duration"),
        }))
    },
};

impl Block for Ramp {
    fn output(&self, _output: usize, time: f64, _inputs: &[f64]) -> Result<f64, String> {
        let part = ((time - self.start) / self.duration).clamp(0.0, 1.0);
        Ok(self.offset + part * self.height)
    }
}
