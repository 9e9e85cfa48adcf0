//! A chirp: a sine whose frequency f goes linearly from one value to another within the duration, so that
//! its phase is 2π·∫f dt = 2π·(f₀·τ + (f₁ − f₀)·τ²/(2·duration)).
//!
//! The answer over a range of frequencies in one run.

use std::f64::consts::TAU;

use super::{Block, BlockFacts};
use crate::registry::{Entry, ParameterInfo};

/// A sine whose frequency rises linearly: its phase is the integral of the frequency.
struct Chirp {
    offset: f64,
    amplitude: f64,
    first: f64,
    last: f64,
    start: f64,
    duration: f64,
}

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "chirp",
    summary: "a sine whose frequency goes linearly from one to another; it then keeps the other, and is the offset before",
    source: "the phase is 2π·∫f dt, as of the linear chirp of scipy.signal.chirp, less a quarter turn",
    parameters: &[
        ParameterInfo::any_number("amplitude", "amplitude", 1.0),
        ParameterInfo::any_number("start_frequency", "frequency at the start, Hz", 0.1),
        ParameterInfo::any_number("end_frequency", "frequency at the end, Hz", 10.0),
        ParameterInfo::positive("duration", "how long the frequency changes, s", 10.0),
        ParameterInfo::any_number("offset", "mean value", 0.0),
        ParameterInfo::any_number("start_time", "when it begins, s", 0.0),
    ],
    facts: |_, ()| BlockFacts::SMOOTH,
    build: |arguments| {
        Ok(Box::new(Chirp {
            offset: arguments.number("offset"),
            amplitude: arguments.number("amplitude"),
            first: arguments.number("start_frequency"),
            last: arguments.number("end_frequency"),
            start: arguments.number("start_time"),
            duration: arguments.number("duration"),
        }))
    },
};

impl Block for Chirp {
    fn output(&self, _output: usize, time: f64, _inputs: &[f64]) -> Result<f64, String> {
        let since = time - self.start;
        if since < 0.0 {
            return Ok(self.offset);
        }
        let sweep = since.min(self.duration);
        let slope = (self.last - self.first) / self.duration;
        let turns = (self.first + 0.5 * slope * sweep) * sweep + self.last * (since - sweep);
        Ok(self.offset + self.amplitude * libm::sin(TAU * turns))
    }
}
