//! Published real outputs at successive communication points.

/// Most macro-steps in a row. More gain nothing: measured with FMUs that do nothing.
pub(crate) const MOST_STEPS: usize = 32;
/// Values of all rows together that stay in a second-level cache of 256 KiB, beside the columns.
const MOST_VALUES: usize = 12 * 1024;

/// The outputs before some macro-steps, and after each of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    values: Vec<f64>,
    /// The same by output; made by [`transpose`](Self::transpose).
    columns: Vec<f64>,
    width: usize,
    most_steps: usize,
    /// Macro-steps made.
    steps: usize,
}

impl Rows {
    /// Room for rows of so many outputs.
    pub(crate) fn new(width: usize) -> Self {
        let steps = (MOST_VALUES / width.max(1)).clamp(1, MOST_STEPS);
        Self {
            values: vec![0.0; (steps + 1) * width],
            columns: vec![0.0; (steps + 1) * width],
            width,
            most_steps: steps,
            steps: 0,
        }
    }

    /// Begins anew with the outputs before the first macro-step.
    pub(crate) fn begin(&mut self, outputs: &[f64]) {
        self.steps = 0;
        self.values[..self.width].copy_from_slice(outputs);
    }

    /// Most macro-steps for which there is room.
    #[inline(always)]
    pub(crate) fn most_steps(&self) -> usize {
        self.most_steps
    }

    /// Macro-steps made.
    #[inline(always)]
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// The last row, and room for the one after it.
    #[inline(always)]
    pub(crate) fn last_and_next(&mut self) -> (&[f64], &mut [f64]) {
        let begin = self.steps * self.width;
        let (last, next) = self.values[begin..begin + 2 * self.width].split_at_mut(self.width);
        (last, next)
    }

    /// The row in the room after the last one is complete.
    #[inline(always)]
    pub(crate) fn add(&mut self) {
        self.steps += 1;
    }

    /// The outputs after the last macro-step.
    pub(crate) fn last(&self) -> &[f64] {
        self.row(self.steps)
    }

    fn row(&self, steps: usize) -> &[f64] {
        &self.values[steps * self.width..][..self.width]
    }

    /// Makes the columns.
    pub(crate) fn transpose(&mut self) {
        let height = self.most_steps + 1;
        let rows = self.values.chunks_exact(self.width.max(1));
        for (step, row) in rows.take(self.steps + 1).enumerate() {
            for (column, value) in self.columns.chunks_exact_mut(height).zip(row) {
                column[step] = *value;
            }
        }
    }

    /// The values of an output before the first macro-step and after each, as they were when the columns were made.
    #[inline(always)]
    pub(crate) fn column(&self, output: usize) -> &[f64] {
        let height = self.most_steps() + 1;
        &self.columns[output * height..][..=self.steps]
    }
}
