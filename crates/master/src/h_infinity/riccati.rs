//! The stabilising solution of an algebraic Riccati equation, without eigenvectors.

use nalgebra::DMatrix;

// Choices: limits of rounding in matrices of at most fourteen rows, and of an iteration that converges
// quadratically.

/// Iterations of the matrix sign after which it is taken as not converging.
const ITERATIONS: usize = 100;
/// Relative change of the last iteration that is good enough, and that is not.
const CONVERGED: f64 = 1e-13;
const FAILED: f64 = 1e-8;
/// A least eigenvalue above this, relative to the greatest entry, is rounding and not negative.
const ROUNDING: f64 = 1e-8;

/// X = Xᵀ ≥ 0 with AᵀX + XA + XRX + Q = 0 and A + RX stable; `None` if there is none.
///
/// The matrix sign function of the Hamiltonian [A, R; −Q, −Aᵀ] by Newton's iteration with scaling
/// by norms (Roberts 1980): its stable invariant subspace is the kernel of sign + I.
pub(crate) fn stabilising(
    a: &DMatrix<f64>,
    r: &DMatrix<f64>,
    q: &DMatrix<f64>,
) -> Option<DMatrix<f64>> {
    let n = a.nrows();
    let mut hamiltonian = DMatrix::zeros(2 * n, 2 * n);
    hamiltonian.view_mut((0, 0), (n, n)).copy_from(a);
    hamiltonian.view_mut((0, n), (n, n)).copy_from(r);
    hamiltonian.view_mut((n, 0), (n, n)).copy_from(&-q);
    hamiltonian
        .view_mut((n, n), (n, n))
        .copy_from(&-a.transpose());
    let sign = sign(hamiltonian)?;
    let identity = DMatrix::identity(n, n);
    let mut left = DMatrix::zeros(2 * n, n);
    left.rows_mut(0, n).copy_from(&sign.view((0, n), (n, n)));
    left.rows_mut(n, n)
        .copy_from(&(sign.view((n, n), (n, n)) + &identity));
    let mut right = DMatrix::zeros(2 * n, n);
    right
        .rows_mut(0, n)
        .copy_from(&-(sign.view((0, 0), (n, n)) + &identity));
    right.rows_mut(n, n).copy_from(&-sign.view((n, 0), (n, n)));
    let x = left.svd(true, true).solve(&right, f64::EPSILON).ok()?;
    let x = 0.5 * (&x + x.transpose());
    if !x.iter().all(|entry| entry.is_finite()) {
        return None;
    }
    let least = x.symmetric_eigenvalues().min();
    let is_stable = (a + r * &x)
        .complex_eigenvalues()
        .iter()
        .all(|pole| pole.re < 0.0);
    (least >= -ROUNDING * x.amax() && is_stable).then_some(x)
}

/// The matrix sign function; `None` if an eigenvalue is on the imaginary axis.
fn sign(mut s: DMatrix<f64>) -> Option<DMatrix<f64>> {
    let mut change = f64::INFINITY;
    for _ in 0..ITERATIONS {
        let inverse = s.clone().try_inverse()?;
        let scale = (inverse.norm() / s.norm()).sqrt();
        let next = 0.5 * (scale * &s + inverse / scale);
        change = (&next - &s).norm() / next.norm();
        s = next;
        if change < CONVERGED {
            break;
        }
    }
    (change < FAILED).then_some(s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_equation_has_its_closed_solution() {
        // 2ax + rx² + q = 0 with a = 1, r = −1, q = 3: x = 3 is stable, x = −1 is not.
        let scalar = |value| DMatrix::from_element(1, 1, value);
        let x = stabilising(&scalar(1.0), &scalar(-1.0), &scalar(3.0)).unwrap();
        assert!((x[0] - 3.0).abs() < 1e-12);
    }

    #[test]
    fn there_is_none_with_eigenvalues_on_the_imaginary_axis() {
        let scalar = |value| DMatrix::from_element(1, 1, value);
        assert!(stabilising(&scalar(0.0), &scalar(1.0), &scalar(1.0)).is_none());
    }
}
