//! The options of runs in real time, and their lines in the closing table.
//!
//! A feature of all runs.

use std::cell::OnceCell;

use clap::{Args, ValueEnum};
use gyrator::RunError;
use gyrator::real_time::{Durations, Overruns, RealTime, StepThread, Timing, TimingReport};

use crate::feature::{Ending, Feature, Needs, Observing};
use crate::numbers::{count, short};
use crate::options::positive;
use crate::summary::Summary;

// Whether a run keeps step with the clock.
#[derive(Args)]
#[command(next_help_heading = "Real time")]
pub(crate) struct RealTimeOptions {
    /// Keep step with the clock, at FACTOR simulated seconds per second: each communication point waits for its time
    /// [default: 1]
    #[arg(long, value_name = "FACTOR", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "1", value_parser = positive)]
    #[arg(conflicts_with_all = ["error_bars", "initialize_only"])]
    real_time: Option<f64>,
    /// Consequence of a step that ends too late
    #[arg(
        long,
        value_name = "POLICY",
        value_enum,
        default_value = "warn",
        requires = "real_time"
    )]
    overruns: OverrunPolicy,
    /// Only CPU on which the thread runs [Linux]
    #[arg(long, value_name = "NUMBER", requires = "real_time")]
    cpu: Option<usize>,
    /// Priority of the thread under SCHED_FIFO, 1 to 99
    #[arg(long, value_name = "PRIORITY", requires = "real_time")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=99))]
    #[arg(allow_negative_numbers = true)]
    fifo_priority: Option<u8>,
    /// Keep the memory of the run in RAM [Linux]
    #[arg(long, requires = "real_time")]
    lock_memory: bool,
    #[arg(skip)]
    timing: OnceCell<Timing>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OverrunPolicy {
    /// Count it, and catch up
    Warn,
    /// End the run, with exit code 6
    Stop,
    /// Count it, and move the later points by whole steps
    Skip,
}

impl Feature for RealTimeOptions {
    fn needs(&self) -> Needs {
        let why = "there is no second run in real time: a run without --real-time tells why";
        Needs {
            queued_rows: self.real_time.is_some(),
            no_second_run: self.real_time.map(|_| why),
            ..Needs::default()
        }
    }

    fn observe(&self, observing: &mut Observing<'_>) -> Result<(), RunError> {
        let Some(factor) = self.real_time else {
            return Ok(());
        };
        let mut thread = StepThread::default();
        thread.cpu = self.cpu;
        thread.fifo_priority = self.fifo_priority;
        thread.locks_memory = self.lock_memory;
        let real_time = RealTime::new()
            .factor(factor)
            .overruns(match self.overruns {
                OverrunPolicy::Warn => Overruns::Warn,
                OverrunPolicy::Stop => Overruns::Stop,
                OverrunPolicy::Skip => Overruns::Skip,
            })
            .thread(thread)
            .interrupt(observing.interrupt.requested());
        let _ = self.timing.set(real_time.timing());
        observing.clock = Some((factor, real_time.held()));
        observing.last.push(Box::new(real_time));
        Ok(())
    }

    fn summarize<'a>(&'a self, _: &Ending<'_>, summary: &mut Summary<'a>) {
        if let Some(timing) = self.timing.get().and_then(Timing::report) {
            summary.closing.push_str(&lines(timing));
            summary.real_time = Some(timing);
        }
    }
}

/// The statistics, for people.
fn lines(timing: &TimingReport) -> String {
    let points = count(timing.points, "communication point");
    let mut text = format!("real time: {points}, ");
    text.push_str(&match timing.overruns {
        0 => "none too late\n".to_owned(),
        overruns => format!(
            "{overruns} too late, by at most {}\n",
            span(timing.max_delay)
        ),
    });
    if timing.skipped_time > 0.0 {
        text.push_str(&format!(
            "  later points moved by {} s\n",
            short(timing.skipped_time)
        ));
    }
    let steps = ("a step takes", timing.step_time);
    let points = ("a point in time comes late by", timing.jitter);
    for (name, Durations { p50, p99, max }) in [steps, points] {
        text.push_str(&format!(
            "  {name}: {} (median), {} (99 %), {} (longest)\n",
            span(p50),
            span(p99),
            span(max)
        ));
    }
    text
}

/// A duration with three digits, in the unit that fits it.
fn span(seconds: f64) -> String {
    let (factor, unit) = match seconds {
        _ if seconds < 1e-6 => (1e9, "ns"),
        _ if seconds < 1e-3 => (1e6, "µs"),
        _ if seconds < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    let digits = format!("{:.2e}", factor * seconds);
    format!("{} {unit}", short(digits.parse().unwrap_or(f64::NAN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_for_people() {
        let durations = |p50, p99, max| Durations { p50, p99, max };
        let timing = TimingReport {
            factor: 1.0,
            overrun_policy: "skip",
            points: 60_000,
            overruns: 2,
            max_delay: 0.0123456,
            skipped_time: 0.014,
            jitter: durations(7.7e-8, 1.04e-7, 2e-6),
            step_time: durations(1.23456e-5, 9.876e-4, 1.5),
        };
        insta::assert_snapshot!(lines(&timing), @r"
        real time: 60000 communication points, 2 too late, by at most 12.3 ms
          later points moved by 0.014 s
          a step takes: 12.3 µs (median), 988 µs (99 %), 1.5 s (longest)
          a point in time comes late by: 77 ns (median), 104 ns (99 %), 2 µs (longest)
        ");
        let timing = TimingReport {
            overruns: 0,
            skipped_time: 0.0,
            ..timing
        };
        assert!(
            lines(&timing)
                .starts_with("real time: 60000 communication points, none too late\n  a step")
        );
    }
}
