//! The macro-step in progress, and its equal parts.

use crate::state_stream::stored;
use crate::time::{Clock, Ticks};

/// The end of its communication step at which an operation acts on a component. A component that communicates with
/// every macro-step is due at both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Its communication step starts with the macro-step.
    Begin,
    /// Its communication step ends with the macro-step.
    End,
}

/// The macro-step that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Step {
    /// Macro-steps made before.
    pub index: u64,
    /// Start of the step.
    pub from: Ticks,
    /// Length of the step.
    pub length: Ticks,
    /// Start of the step, s.
    pub time: f64,
    /// Length of the step, s.
    pub size: f64,
    /// Its times are the sum of the steps before it, and lie beside the points of the clock by the
    /// rounding of that sum.
    pub is_summed: bool,
}

impl Step {
    /// End of the step, s.
    pub fn end(&self, clock: &Clock) -> f64 {
        if self.is_summed {
            self.time + self.size
        } else {
            clock.seconds(self.from + self.length)
        }
    }
}

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
        let is_whole = clock.is_duration(step.length, step.size);
        let divides = step.length % Ticks::from(count) == 0;
        Self {
            whole: *step,
            length: step.length / Ticks::from(count),
            size: step.size / f64::from(count),
            clock: (is_whole && divides && !step.is_summed).then_some(clock),
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
            is_summed: self.whole.is_summed,
        }
    }
}

stored!(Step {
    index,
    from,
    length,
    time,
    size,
    is_summed
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_whole_steps_start_at_ticks_and_those_of_others_where_the_last_one_ended() {
        let clock = Clock::new(0.1, 1e-3, [5]).unwrap();
        let whole = Step {
            index: 1,
            from: clock.ticks_per_step(),
            length: clock.ticks_per_step(),
            time: clock.seconds_after(1),
            size: 1e-3,
            is_summed: false,
        };
        for index in 0..5 {
            let part = StepParts::of(&whole, 5, &clock).part(index);
            let from = clock.ticks_per_step() / 5 * Ticks::from(5 + index);
            assert_eq!((part.from, part.time), (from, clock.seconds(from)));
        }
        // Less than a tick longer than its length, as at a stop time between ticks.
        let (length, size) = (clock.ticks(0.3e-3), 0.3e-3 + 0.4 * clock.duration(1));
        let shortened = Step {
            length,
            size,
            ..whole
        };
        let mut end = shortened.time;
        for index in 0..5 {
            let part = StepParts::of(&shortened, 5, &clock).part(index);
            assert!((part.time - end).abs() <= f64::EPSILON * end);
            end = part.time + part.size;
        }
        assert!((end - (whole.time + size)).abs() <= f64::EPSILON * end);
        // Parts of a step whose time is summed follow that time, not the clock.
        let time = whole.time + 1e-9;
        let summed = Step {
            time,
            is_summed: true,
            ..whole
        };
        let second = StepParts::of(&summed, 5, &clock).part(1);
        assert_eq!(second.time, time + second.size);
        assert_eq!(summed.end(&clock), time + 1e-3);
        assert_eq!(whole.end(&clock), clock.seconds_after(2));
    }
}
