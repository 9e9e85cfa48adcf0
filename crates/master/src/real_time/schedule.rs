//! When communication points are due.

use std::time::Duration;

/// Consequence of a step that ends after its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overruns {
    /// It is counted, and the following steps make up for the delay.
    #[default]
    Warn,
    /// It ends the run.
    Stop,
    /// It is counted, and all later deadlines move by whole steps: the delay is not made up for.
    Skip,
}

impl Overruns {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Stop => "stop",
            Self::Skip => "skip",
        }
    }
}

/// Deadlines on the clock, from simulated time.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Simulated time at the start, s.
    start: f64,
    /// The same on the clock, with what was skipped.
    origin: Duration,
    /// Simulated seconds a second.
    factor: f64,
    /// The last deadline.
    last: Duration,
    /// From the deadline before to the last one.
    length: Duration,
}

impl Schedule {
    pub(super) fn new(start: f64, origin: Duration, factor: f64) -> Self {
        Self {
            start,
            origin,
            factor,
            last: origin,
            length: Duration::ZERO,
        }
    }

    /// When the communication point at `time` is due. Points of times that no clock has are never due.
    pub(super) fn deadline(&mut self, time: f64) -> Duration {
        let since_start = (time - self.start) / self.factor;
        let since_start = Duration::try_from_secs_f64(since_start.max(0.0));
        let deadline = self
            .origin
            .saturating_add(since_start.unwrap_or(Duration::MAX));
        self.length = deadline.saturating_sub(self.last);
        self.last = deadline;
        deadline
    }

    /// Moves all later deadlines by as many of the last step as `late` takes; returns their time.
    pub(super) fn skip(&mut self, late: Duration) -> Duration {
        let length = self.length.as_nanos().max(1);
        let steps = late.as_nanos().div_ceil(length);
        let skipped = u64::try_from(steps.saturating_mul(length)).unwrap_or(u64::MAX);
        let skipped = Duration::from_nanos(skipped);
        self.hold(skipped);
        skipped
    }

    /// Moves all later deadlines.
    pub(super) fn hold(&mut self, time: Duration) {
        self.origin = self.origin.saturating_add(time);
        self.last = self.last.saturating_add(time);
    }
}
