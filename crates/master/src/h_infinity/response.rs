//! Frequency response of sampling and holding.

use std::f64::consts::PI;

use crate::h_infinity::Complex;

/// H(jω)/Δt of a hold of degree 0, 1 or 2 (eq. 4) at the normalised frequency f·Δt.
#[must_use]
pub fn hold_of_degree(degree: u32, frequency: f64) -> Complex {
    let s = Complex::new(0.0, 2.0 * PI * frequency);
    if frequency == 0.0 {
        return Complex::new(1.0, 0.0);
    }
    let hold = (Complex::new(1.0, 0.0) - (-s).exp()) / s;
    let lead = match degree {
        0 => Complex::new(1.0, 0.0),
        1 => s + 1.0,
        _ => s * s + 1.5 * s + 1.0,
    };
    lead * hold.powu(degree + 1)
}

/// |H(jω)/Δt − 1|, the low-frequency part of the coupling error of eq. 3.
#[must_use]
pub fn hold_error(degree: u32, frequency: f64) -> f64 {
    (hold_of_degree(degree, frequency) - 1.0).norm()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The leading terms of eq. 5: sΔt/2, 5/12·(sΔt)², 3/8·(sΔt)³.
    #[test]
    fn low_frequencies_follow_the_series() {
        let frequency = 1e-3;
        let s: f64 = 2.0 * PI * frequency;
        for (degree, leading) in [
            (0, s / 2.0),
            (1, 5.0 / 12.0 * s * s),
            (2, 0.375 * s * s * s),
        ] {
            let error = hold_error(degree, frequency);
            assert!(
                (error / leading - 1.0).abs() < 0.02,
                "{degree}: {error} {leading}"
            );
        }
    }
}
