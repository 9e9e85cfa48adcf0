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

    /// Means of the values at the starts of so many inner steps in a step, 0: of all; at its start only if they do not divide
    /// the communication steps.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::EntryKind;

    const CURVE: Curve = Curve {
        coefficients: [2.0, -1.0, 3.0, 0.5],
    };
    const STEP: f64 = 0.75;

    fn means(follows: usize, parts: u32, inner: u32) -> Means {
        let mut means = Means::of(&SignalSteps {
            follows,
            curve_parts: parts,
            takes_slopes: false,
            ..<dyn super::super::Extrapolation as EntryKind>::USUAL
        });
        assert!(means.are_given);
        means.follow(inner);
        means
    }

    /// The mean of values at so many places of a length, from its start on.
    fn mean_of(count: u32, length: f64, value: impl Fn(f64) -> f64) -> f64 {
        let places = (0..count).map(|place| f64::from(place) * length / f64::from(count));
        places.map(value).sum::<f64>() / f64::from(count)
    }

    #[track_caller]
    fn expect(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn moments_are_means_of_powers() {
        for count in 1..6 {
            for (power, found) in (1..4).zip(Means::moments(count)) {
                expect(found, mean_of(count, 1.0, |s| s.powi(power)));
            }
        }
    }

    /// One value a step: the mean over all of it, or at the starts of inner steps. Of several communication steps, each has
    /// its inner steps, or its start if they do not divide.
    #[test]
    fn means_are_those_of_the_times_at_which_the_receiver_takes_values() {
        let mean = means(0, 4, 0).over(CURVE, STEP);
        assert_eq!(mean, Curve::constant(mean.at(0.0)));
        expect(mean.at(0.0), CURVE.mean(STEP));
        for inner in 1..6 {
            let mean = means(0, 4, inner).over(CURVE, STEP);
            assert_eq!(mean, Curve::constant(mean.at(0.0)));
            expect(mean.at(0.0), mean_of(inner, STEP, |s| CURVE.at(s)));
        }
        for (inner, in_each) in [(2, 1), (3, 1), (4, 2), (5, 1), (6, 3)] {
            let mean = means(usize::MAX, 2, inner).over(CURVE, STEP);
            for start in [0.0, 0.5 * STEP] {
                let expected = mean_of(in_each, 0.5 * STEP, |s| CURVE.at(start + s));
                expect(mean.at(start), expected);
            }
        }
        // All the time again.
        let mut whole = means(usize::MAX, 2, 4);
        whole.follow(0);
        assert_eq!(whole.inner, 0);
        let mean = whole.over(CURVE, STEP);
        for start in [0.0, 0.5 * STEP] {
            let part = CURVE.shifted(start).mean(0.5 * STEP);
            expect(mean.at(start), part);
        }
    }

    /// Newton's formula: a cubic is the same by its backward differences.
    #[test]
    fn backward_differences_have_the_same_means() {
        let [a, b, c, d] = [0.0, -1.0, -2.0, -3.0].map(|s| CURVE.at(s));
        let differences = [a, a - b, a - 2.0 * b + c, a - 3.0 * b + 3.0 * c - d];
        for inner in 0..6 {
            let means = means(0, 1, inner);
            let terms = means.of_differences.iter().zip(differences);
            let found: f64 = terms.map(|(weight, difference)| weight * difference).sum();
            expect(found, means.over(CURVE, 1.0).at(0.0));
        }
    }
}
