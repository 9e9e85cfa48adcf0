//! Published real outputs at successive communication points.

/// Most macro-steps in a row: those from one fading of the [alarms](crate::alarm) to the next. More gain nothing: measured with FMUs that do
/// nothing.
pub(crate) const MOST_STEPS: usize = 50;
/// Values of all rows together that stay in a second-level cache of 256 KiB.
const MOST_VALUES: usize = 24 * 1024;

/// The outputs before some macro-steps, and after each of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    values: Vec<f64>,
    width: usize,
    most_steps: usize,
    /// Macro-steps made.
    steps: usize,
}

impl Rows {
    /// Room for rows of so many outputs.
    pub(crate) fn new(width: usize) -> Self {
        Self::beside(width, 0)
    }

    /// Room for rows of so many values, beside other rows of which each macro-step has `others` values together.
    pub(crate) fn beside(width: usize, others: usize) -> Self {
        let all = (width + others).max(1);
        let most = (MOST_VALUES / all).clamp(1, MOST_STEPS);
        // As many as the others in each part of the most.
        let steps = MOST_STEPS.div_ceil(MOST_STEPS.div_ceil(most));
        Self {
            values: vec![0.0; (steps + 1) * width],
            width,
            most_steps: steps,
            steps: 0,
        }
    }

    /// Begins again with the outputs before the first macro-step.
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

    /// The outputs before the first macro-step, and room for rows after it, one of this width after the other.
    #[inline(always)]
    pub(crate) fn first_and_room(&mut self) -> (&[f64], &mut [f64], usize) {
        let (first, room) = self.values.split_at_mut(self.width);
        (first, room, self.width)
    }

    /// So many rows of the room are complete.
    #[inline(always)]
    pub(crate) fn made(&mut self, steps: usize) {
        self.steps = steps;
    }

    /// The last row, and room for the one after it.
    #[inline(always)]
    pub(crate) fn last_and_next(&mut self) -> (&[f64], &mut [f64]) {
        let begin = self.steps * self.width;
        let (last, next) = self.values[begin..begin + 2 * self.width].split_at_mut(self.width);
        (last, next)
    }

    /// The row after so many of the macro-steps.
    #[inline(always)]
    pub(crate) fn after_mut(&mut self, steps: usize) -> &mut [f64] {
        &mut self.values[steps * self.width..][..self.width]
    }

    /// The outputs after so many of the macro-steps; after one more, as far as they were read.
    #[inline]
    pub(crate) fn after(&self, steps: usize) -> &[f64] {
        &self.values[steps * self.width..][..self.width]
    }

    /// The outputs after so many of the macro-steps, and those in the rows after that, which need not be complete.
    #[inline(always)]
    pub(crate) fn after_and_others(&self, steps: usize) -> &[f64] {
        &self.values[steps * self.width..]
    }

    /// Numbers in a row.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The outputs before the first macro-step, and after each.
    #[inline(always)]
    pub(crate) fn all(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values[..(self.steps + 1) * self.width].chunks_exact(self.width.max(1))
    }
}
