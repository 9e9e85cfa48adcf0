//! Transfer functions by their zeros, poles and gain.

use crate::h_infinity::Complex;

/// gain · Π(s − zero) / Π(s − pole); complex zeros and poles come in conjugate pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferFunction {
    /// Factor before the products.
    pub gain: f64,
    /// Roots of the numerator.
    pub zeros: Vec<Complex>,
    /// Roots of the denominator.
    pub poles: Vec<Complex>,
}

impl TransferFunction {
    /// The value at `s`.
    #[must_use]
    pub fn at(&self, s: Complex) -> Complex {
        let product = |roots: &[Complex]| {
            roots
                .iter()
                .fold(Complex::new(1.0, 0.0), |product, root| product * (s - root))
        };
        product(&self.zeros) / product(&self.poles) * self.gain
    }

    /// The same zeros and poles with this value at s = 0.
    #[must_use]
    pub fn with_static_gain(self, static_gain: f64) -> Self {
        let one = Self { gain: 1.0, ..self };
        let gain = static_gain / one.at(Complex::new(0.0, 0.0)).re;
        Self { gain, ..one }
    }

    /// The function of s·`unit`: with time counted in seconds instead of units of `unit` s.
    #[must_use]
    pub fn in_seconds(&self, unit: f64) -> Self {
        let scaled = |roots: &[Complex]| roots.iter().map(|root| root / unit).collect();
        let excess = self.zeros.len() as i32 - self.poles.len() as i32;
        Self {
            gain: self.gain * unit.powi(excess),
            zeros: scaled(&self.zeros),
            poles: scaled(&self.poles),
        }
    }
}

/// Coefficients of Π(s − root), highest first, the leading 1 included.
pub(crate) fn polynomial(roots: &[Complex]) -> Vec<f64> {
    let mut coefficients = vec![Complex::new(1.0, 0.0)];
    for root in roots {
        coefficients.push(Complex::new(0.0, 0.0));
        for index in (1..coefficients.len()).rev() {
            let before = coefficients[index - 1];
            coefficients[index] -= before * root;
        }
    }
    coefficients
        .iter()
        .map(|coefficient| coefficient.re)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_of_roots() {
        let roots = [
            Complex::new(-1.0, 2.0),
            Complex::new(-1.0, -2.0),
            Complex::new(3.0, 0.0),
        ];
        // (s² + 2s + 5)(s − 3)
        assert_eq!(polynomial(&roots), [1.0, -1.0, -1.0, -15.0]);
    }

    #[test]
    fn scaling_time_keeps_the_response() {
        let lead = TransferFunction {
            gain: 4.0,
            zeros: vec![Complex::new(-1.0, 0.0)],
            poles: vec![Complex::new(-2.0, 1.0), Complex::new(-2.0, -1.0)],
        };
        let s = Complex::new(0.3, 0.7);
        let scaled = lead.in_seconds(0.01).at(s / 0.01);
        assert!((scaled - lead.at(s)).norm() < 1e-12);
        assert!((lead.with_static_gain(0.9).at(Complex::new(0.0, 0.0)).re - 0.9).abs() < 1e-15);
    }
}
