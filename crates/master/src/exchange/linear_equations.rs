//! Linear equations with a full matrix, in memory that is there already: a step allocates nothing, and the equations of
//! algebraic loops have a few unknowns.

/// A pivot that is less than this part of the terms whose difference it is counts as 0: derivatives that are measured have
/// errors of some 1e-10.
const SINGULAR: f64 = 1e-9;

/// Puts the factors L and U of a square matrix in its place, row by row, by Gaussian elimination with partial
/// pivoting; `order` becomes the order of its rows (Golub and Van Loan, Matrix Computations, §3.4).
///
/// `terms` has the magnitudes of the terms of each element. `false` where the matrix is singular by them, or not finite.
pub(crate) fn factor(matrix: &mut [f64], terms: &mut [f64], order: &mut [usize]) -> bool {
    let size = order.len();
    for (place, row) in order.iter_mut().enumerate() {
        *row = place;
    }
    for step in 0..size {
        let magnitude = |row: usize| matrix[row * size + step].abs();
        // The first of equal ones: the result depends on the numbers only.
        let mut pivot = step;
        for row in step + 1..size {
            if magnitude(row) > magnitude(pivot) {
                pivot = row;
            }
        }
        let is_regular = magnitude(pivot) > SINGULAR * terms[pivot * size + step];
        if !is_regular {
            return false;
        }
        if pivot != step {
            order.swap(pivot, step);
            for column in 0..size {
                matrix.swap(pivot * size + column, step * size + column);
                terms.swap(pivot * size + column, step * size + column);
            }
        }
        for row in step + 1..size {
            let factor = matrix[row * size + step] / matrix[step * size + step];
            matrix[row * size + step] = factor;
            if factor == 0.0 {
                continue;
            }
            for column in step + 1..size {
                matrix[row * size + column] -= factor * matrix[step * size + column];
                terms[row * size + column] += factor.abs() * terms[step * size + column];
            }
        }
    }
    true
}

/// Solves the equations with a factored matrix for the right side `right`, into `solution`.
pub(crate) fn solve(factors: &[f64], order: &[usize], right: &[f64], solution: &mut [f64]) {
    let size = order.len();
    for row in 0..size {
        let mut value = right[order[row]];
        for column in 0..row {
            value -= factors[row * size + column] * solution[column];
        }
        solution[row] = value;
    }
    for row in (0..size).rev() {
        let mut value = solution[row];
        for column in row + 1..size {
            value -= factors[row * size + column] * solution[column];
        }
        solution[row] = value / factors[row * size + row];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use nalgebra::{DMatrix, DVector};

    fn factored(matrix: &mut [f64], order: &mut [usize]) -> bool {
        let mut terms: Vec<f64> = matrix.iter().map(|value| value.abs()).collect();
        factor(matrix, &mut terms, order)
    }

    #[test]
    fn the_solution_is_that_of_the_library() {
        let mut draw = SplitMix64::new(7);
        for size in 1..12 {
            let mut number = || draw.next_unit() * 2.0 - 1.0;
            let matrix: Vec<f64> = (0..size * size).map(|_| number()).collect();
            let right: Vec<f64> = (0..size).map(|_| number()).collect();
            let expected = DMatrix::from_row_slice(size, size, &matrix)
                .lu()
                .solve(&DVector::from_column_slice(&right))
                .unwrap();
            let mut factors = matrix.clone();
            let (mut order, mut found) = (vec![0; size], vec![0.0; size]);
            assert!(factored(&mut factors, &mut order));
            solve(&factors, &order, &right, &mut found);
            for (found, expected) in found.iter().zip(expected.iter()) {
                assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0));
            }
        }
    }

    #[test]
    fn of_equal_pivots_the_first_one_is_taken() {
        for (mut matrix, expected) in [
            ([2.0, 1.0, -2.0, 5.0], [0, 1]),
            ([2.0, 1.0, -2.5, 5.0], [1, 0]),
        ] {
            let mut order = [0; 2];
            assert!(factored(&mut matrix, &mut order));
            assert_eq!(order, expected);
        }
    }

    #[test]
    fn a_matrix_without_an_inverse_is_refused() {
        for mut matrix in [
            vec![0.0; 4],
            vec![1.0, 2.0, 2.0, 4.0],
            vec![1.0, 0.1 + 0.2, 1.0, 0.3],
            vec![f64::NAN, 0.0, 0.0, 1.0],
        ] {
            let text = format!("{matrix:?}");
            assert!(!factored(&mut matrix, &mut [0; 2]), "{text}");
        }
        // 1 less a derivative that was measured as 1.
        assert!(!factor(&mut [3e-10], &mut [2.0], &mut [0]));
        // Rows change places, and have magnitudes of their own.
        let mut matrix = vec![0.0, 1e-12, 2e12, 0.0];
        let (mut order, mut found) = ([0; 2], [0.0; 2]);
        assert!(factored(&mut matrix, &mut order));
        solve(&matrix, &order, &[3e-12, 8e12], &mut found);
        assert_eq!(found, [4.0, 3.0]);
    }
}
