//! A step in equal parts.

use super::Step;
use crate::time::{Clock, Ticks};

/// The equal parts of a step.
pub(crate) struct StepParts<'a> {
    whole: Step,
    length: Ticks,
    size: f64,
    /// The clock that the parts follow; `None`: they follow each other from the step's start.
    clock: Option<&'a Clock>,
}

impl<'a> StepParts<'a> {
    /// Divides a step into `count` parts.
    #[inline]
    pub(crate) fn of(step: &Step, count: u32, clock: &'a Clock) -> Self {
        // A step that was shortened to end at the stop time need not be a whole number of ticks.
        let off = (step.size - clock.duration(step.length)).abs();
        let is_whole = off <= 4.0 * f64::EPSILON * step.size;
        let divides = step.length % Ticks::from(count) == 0;
        Self {
            whole: *step,
            length: step.length / Ticks::from(count),
            size: step.size / f64::from(count),
            clock: (is_whole && divides).then_some(clock),
        }
    }

    /// A part by its index, from 0.
    #[inline]
    pub(crate) fn part(&self, index: u32) -> Step {
        let from = self.whole.from + self.length * Ticks::from(index);
        let time = match self.clock {
            Some(clock) => clock.seconds(from),
            None => self.whole.time + f64::from(index) * self.size,
        };
        Step {
            index: self.whole.index,
            from,
            length: self.length,
            time,
            size: self.size,
        }
    }
}
