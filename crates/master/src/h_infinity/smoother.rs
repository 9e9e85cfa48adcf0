//! The low-pass filter K₂ behind the hold.

use std::f64::consts::{PI, SQRT_2};

/// K₂ = ω²/(s² + √2·ω·s + ω²) (eq. 12), in equal steps, exactly for an input that is held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoother {
    /// Transition of the output, and its derivative over ω, from one step to the next.
    transition: [[f64; 2]; 2],
    value: f64,
    rate: f64,
}

impl Smoother {
    /// With the cut-off in Hz and steps of `step` s, at rest at 0.
    #[must_use]
    pub fn new(cutoff: f64, step: f64) -> Self {
        let angle = SQRT_2 * PI * cutoff * step;
        let (sine, cosine) = angle.sin_cos();
        let decay = (-angle).exp();
        Self {
            transition: [
                [decay * (cosine + sine), decay * SQRT_2 * sine],
                [-decay * SQRT_2 * sine, decay * (cosine - sine)],
            ],
            value: 0.0,
            rate: 0.0,
        }
    }

    /// At rest at `value`.
    pub fn rest_at(&mut self, value: f64) {
        self.value = value;
        self.rate = 0.0;
    }

    /// The output now.
    #[must_use]
    pub fn output(&self) -> f64 {
        self.value
    }

    /// One step further, the input being `held`.
    pub fn advance(&mut self, held: f64) {
        let [of_value, of_rate] = self.transition;
        let distance = self.value - held;
        self.value = held + of_value[0] * distance + of_value[1] * self.rate;
        self.rate = of_rate[0] * distance + of_rate[1] * self.rate;
    }

    /// State variables, for stability analyses: output, and derivative over ω.
    pub fn memory(&mut self) -> impl Iterator<Item = &mut f64> {
        [&mut self.value, &mut self.rate].into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_any_size_meet_on_the_same_answer() {
        let mut fine = Smoother::new(10.0, 1e-3);
        let mut coarse = Smoother::new(10.0, 1e-2);
        for held in [1.0, -0.5, 0.25] {
            coarse.advance(held);
            for _ in 0..10 {
                fine.advance(held);
            }
            assert!((fine.output() - coarse.output()).abs() < 1e-14);
        }
    }

    #[test]
    fn the_step_response_is_that_of_the_differential_equation() {
        // Closed form: 1 − e^(−at)·(cos at + sin at) with a = ω/√2.
        let mut smoother = Smoother::new(1.0, 0.1);
        smoother.advance(1.0);
        let a = 2.0 * PI / SQRT_2;
        let exact = 1.0 - (-0.1 * a).exp() * ((0.1 * a).cos() + (0.1 * a).sin());
        assert!((smoother.output() - exact).abs() < 1e-15);
    }
}
