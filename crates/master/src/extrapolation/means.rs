//! Means of a prediction over the communication steps of a receiver that takes values only.

use super::SignalSteps;
use crate::curve::Curve;

/// The means that such a receiver gets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Means {
    pub(super) are_given: bool,
    /// Communication steps of the receiver in a step, each with a mean of its own.
    parts: u32,
    /// Inner steps in a step, at the starts of which the receiver takes its inputs; 0: all the time.
    pub(super) inner: u32,
    /// Moments of the places within a communication step of length 1.
    moments: [f64; 3],
    /// Means of the polynomials of each degree over a step that is as long as the spans, in backward differences.
    pub(super) of_differences: [f64; 4],
}

impl Means {
    /// Means over all the time of a communication step: Adams & Bashforth.
    pub(super) const NONE: Self = Self {
        are_given: false,
        parts: 1,
        inner: 0,
        moments: [1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0],
        of_differences: [1.0, 1.0 / 2.0, 5.0 / 12.0, 3.0 / 8.0],
    };

    pub(super) fn of(steps: &SignalSteps) -> Self {
        Self {
            are_given: steps.follows == 0 || !steps.takes_slopes,
            parts: match steps.follows {
                0 => 1,
                _ => steps.curve_parts.max(1),
            },
            ..Self::NONE
        }
    }

    /// Means of the values at the starts of so many inner steps in a step, 0: of all; at its start only where they do not divide the
    /// communication steps.
    pub(super) fn follow(&mut self, inner: u32) {
        if inner == 0 {
            let Self {
                are_given, parts, ..
            } = *self;
            *self = Self {
                are_given,
                parts,
                ..Self::NONE
            };
            return;
        }
        let in_each = match inner.is_multiple_of(self.parts) {
            true => inner / self.parts,
            false => 1,
        };
        self.inner = inner;
        self.moments = Self::moments(in_each);
        let [first, second, third] = self.moments;
        // The binomials s, s·(s + 1)/2 and s·(s + 1)·(s + 2)/6.
        let cubic = (third + 3.0 * second + 2.0 * first) / 6.0;
        self.of_differences = [1.0, first, (second + first) / 2.0, cubic];
    }

    /// Moments of so many places 0, 1/n, 2/n, ….
    pub(super) fn moments(count: u32) -> [f64; 3] {
        let part = 1.0 / f64::from(count);
        let last = 1.0 - part;
        [last / 2.0, last * (2.0 - part) / 6.0, last * last / 4.0]
    }

    /// The curve of means over the communication steps of a step.
    pub(super) fn over(&self, curve: Curve, step: f64) -> Curve {
        let part = step / f64::from(self.parts);
        let [first, second, third] = self.moments;
        let moments = [
            first * part,
            second * part * part,
            third * part * part * part,
        ];
        let means = curve.averaged(moments);
        match self.parts {
            1 => means.truncated(0),
            _ => means,
        }
    }
}
