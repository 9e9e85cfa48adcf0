//! From the past of a signal to its curve over the coming step.

mod hold;
mod polynomial;

use crate::curve::Curve;
use crate::registry::Registry;

/// A published value of the signal that feeds an input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Simulated time since the start, s.
    pub time: f64,
    /// The value, in the input's unit.
    pub value: f64,
}

/// Extrapolates one input.
pub trait Extrapolation: Send {
    /// Takes a new published value. A second value for the same time replaces the first.
    fn observe(&mut self, sample: Sample);

    /// The course of the input from `now` (s since the start) on.
    fn curve(&self, now: f64) -> Curve;

    /// Forgets the past, all but the newest value: after a discontinuity.
    fn clear(&mut self);

    /// Highest degree of the curves; 0 lets the plant feed the input with a plain copy.
    fn degree(&self) -> usize;
}

/// Every extrapolation, by its word in a system file.
pub const EXTRAPOLATIONS: &Registry<dyn Extrapolation> =
    &[hold::ENTRY, polynomial::LINEAR, polynomial::QUADRATIC];
