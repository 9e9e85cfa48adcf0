//! The mean force over a macro-step, predicted by linear models of both sides of an interface model.
//!
//! The stages of interface models call it if the passed force is a predicted mean. It reads no unit, and allocates
//! only when it is made.

use crate::elimination::Elimination;
use crate::state_stream::stored;

/// The mean force over a macro-step as linear models of both sides predict it.
///
/// The one side has ẇ = b + W·λ, the other λ̇ = r − K·(w − w₀). The linearly implicit Euler
/// method makes steps of d: (I + d²·W·K)·Δw = d·(b + W·(λ + d·(r − K·(w − w₀)))).
#[derive(Debug, Clone, Default)]
pub(crate) struct Prediction {
    change: Vec<f64>,
    force: Vec<f64>,
    system: Elimination,
    /// Mean force, coordinate by coordinate.
    pub(crate) mean: Vec<f64>,
}

/// Both sides at the start of a macro-step; vectors and W (row by row) by coordinate.
pub(crate) struct Sides<'a> {
    pub(crate) inverse_mass: &'a [f64],
    pub(crate) free_acceleration: &'a [f64],
    pub(crate) force: &'a [f64],
    pub(crate) force_rate: &'a [f64],
    /// Diagonal of K.
    pub(crate) stiffness: &'a [f64],
}

impl Prediction {
    pub(crate) fn new(coordinates: usize) -> Self {
        let zeros = vec![0.0; coordinates];
        Self {
            change: zeros.clone(),
            force: zeros.clone(),
            system: Elimination::new(coordinates),
            mean: zeros,
        }
    }

    /// Predicts over `steps` steps of `d` s. If the models have no unique solution, the force stays as
    /// it is.
    pub(crate) fn predict(&mut self, sides: &Sides<'_>, d: f64, steps: u32) {
        self.change.fill(0.0);
        self.mean.fill(0.0);
        self.force.copy_from_slice(sides.force);
        for _ in 0..steps {
            self.set_up(sides, d);
            if !self.system.solve() {
                self.mean.copy_from_slice(sides.force);
                return;
            }
            for coordinate in 0..self.change.len() {
                let before = self.force[coordinate];
                self.change[coordinate] += *self.system.right(coordinate);
                let rate = sides.force_rate[coordinate]
                    - sides.stiffness[coordinate] * self.change[coordinate];
                self.force[coordinate] += d * rate;
                self.mean[coordinate] += 0.5 * (before + self.force[coordinate]) / f64::from(steps);
            }
        }
    }

    /// The equations of one step.
    fn set_up(&mut self, sides: &Sides<'_>, d: f64) {
        let size = self.change.len();
        self.system.clear();
        for row in 0..size {
            let weights = &sides.inverse_mass[row * size..][..size];
            let mut acceleration = sides.free_acceleration[row];
            for (column, weight) in weights.iter().enumerate() {
                let stiffness = sides.stiffness[column];
                let rate = sides.force_rate[column] - stiffness * self.change[column];
                acceleration += weight * (self.force[column] + d * rate);
                *self.system.entry(row, column) += d * d * weight * stiffness;
            }
            *self.system.right(row) = acceleration * d;
        }
    }
}

stored!(Prediction { change, force, mean; system });

#[cfg(test)]
mod tests {
    use super::*;

    // Closed form of m·ẍ = −k·x with x(0) = x0: the mean force over T is −k·x0·sin(ωT)/(ωT).
    #[test]
    fn the_predicted_mean_force_converges_to_the_closed_form() {
        let (mass, stiffness, x0, duration) = (2.0, 800.0, 0.01, 0.05);
        let omega = f64::sqrt(stiffness / mass);
        let exact = -stiffness * x0 * (omega * duration).sin() / (omega * duration);
        let error = |steps: u32| {
            let mut prediction = Prediction::new(1);
            let sides = Sides {
                inverse_mass: &[1.0 / mass],
                free_acceleration: &[0.0],
                force: &[-stiffness * x0],
                force_rate: &[0.0],
                stiffness: &[stiffness],
            };
            prediction.predict(&sides, duration / f64::from(steps), steps);
            (prediction.mean[0] - exact).abs()
        };
        assert!(error(50) < 0.02 * exact.abs());
        assert!((error(50) / error(100) - 2.0).abs() < 0.2, "first order");
    }

    // W·K = −1/d² makes I + d²·W·K singular.
    #[test]
    fn models_without_a_solution_hold_the_force() {
        let mut prediction = Prediction::new(1);
        let sides = Sides {
            inverse_mass: &[1.0],
            free_acceleration: &[0.0],
            force: &[3.0],
            force_rate: &[0.0],
            stiffness: &[-4.0],
        };
        prediction.predict(&sides, 0.5, 10);
        assert_eq!(prediction.mean, [3.0]);
    }
}
