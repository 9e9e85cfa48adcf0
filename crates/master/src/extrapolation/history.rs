//! The newest values of a signal, and the polynomials through them. The extrapolations keep one each; it judges nothing.

use super::Sample;
use crate::curve::Curve;
use crate::state_stream::{StateStream, Stored};

/// The newest published values of a signal, newest first.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    samples: [Sample; 4],
    filled: usize,
}

impl History {
    /// Takes a new value; `false` if it replaces one for the same time.
    #[inline]
    pub(super) fn push(&mut self, sample: Sample) -> bool {
        let is_new = self.filled == 0 || sample.time > self.samples[0].time;
        if is_new {
            let [newest, second, third, _] = self.samples;
            self.samples = [sample, newest, second, third];
            self.filled = (self.filled + 1).min(self.samples.len());
        } else {
            self.samples[0] = sample;
        }
        is_new
    }

    /// Forgets all but the newest value.
    pub(super) fn clear(&mut self) {
        self.filled = self.filled.min(1);
    }

    #[inline]
    pub(super) fn newest(&self) -> Option<&Sample> {
        self.samples[..self.filled].first()
    }

    #[inline]
    pub(super) fn before_newest(&self) -> Option<&Sample> {
        self.samples[..self.filled].get(1)
    }

    /// All of them.
    #[inline]
    pub(super) fn newest_values(&self) -> &[Sample] {
        &self.samples[..self.filled]
    }

    /// Highest degree of a polynomial through the values.
    #[inline]
    pub(super) fn degree(&self) -> usize {
        self.filled.saturating_sub(1)
    }

    /// The polynomial of this degree through the newest values, about `now`; of lower degree if
    /// there are too few. Newton's form with divided differences, expanded.
    pub(super) fn polynomial(&self, degree: usize, now: f64) -> Curve {
        match degree.min(self.degree()) {
            0 => Curve::constant(self.samples[0].value),
            1 => self.newton::<1>(now),
            2 => self.newton::<2>(now),
            _ => self.newton::<3>(now),
        }
    }

    #[inline]
    fn newton<const DEGREE: usize>(&self, now: f64) -> Curve {
        let mut differences = self.samples.map(|sample| sample.value);
        for order in 1..=DEGREE {
            for newer in (order..=DEGREE).rev() {
                let span = self.samples[newer - order].time - self.samples[newer].time;
                differences[newer] = (differences[newer - 1] - differences[newer]) / span;
            }
        }
        differences[DEGREE + 1..].fill(0.0);
        let [d0, d1, d2, d3] = differences;
        let [s0, s1, s2, _] = self.samples.map(|sample| now - sample.time);
        let second = d2 + s2 * d3;
        Curve {
            coefficients: [
                d0 + s0 * (d1 + s1 * second),
                d1 + second * (s0 + s1) + s0 * s1 * d3,
                second + s1 * d3 + s0 * d3,
                d3,
            ],
        }
    }
}

impl Stored for History {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self { samples, filled } = self;
        stream.keep(samples);
        stream.below(filled, samples.len() + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(times: &[f64], signal: fn(f64) -> f64) -> History {
        let mut history = History::default();
        for &time in times {
            history.push(Sample {
                time,
                value: signal(time),
                slope: None,
            });
        }
        history
    }

    #[test]
    fn a_cubic_is_continued_exactly_from_uneven_samples() {
        let signal = |t: f64| 3.0 - t + 2.0 * t * t - 4.0 * t * t * t;
        let curve = history(&[0.0, 0.1, 0.25, 0.3, 0.45], signal).polynomial(3, 0.5);
        for s in [0.0, 0.05, 0.2] {
            assert!((curve.at(s) - signal(0.5 + s)).abs() < 1e-12);
        }
    }

    #[test]
    fn lower_degrees_use_the_newest_values() {
        let history = history(&[0.0, 1.0, 2.0], |t| t * t);
        assert_eq!(history.polynomial(0, 2.5), Curve::constant(4.0));
        assert_eq!(history.polynomial(1, 2.0), Curve::line(4.0, 3.0));
        assert_eq!(history.degree(), 2);
    }
}
