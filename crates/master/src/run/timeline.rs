//! Which time a run has reached, and how long its next step is. The run asks it before each macro-step; it never looks
//! at a value.

use crate::graph::Graph;
use crate::state_stream::{StateStream, Stored};
use crate::step::Step;
use crate::step_control::StepControlFacts;
use crate::time::{Clock, Ticks};
use crate::unit::Period;

/// The communication points of a run.
#[derive(Clone)]
pub(super) struct Timeline {
    clock: Clock,
    /// Macro-step of the experiment, s.
    macro_step: f64,
    now: Ticks,
    /// Sum of the start time and all steps, s.
    sum: f64,
    /// Macro-steps made.
    index: u64,
    /// Stop time, from the start and in s.
    stop: Option<(Ticks, f64)>,
    next_length: Ticks,
    sizes: Sizes,
    is_fixed: bool,
    may_overshoot: bool,
    sums_time: bool,
}

impl Timeline {
    /// From the start of `period`, with a first step of `first` s.
    pub(super) fn new(
        graph: &Graph,
        control: StepControlFacts,
        period: &Period,
        first: f64,
    ) -> Self {
        let sizes = Sizes::of(graph, control);
        let clock = graph.clock;
        let stop = |stop: f64| (sizes.stop(&clock, stop), stop);
        Self {
            macro_step: graph.macro_step,
            now: 0,
            sum: clock.start(),
            index: 0,
            stop: period.stop.map(stop),
            next_length: sizes.length(first, &clock),
            is_fixed: control.is_fixed,
            may_overshoot: control.may_overshoot,
            sums_time: control.sums_time,
            sizes,
            clock,
        }
    }

    /// Simulated time, s.
    pub(super) fn time(&self) -> f64 {
        match self.stop {
            _ if self.sums_time => self.sum,
            Some((ticks, stop)) if self.now == ticks => stop,
            _ => self.clock.seconds(self.now),
        }
    }

    /// Whether all steps so far were macro-steps: the last one before a stop time may be shorter.
    pub(super) fn is_at_whole_step(&self) -> bool {
        let ticks = i64::try_from(self.index).ok();
        let ticks = ticks.and_then(|index| index.checked_mul(self.clock.ticks_per_step()));
        !self.is_fixed || ticks == Some(self.now)
    }

    /// Macro-steps made.
    pub(super) fn steps(&self) -> u64 {
        self.index
    }

    /// All steps but the last are the experiment's macro-step.
    #[inline]
    pub(super) fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// The stop time is reached.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.stop.is_some_and(|(stop, _)| self.now >= stop)
    }

    /// Macro-steps are of one length, and with this one begins the last but one step of a component whose steps have `every`.
    pub(super) fn is_last_but_one(&self, step: &Step, every: u64) -> bool {
        let length = every as Ticks * step.length;
        let rest = self.stop.map_or(0, |(stop, _)| stop - step.from);
        let is_due = step.index.is_multiple_of(every);
        self.is_fixed && is_due && (2 * length..3 * length).contains(&rest)
    }

    /// Stop time, s.
    pub(super) fn stop_time(&self) -> Option<f64> {
        self.stop.map(|(_, stop)| stop)
    }

    /// The step that was made is final.
    #[inline]
    pub(super) fn advance(&mut self, step: &Step) {
        self.now += step.length;
        self.index += 1;
        self.sum = step.time + step.size;
    }

    /// Whether the size may change before the macro-step with this index.
    pub(super) fn may_change(&self, index: u64) -> bool {
        self.sizes.may_change(index)
    }

    /// Sets the size of the step after `step`, s. All macro-steps within a slow component's step are
    /// equal.
    pub(super) fn set_size(&mut self, size: f64, step: &Step) {
        self.next_length = if self.may_change(step.index + 1) {
            self.sizes.length(size, &self.clock)
        } else {
            step.length
        };
    }

    /// Lengths of steps are whole multiples of this, s.
    pub(super) fn resolution(&self) -> f64 {
        self.clock.duration(self.sizes.cycle * self.sizes.grain)
    }

    /// The step that comes next.
    #[inline(always)]
    pub(super) fn next_step(&self) -> Step {
        let clock = &self.clock;
        if !self.is_fixed {
            return self.next_variable_step();
        }
        let (mut length, mut size) = (clock.ticks_per_step(), self.macro_step);
        let time = if self.sums_time {
            self.sum
        } else {
            clock.seconds_after(self.index)
        };
        if let Some((stop, seconds)) = self.stop
            && length > stop - self.now
        {
            (length, size) = (stop - self.now, seconds - time);
        }
        Step {
            index: self.index,
            from: self.now,
            length,
            time,
            size,
            is_summed: self.sums_time,
        }
    }

    /// Steps are macro-steps of one length, at points of the clock.
    #[inline(always)]
    pub(super) fn is_regular(&self) -> bool {
        self.is_fixed && !self.sums_time
    }

    /// Whole macro-steps before the stop time; `None` without one.
    #[inline(always)]
    pub(super) fn planned_steps(&self) -> Option<u64> {
        let rest = |(stop, _): (Ticks, f64)| (stop - self.now) / self.clock.ticks_per_step();
        self.stop.map(|stop| rest(stop).try_into().unwrap_or(0))
    }

    /// The next step of a run whose step control sizes the steps.
    fn next_variable_step(&self) -> Step {
        let clock = &self.clock;
        let time = clock.seconds(self.now);
        let mut length = self.next_length;
        let mut size = clock.duration(length);
        if let Some((stop, seconds)) = self.stop
            && !self.may_overshoot
        {
            length = self.sizes.within(length, stop - self.now, self.index);
            size = if length == stop - self.now {
                seconds - time
            } else {
                clock.duration(length)
            };
        }
        Step {
            index: self.index,
            from: self.now,
            length,
            time,
            size,
            is_summed: self.sums_time,
        }
    }
}

/// Which lengths macro-steps may have, so that the steps of all components are whole.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Macro-steps in a row that have one length: the macro-steps in the slowest component's step.
    cycle: Ticks,
    /// The length is a multiple of this, so that fast components and the parts of a step divide it.
    grain: Ticks,
    is_fixed: bool,
}

impl Sizes {
    fn of(graph: &Graph, control: StepControlFacts) -> Self {
        let every = graph.components.iter().map(|c| c.rate.every());
        Self {
            cycle: Ticks::from(every.fold(1, crate::time::common_macro_steps)),
            grain: graph.clock.grain() * Ticks::from(control.parts.max(1)),
            is_fixed: control.is_fixed,
        }
    }

    /// The length nearest to `size`, s.
    fn length(&self, size: f64, clock: &Clock) -> Ticks {
        let grains = clock.ticks(size) as f64 / self.grain as f64;
        (grains.round() as Ticks).max(1) * self.grain
    }

    /// Ticks from the start to the stop time, s. Steps of variable length need a
    /// number that they can divide; the last one ends at the exact time in any case.
    fn stop(&self, clock: &Clock, stop: f64) -> Ticks {
        let ticks = clock.ticks_until(stop);
        if self.is_fixed {
            return ticks;
        }
        let unit = self.cycle * self.grain;
        ((ticks as f64 / unit as f64).round() as Ticks).max(Ticks::from(stop > clock.start()))
            * unit
    }

    /// Whether the length may change before the macro-step with this index.
    fn may_change(&self, index: u64) -> bool {
        index.is_multiple_of(self.cycle as u64)
    }

    /// `length`, or less so that the steps end when nothing `remains`. A step that would leave a
    /// small rest is made in two equal parts.
    fn within(&self, length: Ticks, remains: Ticks, index: u64) -> Ticks {
        if !self.may_change(index) {
            return length;
        }
        let unit = self.cycle * self.grain;
        if remains <= length * self.cycle {
            remains / self.cycle
        } else if remains < 2 * length * self.cycle {
            (remains / 2 / unit).max(1) * self.grain
        } else {
            length
        }
    }
}

/// The stop time comes from the started run.
impl Stored for Timeline {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self {
            now,
            sum,
            index,
            next_length,
            sizes,
            clock: _,
            macro_step: _,
            stop: _,
            is_fixed: _,
            may_overshoot: _,
            sums_time: _,
        } = self;
        stream.keep(now);
        stream.keep(sum);
        stream.keep(index);
        stream.keep(next_length);
        let is_whole = *next_length > 0 && *next_length % sizes.grain == 0;
        if !is_whole || !sum.is_finite() || !self.is_at_whole_step() {
            stream.malformed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[test]
    fn the_steps_of_a_cycle_are_equal_and_end_exactly() {
        let sizes = Sizes {
            cycle: 3,
            grain: 10,
            is_fixed: false,
        };
        let (mut now, stop, mut length) = (0, 3 * 10 * 1001, 70);
        for index in 0.. {
            if now == stop {
                assert!(index % 3 == 0 && index > 100);
                break;
            }
            let next = sizes.within(length, stop - now, index);
            assert!(next > 0 && next % 10 == 0 && next <= 70);
            assert!(index % 3 == 0 || next == length);
            length = next;
            now += next;
        }
    }
}
