//! The course of an input over a coming step.

use crate::state_stream::stored;

/// A cubic in the time since the start of the step: `value + slope·s + …`, s in seconds.
///
/// An extrapolation that gave one number at the start of the step would equal hold to the last
/// digit, whatever its order; so inputs are always curves.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Curve {
    /// Coefficients of 1, s, s², s³.
    pub coefficients: [f64; 4],
}

impl Curve {
    /// A curve that stays where it is.
    pub fn constant(value: f64) -> Self {
        Self {
            coefficients: [value, 0.0, 0.0, 0.0],
        }
    }

    /// A straight line.
    pub fn line(value: f64, slope: f64) -> Self {
        Self {
            coefficients: [value, slope, 0.0, 0.0],
        }
    }

    /// The value `s` seconds after the start of the step.
    #[inline]
    pub fn at(&self, s: f64) -> f64 {
        let [a, b, c, d] = self.coefficients;
        a + s * (b + s * (c + s * d))
    }

    /// The mean over the first `s` seconds.
    pub fn mean(&self, s: f64) -> f64 {
        let [a, b, c, d] = self.coefficients;
        a + s * (b / 2.0 + s * (c / 3.0 + s * d / 4.0))
    }

    /// The mean of the curve at distances from each of its places whose first three moments, of s, s² and s³, are these.
    #[must_use]
    pub fn averaged(&self, [first, second, third]: [f64; 3]) -> Self {
        let [a, b, c, d] = self.coefficients;
        Self {
            coefficients: [
                a + b * first + c * second + d * third,
                b + 2.0 * c * first + 3.0 * d * second,
                c + 3.0 * d * first,
                d,
            ],
        }
    }

    /// The curve seen from `s` seconds later.
    #[must_use]
    pub fn shifted(&self, s: f64) -> Self {
        let [_, b, c, d] = self.coefficients;
        Self {
            coefficients: [
                self.at(s),
                b + s * (2.0 * c + s * 3.0 * d),
                c + 3.0 * d * s,
                d,
            ],
        }
    }

    /// The Taylor polynomial of this degree about the start of the step.
    #[must_use]
    pub fn truncated(&self, degree: usize) -> Self {
        let mut curve = *self;
        curve
            .coefficients
            .iter_mut()
            .skip(degree + 1)
            .for_each(|c| *c = 0.0);
        curve
    }

    /// The line with the mean m and the end value e over the first `s` seconds, (2m − e) + (2·(e − m)/s)·t; the tangent
    /// if `s` is not a time.
    #[must_use]
    pub fn secant(&self, s: f64) -> Self {
        if s <= 0.0 {
            return self.truncated(1);
        }
        let (mean, end) = (self.mean(s), self.at(s));
        Self::line(2.0 * mean - end, 2.0 * (end - mean) / s)
    }

    /// The derivative of order 1, 2 or 3 at the start of the step, per secondⁿ; else 0.
    pub fn derivative(&self, order: usize) -> f64 {
        const FACTORIAL: [f64; 4] = [1.0, 1.0, 2.0, 6.0];
        self.coefficients
            .get(order)
            .map_or(0.0, |c| c * FACTORIAL[order])
    }

    /// The curve times a factor.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            coefficients: self.coefficients.map(|c| c * factor),
        }
    }

    /// The sum of two curves.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        for (a, b) in sum.coefficients.iter_mut().zip(other.coefficients) {
            *a += b;
        }
        sum
    }
}

stored!(Curve { coefficients });

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of 1 − 2s + s²/2 + 3s³ over 0.4 s from 0.1 s on, by its integral.
    #[test]
    fn means_over_a_window_are_those_of_the_integral() {
        let curve = Curve {
            coefficients: [1.0, -2.0, 0.5, 3.0],
        };
        let length: f64 = 0.4;
        let moments = [1, 2, 3].map(|n| length.powi(n) / f64::from(n + 1));
        let integral = |s: f64| s - s * s + s.powi(3) / 6.0 + 0.75 * s.powi(4);
        let mean = (integral(0.5) - integral(0.1)) / length;
        assert!((curve.averaged(moments).at(0.1) - mean).abs() < 1e-14);
        assert!((curve.averaged(moments).at(0.0) - curve.mean(length)).abs() < 1e-14);
    }

    #[test]
    fn shifting_keeps_values_and_derivatives() {
        let curve = Curve {
            coefficients: [1.0, -2.0, 0.5, 3.0],
        };
        let later = curve.shifted(0.25);
        for s in [0.0, 0.1, 0.7] {
            assert!((later.at(s) - curve.at(0.25 + s)).abs() < 1e-14);
        }
        assert!((later.derivative(2) - (1.0 + 18.0 * 0.25)).abs() < 1e-14);
        assert_eq!(later.derivative(4), 0.0);
        assert_eq!(curve.truncated(1), Curve::line(1.0, -2.0));
        assert_eq!(curve.truncated(3), curve);
    }
}
