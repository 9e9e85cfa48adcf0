//! Newton's method for the implicit trapezoidal step.

use super::NotConverged;
use crate::model::Model;

/// Newton stops when no state moves by more than this, relative to its size (or 1).
const TOLERANCE: f64 = 1e-12;
const MAX_ITERATIONS: usize = 25;

/// Memory of the solver, allocated once.
#[derive(Debug, Clone)]
pub(super) struct Newton {
    rates: Vec<f64>,
    shifted: Vec<f64>,
    residual: Vec<f64>,
    matrix: Vec<f64>,
}

impl Newton {
    pub(super) fn new(states: usize) -> Self {
        Self {
            rates: vec![0.0; states],
            shifted: vec![0.0; states],
            residual: vec![0.0; states],
            matrix: vec![0.0; states * states],
        }
    }

    /// Solves x' = start + h/2·(first + f(x')) for the model's states; its inputs belong to
    /// the end of the step.
    pub(super) fn solve<M: Model>(
        &mut self,
        model: &mut M,
        start: &[f64],
        first: &[f64],
        time: f64,
        step: f64,
    ) -> Result<(), NotConverged> {
        let end = time + step;
        for _ in 0..MAX_ITERATIONS {
            model.derivatives(end, &mut self.rates);
            for (i, x) in model.state().iter().enumerate() {
                self.residual[i] = start[i] + step / 2.0 * (first[i] + self.rates[i]) - x;
            }
            self.linearise(model, end, step);
            eliminate(&mut self.matrix, &mut self.residual)?;
            let mut converged = true;
            for (x, change) in model.state().iter_mut().zip(&self.residual) {
                *x += change;
                converged &= change.abs() <= TOLERANCE * x.abs().max(1.0);
            }
            if converged {
                return Ok(());
            }
        }
        Err(NotConverged)
    }

    /// Fills the matrix I − h/2·∂f/∂x by forward differences, row by row.
    fn linearise<M: Model>(&mut self, model: &mut M, end: f64, step: f64) {
        let n = self.rates.len();
        for column in 0..n {
            let x = model.state()[column];
            let shift = f64::EPSILON.sqrt() * x.abs().max(1.0);
            model.state()[column] = x + shift;
            model.derivatives(end, &mut self.shifted);
            model.state()[column] = x;
            for row in 0..n {
                let slope = (self.shifted[row] - self.rates[row]) / shift;
                let identity = if row == column { 1.0 } else { 0.0 };
                self.matrix[row * n + column] = identity - step / 2.0 * slope;
            }
        }
    }
}

/// Gaussian elimination with partial pivoting; the solution replaces `right`.
fn eliminate(matrix: &mut [f64], right: &mut [f64]) -> Result<(), NotConverged> {
    let n = right.len();
    for pivot in 0..n {
        let largest = (pivot..n)
            .max_by(|&a, &b| {
                let size = |row: usize| matrix[row * n + pivot].abs();
                size(a).total_cmp(&size(b))
            })
            .unwrap_or(pivot);
        let diagonal = matrix[largest * n + pivot];
        if diagonal == 0.0 || !diagonal.is_finite() {
            return Err(NotConverged);
        }
        for column in 0..n {
            matrix.swap(pivot * n + column, largest * n + column);
        }
        right.swap(pivot, largest);
        for row in pivot + 1..n {
            let factor = matrix[row * n + pivot] / diagonal;
            for column in pivot..n {
                matrix[row * n + column] -= factor * matrix[pivot * n + column];
            }
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|c| matrix[row * n + c] * right[c]).sum();
        right[row] = (right[row] - known) / matrix[row * n + row];
    }
    Ok(())
}
