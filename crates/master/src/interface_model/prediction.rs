/// The mean force over a macro-step as linear models of both sides predict it.
///
/// With ẇ = b + W·λ of the one side and λ̇ = r − K·(w − w₀) of the other, the linearly implicit
/// Euler method makes steps of d: (I + d²·W·K)·Δw = d·(b + W·(λ + d·(r − K·(w − w₀)))).
#[derive(Debug, Clone, Default)]
pub(crate) struct Prediction {
    change: Vec<f64>,
    force: Vec<f64>,
    matrix: Vec<f64>,
    step: Vec<f64>,
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
            matrix: vec![0.0; coordinates * coordinates],
            step: zeros.clone(),
            mean: zeros,
        }
    }

    /// Predicts over `steps` steps of `d` s.
    pub(crate) fn predict(&mut self, sides: &Sides<'_>, d: f64, steps: u32) {
        let size = self.change.len();
        self.change.fill(0.0);
        self.mean.fill(0.0);
        self.force.copy_from_slice(sides.force);
        for _ in 0..steps {
            for row in 0..size {
                let weights = &sides.inverse_mass[row * size..][..size];
                self.step[row] = sides.free_acceleration[row];
                for (column, weight) in weights.iter().enumerate() {
                    let stiffness = sides.stiffness[column];
                    let rate = sides.force_rate[column] - stiffness * self.change[column];
                    self.step[row] += weight * (self.force[column] + d * rate);
                    let unit = if row == column { 1.0 } else { 0.0 };
                    self.matrix[row * size + column] = unit + d * d * weight * stiffness;
                }
                self.step[row] *= d;
            }
            solve(&mut self.matrix, &mut self.step);
            for coordinate in 0..size {
                let before = self.force[coordinate];
                self.change[coordinate] += self.step[coordinate];
                let rate = sides.force_rate[coordinate]
                    - sides.stiffness[coordinate] * self.change[coordinate];
                self.force[coordinate] += d * rate;
                self.mean[coordinate] += 0.5 * (before + self.force[coordinate]) / f64::from(steps);
            }
        }
    }
}

/// Solves matrix · x = vector in place, by elimination with row exchange; x replaces the vector.
fn solve(matrix: &mut [f64], vector: &mut [f64]) {
    let size = vector.len();
    for column in 0..size {
        let magnitude = |row: &usize| matrix[row * size + column].abs();
        let pivot = (column..size)
            .max_by(|a, b| magnitude(a).total_cmp(&magnitude(b)))
            .unwrap_or(column);
        if pivot != column {
            for k in 0..size {
                matrix.swap(pivot * size + k, column * size + k);
            }
            vector.swap(pivot, column);
        }
        for row in column + 1..size {
            let factor = matrix[row * size + column] / matrix[column * size + column];
            for k in column..size {
                matrix[row * size + k] -= factor * matrix[column * size + k];
            }
            vector[row] -= factor * vector[column];
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size)
            .map(|k| matrix[row * size + k] * vector[k])
            .sum();
        vector[row] = (vector[row] - known) / matrix[row * size + row];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elimination_exchanges_rows() {
        let mut matrix = [0.0, 2.0, 1.0, 4.0, 1.0, 0.0, 1.0, 1.0, 1.0];
        let mut vector = [7.0, 6.0, 6.0];
        solve(&mut matrix, &mut vector);
        for (found, expected) in vector.iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-14);
        }
    }

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
}
