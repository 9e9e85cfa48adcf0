//! From the past of a signal to its curve over the coming step.

mod auto;
mod h_infinity;
mod hermite;
mod history;
mod hold;
mod mean_hold;
mod polynomial;
mod secant_linear;

use crate::curve::Curve;
use crate::registry::Registry;

/// A published value of the signal that feeds an input.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Simulated time since the start, s.
    pub time: f64,
    /// The value, in the input's unit.
    pub value: f64,
    /// Its derivative by time as the source declares it, per second; asked for where the
    /// extrapolation [wants it](Extrapolation::wants_slope).
    pub slope: Option<f64>,
}

/// In which steps a signal is given and taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignalSteps {
    /// From one exchange to the next, s.
    pub exchange: f64,
    /// Communication steps of the source from one exchange to the next.
    pub source_parts: u32,
    /// Communication steps of the receiver from one exchange to the next.
    pub receiver_parts: u32,
    /// The receiver takes derivatives of its inputs.
    pub takes_slopes: bool,
    /// The signal depends directly on an input of its source.
    pub feeds_through: bool,
}

/// Extrapolates one input.
pub trait Extrapolation: Send {
    /// Told once, before the first value, in which steps the signal is given and taken.
    ///
    /// # Errors
    /// Why the extrapolation cannot work in these steps, and what to do.
    fn prepare(&mut self, steps: &SignalSteps) -> Result<(), String> {
        let _ = steps;
        Ok(())
    }

    /// Takes a new published value. A second value for the same time replaces the first.
    fn observe(&mut self, sample: Sample);

    /// The course of the input from `now` (s since the start) on, for a step of length `step`, s.
    fn curve(&self, now: f64, step: f64) -> Curve;

    /// The course of the input over the next communication step of the receiver, of length `size`, s,
    /// from its start on; asked for in turn where the course [comes in pieces](Self::comes_in_pieces).
    fn next_piece(&mut self, size: f64) -> Curve {
        self.curve(0.0, size)
    }

    /// Forgets the past, all but the newest value: after a discontinuity.
    fn clear(&mut self);

    /// Highest degree of the curves; 0 lets the engine feed the input with a plain copy.
    fn degree(&self) -> usize;

    /// Order of the prediction that is in use now; a curve may keep less of it.
    fn order(&self) -> usize {
        self.degree()
    }

    /// Published values after the first until a polynomial of that degree is continued exactly.
    fn values_to_settle(&self) -> usize {
        self.degree()
    }

    /// Whether samples should come with a slope where the source can tell it.
    fn wants_slope(&self) -> bool {
        false
    }

    /// Whether the value at each communication step of the source is to be observed, and not only
    /// those that are published. Macro-steps have to be equal then.
    fn wants_substeps(&self) -> bool {
        false
    }

    /// Whether each communication step of the receiver has a curve of its own, of which
    /// [`curve`](Self::curve) tells the ends only.
    fn comes_in_pieces(&self) -> bool {
        false
    }

    /// Another one with the same past, to go back to.
    fn duplicate(&self) -> Box<dyn Extrapolation>;
}

impl Clone for Box<dyn Extrapolation> {
    fn clone(&self) -> Self {
        self.duplicate()
    }
}

/// Every extrapolation, by its word in a system file.
pub const EXTRAPOLATIONS: &Registry<dyn Extrapolation> = &[
    hold::ENTRY,
    polynomial::LINEAR,
    polynomial::QUADRATIC,
    auto::ENTRY,
    hermite::ENTRY,
    secant_linear::ENTRY,
    mean_hold::ENTRY,
    h_infinity::ENTRY,
];
