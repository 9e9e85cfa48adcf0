//! Stability of linear couplings.

use nalgebra::{DMatrix, Schur};

/// Iterations after which the eigenvalues are given up.
const ITERATIONS: usize = 10_000;

/// The greatest magnitude of the eigenvalues; without the one that is nearest to `neutral`, if that
/// is given. NaN if the eigenvalues cannot be found.
pub(crate) fn spectral_radius(matrix: DMatrix<f64>, neutral: Option<f64>) -> f64 {
    if matrix.iter().any(|entry| !entry.is_finite()) {
        return f64::NAN;
    }
    let Some(schur) = Schur::try_new(matrix, f64::EPSILON, ITERATIONS) else {
        return f64::NAN;
    };
    let mut eigenvalues: Vec<_> = schur.complex_eigenvalues().iter().copied().collect();
    if let Some(neutral) = neutral {
        let distance = |index: &usize| (eigenvalues[*index] - neutral).norm();
        let nearest = (0..eigenvalues.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map(|nearest| eigenvalues.swap_remove(nearest));
    }
    eigenvalues
        .iter()
        .map(|value| value.norm())
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_neutral_eigenvalue_is_left_out_once() {
        let matrix = DMatrix::from_row_slice(3, 3, &[1.0, 0.0, 0.0, 0.0, 0.3, -0.4, 0.0, 0.4, 0.3]);
        assert!((spectral_radius(matrix.clone(), None) - 1.0).abs() < 1e-12);
        assert!((spectral_radius(matrix, Some(1.0)) - 0.5).abs() < 1e-12);
    }
}
