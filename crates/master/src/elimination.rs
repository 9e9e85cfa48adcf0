//! Small systems of linear equations, in storage that is used again.

/// A system of equations: a matrix, and a right side that the solution replaces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Elimination {
    size: usize,
    matrix: Vec<f64>,
    right: Vec<f64>,
}

impl Elimination {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            size,
            matrix: vec![0.0; size * size],
            right: vec![0.0; size],
        }
    }

    /// The identity, and nothing on the right.
    pub(crate) fn clear(&mut self) {
        self.matrix.fill(0.0);
        self.right.fill(0.0);
        for row in 0..self.size {
            *self.entry(row, row) = 1.0;
        }
    }

    pub(crate) fn entry(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.matrix[row * self.size + column]
    }

    pub(crate) fn right(&mut self, row: usize) -> &mut f64 {
        &mut self.right[row]
    }

    /// Replaces the right side by the solution, by Gauss and Jordan with pivoting; `false` if the
    /// matrix is singular.
    pub(crate) fn solve(&mut self) -> bool {
        let size = self.size;
        for column in 0..size {
            let magnitude = |row: &usize| self.matrix[row * size + column].abs();
            let pivot = (column..size).max_by(|a, b| magnitude(a).total_cmp(&magnitude(b)));
            let pivot = pivot.unwrap_or(column);
            if self.matrix[pivot * size + column] == 0.0 {
                return false;
            }
            for other in 0..size {
                self.matrix
                    .swap(column * size + other, pivot * size + other);
            }
            self.right.swap(column, pivot);
            for row in (0..size).filter(|row| *row != column) {
                let factor = self.matrix[row * size + column] / self.matrix[column * size + column];
                for other in column..size {
                    self.matrix[row * size + other] -= factor * self.matrix[column * size + other];
                }
                self.right[row] -= factor * self.right[column];
            }
        }
        for row in 0..size {
            self.right[row] /= self.matrix[row * size + row];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_needs_pivoting_is_solved() {
        let mut system = Elimination::new(3);
        system.matrix = vec![0.0, 2.0, 1.0, 1.0, 1.0, 0.0, 3.0, 0.0, -1.0];
        system.right = vec![7.0, 3.0, 0.0];
        assert!(system.solve());
        for (found, expected) in system.right.iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-14);
        }
        system.matrix.fill(0.0);
        assert!(!system.solve());
    }
}
