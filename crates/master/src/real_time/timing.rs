//! Statistics of a run in real time.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::schedule::Overruns;

/// Greatest duration of a histogram, ns: an hour. A longer one counts as an hour; `max` is exact.
const LONGEST: u64 = 3_600_000_000_000;

/// Digits of a duration that a histogram keeps.
const DIGITS: u8 = 3;

/// The statistics of a run, which are there when it has ended.
#[derive(Debug, Clone, Default)]
pub struct Timing(Arc<OnceLock<TimingReport>>);

impl Timing {
    /// The statistics; `None` while the run goes on.
    pub fn report(&self) -> Option<&TimingReport> {
        self.0.get()
    }

    pub(super) fn set(&self, report: TimingReport) {
        // A run ends once.
        let _ = self.0.set(report);
    }
}

/// How well a run has kept step with the clock; times in s of the clock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimingReport {
    /// Simulated seconds a second.
    pub factor: f64,
    /// Consequence of overruns: `warn`, `stop`, `skip`.
    pub overrun_policy: &'static str,
    /// Communication points after the start.
    pub points: u64,
    /// Points that came after their deadline because the step took too long.
    pub overruns: u64,
    /// Greatest delay of one of those.
    pub max_delay: f64,
    /// By how much later points were moved in all (policy `skip`).
    pub skipped_time: f64,
    /// Of the other points: how long after its deadline the run went on.
    pub jitter: Durations,
    /// From the release of a communication point until the step from it has been made, observers included.
    pub step_time: Durations,
}

/// A distribution of durations, s. Percentiles have three digits.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Durations {
    /// Half of them are at most so long.
    pub p50: f64,
    /// 99 % of them are.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// Collects durations; allocates when it is made, and not any more.
pub(super) struct Statistics {
    factor: f64,
    policy: Overruns,
    overruns: u64,
    max_delay: Duration,
    skipped: Duration,
    jitter: Collected,
    steps: Collected,
}

struct Collected {
    histogram: Histogram<u64>,
    max: Duration,
}

impl Statistics {
    pub(super) fn new(factor: f64, policy: Overruns) -> Self {
        Self {
            factor,
            policy,
            overruns: 0,
            max_delay: Duration::ZERO,
            skipped: Duration::ZERO,
            jitter: Collected::new(),
            steps: Collected::new(),
        }
    }

    pub(super) fn step(&mut self, duration: Duration) {
        self.steps.add(duration);
    }

    pub(super) fn release(&mut self, late: Duration) {
        self.jitter.add(late);
    }

    pub(super) fn overrun(&mut self, late: Duration) {
        self.overruns += 1;
        self.max_delay = self.max_delay.max(late);
    }

    pub(super) fn skip(&mut self, skipped: Duration) {
        self.skipped = self.skipped.saturating_add(skipped);
    }

    pub(super) fn report(&self) -> TimingReport {
        TimingReport {
            factor: self.factor,
            overrun_policy: self.policy.word(),
            points: self.steps.histogram.len(),
            overruns: self.overruns,
            max_delay: self.max_delay.as_secs_f64(),
            skipped_time: self.skipped.as_secs_f64(),
            jitter: self.jitter.durations(),
            step_time: self.steps.durations(),
        }
    }
}

impl Collected {
    fn new() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, LONGEST, DIGITS)
                .expect("the bounds are constants that fit"),
            max: Duration::ZERO,
        }
    }

    fn add(&mut self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record(nanoseconds);
        self.max = self.max.max(duration);
    }

    fn durations(&self) -> Durations {
        // A percentile is the upper end of its class.
        let at = |quantile| {
            let nanoseconds = self.histogram.value_at_quantile(quantile);
            Duration::from_nanos(nanoseconds)
                .min(self.max)
                .as_secs_f64()
        };
        Durations {
            p50: at(0.5),
            p99: at(0.99),
            max: self.max.as_secs_f64(),
        }
    }
}
