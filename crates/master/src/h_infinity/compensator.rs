//! The compensator K₁ in equal steps.

use nalgebra::{DMatrix, DVector};

use crate::h_infinity::transfer::polynomial;
use crate::h_infinity::{Complex, TransferFunction};

/// Most states: four of hold and smoother, and two that a weight of third order adds.
const MOST: usize = 6;

/// K₁ discretised by Tustin's rule.
///
/// Never by holding its input over a step: K₁ answers directly with up to a hundred times its
/// input, which would then lead by half a step more than the states.
///
/// Computed as K₁(0) times the input and what the distance from rest adds, so that a constant
/// passes without rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compensator {
    order: usize,
    transition: [[f64; MOST]; MOST],
    output: [f64; MOST],
    /// K₁(0).
    static_gain: f64,
    /// State at rest under an input of 1.
    rest: [f64; MOST],
    state: [f64; MOST],
}

impl Compensator {
    /// `k1`, in seconds, biproper and stable, with steps of `step` s; at rest at 0. `None` if it
    /// has more than six poles, or not as many zeros as poles.
    #[must_use]
    pub fn new(k1: &TransferFunction, step: f64) -> Option<Self> {
        let order = k1.poles.len();
        if order > MOST || k1.zeros.len() != order {
            return None;
        }
        // Time in units of the geometric mean of the poles: a companion matrix with entries near 1.
        let mean = k1.poles.iter().map(|pole| pole.norm().ln()).sum::<f64>();
        let unit = (-mean / order.max(1) as f64).exp();
        let scaled = k1.in_seconds(1.0 / unit);
        let (numerator, denominator) = (polynomial(&scaled.zeros), polynomial(&scaled.poles));
        let half = 0.5 * step / unit;
        let companion = DMatrix::from_fn(order, order, |row, column| match row {
            0 => -denominator[column + 1],
            _ => f64::from(u8::from(column + 1 == row)),
        });
        let output = DVector::from_fn(order, |index, _| {
            scaled.gain * (numerator[index + 1] - denominator[index + 1])
        });
        let identity = DMatrix::identity(order, order);
        let implicit = (&identity - half * &companion).try_inverse()?;
        let transition = &implicit * (&identity + half * &companion);
        // The companion form at rest: only its last state is not zero.
        let rest = DVector::from_fn(order, |index, _| {
            f64::from(u8::from(index + 1 == order)) / denominator[order]
        });
        let seen = implicit.transpose() * &output;
        Some(Self {
            order,
            transition: std::array::from_fn(|row| {
                std::array::from_fn(|column| transition.get((row, column)).copied().unwrap_or(0.0))
            }),
            output: fixed(&seen),
            static_gain: k1.at(Complex::new(0.0, 0.0)).re,
            rest: fixed(&rest),
            state: [0.0; MOST],
        })
    }

    /// The same with K₁(0) to the last digit.
    pub(crate) fn with_static_gain(self, static_gain: f64) -> Self {
        Self {
            static_gain,
            ..self
        }
    }

    /// At rest under the input `value`.
    pub fn rest_at(&mut self, value: f64) {
        self.state = self.rest.map(|rest| rest * value);
    }

    /// Output of K₁ for `input` in the current state.
    #[must_use]
    pub fn output(&self, input: f64) -> f64 {
        let distances = self.distances(input);
        let states = self.output.iter().zip(distances).take(self.order);
        states.fold(self.static_gain * input, |sum, (gain, distance)| {
            sum + gain * distance
        })
    }

    /// One step further from a point at which the input was `input`.
    pub fn advance(&mut self, input: f64) {
        let distances = self.distances(input);
        for (row, state) in self.state.iter_mut().enumerate().take(self.order) {
            let gains = self.transition[row].iter().zip(distances).take(self.order);
            *state = gains.fold(self.rest[row] * input, |sum, (gain, distance)| {
                sum + gain * distance
            });
        }
    }

    /// How far the state is from rest under `input`.
    fn distances(&self, input: f64) -> [f64; MOST] {
        std::array::from_fn(|index| self.state[index] - self.rest[index] * input)
    }

    /// State variables, for stability analyses.
    pub fn memory(&mut self) -> impl Iterator<Item = &mut f64> {
        self.state.iter_mut().take(self.order)
    }
}

fn fixed(vector: &DVector<f64>) -> [f64; MOST] {
    std::array::from_fn(|index| vector.get(index).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead() -> TransferFunction {
        TransferFunction {
            gain: 9.0,
            zeros: vec![Complex::new(-1.0, 0.5), Complex::new(-1.0, -0.5)],
            poles: vec![Complex::new(-3.0, 1.0), Complex::new(-3.0, -1.0)],
        }
    }

    #[test]
    fn a_constant_input_keeps_it_at_rest() {
        let k1 = lead();
        let mut compensator = Compensator::new(&k1, 0.05).unwrap();
        compensator.rest_at(2.0);
        let answer = 2.0 * k1.at(Complex::new(0.0, 0.0)).re;
        for _ in 0..5 {
            assert_eq!(compensator.output(2.0), answer);
            compensator.advance(2.0);
        }
    }

    /// Tustin's rule maps s = jω to jω' with ω = 2/h·tan(ω'h/2): the answer to a sampled sine is
    /// K₁ at the warped frequency, exactly.
    #[test]
    fn sines_are_answered_as_tustin_says() {
        let (k1, step, frequency) = (lead(), 0.05, 3.0_f64);
        let mut compensator = Compensator::new(&k1, step).unwrap();
        let warped = 2.0 / step * (0.5 * frequency * step).tan();
        let answer = k1.at(Complex::new(0.0, warped));
        let at = |k: usize| frequency * step * k as f64;
        for k in 0..2000 {
            let input = at(k).cos();
            let exact = (answer * Complex::new(at(k).cos(), at(k).sin())).re;
            if k > 1000 {
                assert!((compensator.output(input) - exact).abs() < 1e-10);
            }
            compensator.advance(input);
        }
    }

    #[test]
    fn more_poles_than_it_has_room_for_are_refused() {
        let pole = Complex::new(-1.0, 0.0);
        let long = TransferFunction {
            gain: 1.0,
            zeros: vec![pole; 7],
            poles: vec![pole; 7],
        };
        assert!(Compensator::new(&long, 0.1).is_none());
        assert!(
            Compensator::new(
                &TransferFunction {
                    zeros: vec![],
                    ..lead()
                },
                0.1
            )
            .is_none()
        );
    }
}
