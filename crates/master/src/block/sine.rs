//! A sine: y = offset + amplitude·sin(2π·frequency·(t − start_time) + phase), and offset before.
//!
//! The answer at one frequency. Communication points have to be much closer than a period: what lies
//! between them is not seen by receivers that hold.

use std::f64::consts::TAU;

use super::{Block, BlockFacts};
use crate::registry::{Entry, ParameterInfo};

struct Sine {
    offset: f64,
    amplitude: f64,
    frequency: f64,
    phase: f64,
    start: f64,
}

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "sine",
    summary: "offset + amplitude·sin(2π·frequency·(t − start_time) + phase); offset before the start time",
    source: "Modelica.Blocks.Sources.Sine",
    parameters: &[
        ParameterInfo::any_number("amplitude", "amplitude", 1.0),
        ParameterInfo::any_number("frequency", "frequency, Hz", 1.0),
        ParameterInfo::any_number("phase", "phase, rad", 0.0),
        ParameterInfo::any_number("offset", "mean value", 0.0),
        ParameterInfo::any_number("start_time", "when it begins, s", 0.0),
    ],
    facts: |_, ()| BlockFacts::SMOOTH,
    build: |arguments| {
        Ok(Box::new(Sine {
            offset: arguments.number("offset"),
            amplitude: arguments.number("amplitude"),
            frequency: arguments.number("frequency"),
            phase: arguments.number("phase"),
            start: arguments.number("start_time"),
        }))
    },
};

impl Block for Sine {
    fn output(&self, _output: usize, time: f64, _inputs: &[f64]) -> Result<f64, String> {
        let since = time - self.start;
        if since < 0.0 {
            return Ok(self.offset);
        }
        let angle = TAU * self.frequency * since + self.phase;
        Ok(self.offset + self.amplitude * libm::sin(angle))
    }
}
