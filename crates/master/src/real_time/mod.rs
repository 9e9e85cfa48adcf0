//! Real time: communication points come at their time on the clock of the machine.

mod clock;
mod schedule;
mod thread;
mod timing;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::observer::{Observer, ObserverError, StopRequest, View};
use crate::report::Report;
use clock::{Clock, MonotonicClock};
use schedule::Schedule;
use timing::Statistics;

pub use schedule::Overruns;
pub use thread::{StepThread, ThreadError};
pub use timing::{Durations, Timing, TimingReport};

/// How long before its deadline a wait stops sleeping, and looks at the clock only. A timer may be late by Linux' slack
/// of 50 µs (prctl(2), `PR_SET_TIMERSLACK`), and a thread takes some ten µs to come back to a core.
const SPIN: Duration = Duration::from_micros(150);

/// Longest sleep without a look at the wish to end the run.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// Keeps a run in step with the clock: an [observer](Observer) that holds the run at each communication point until its
/// time has come. Add it last, so that the work of other observers counts as work of the step.
///
/// Time t of the run comes (t − t₀)/factor seconds after the observer was added. These deadlines are absolute: a
/// delay is made up for and never adds up. A step that ends after its deadline is an *overrun*.
///
/// ```
/// use gyrator::{ClosureUnit, RunOptions, System};
/// use gyrator::real_time::RealTime;
///
/// let mut system = System::new(1e-3); // s
/// let mut x = 0.0;
/// system.add("clock", ClosureUnit::new(&[], &[("x", 0.0)], move |call| {
///     x += call.step;
///     call.outputs[0] = x;
/// }));
/// let mut run = system.start(&RunOptions::default())?;
/// let real_time = RealTime::new().factor(10.0);
/// let timing = real_time.timing();
/// run.observe(real_time)?;
/// for _ in 0..100 {
///     run.step()?; // one every 0.1 ms
/// }
/// run.stop()?;
/// let timing = timing.report().expect("the run has ended");
/// println!("{} overruns, 99 % of points at most {} s late", timing.overruns, timing.jitter.p99);
/// # assert_eq!(timing.points, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RealTime {
    factor: f64,
    overruns: Overruns,
    spin: Duration,
    thread: StepThread,
    interrupt: Option<Arc<AtomicBool>>,
    timing: Timing,
    held: Held,
    clock: Box<dyn Clock>,
    /// Since [`begin`](Observer::begin).
    pacing: Option<Pacing>,
}

/// A run on its way.
struct Pacing {
    schedule: Schedule,
    statistics: Statistics,
    /// When the step in progress began.
    released: Duration,
}

/// Time for which a program has held a run between two steps, such as a pause: all later deadlines move by it, and no step
/// took longer.
#[derive(Debug, Clone, Default)]
pub struct Held(Arc<AtomicU64>);

impl Held {
    /// Adds a stretch of time since the last step.
    pub fn add(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The time that was added since the last call.
    fn take(&self) -> Duration {
        Duration::from_nanos(self.0.swap(0, Ordering::Relaxed))
    }
}

impl Default for RealTime {
    fn default() -> Self {
        Self::new()
    }
}

impl RealTime {
    /// One simulated second a second; overruns are counted.
    pub fn new() -> Self {
        Self::with_clock(Box::new(MonotonicClock::new()))
    }

    fn with_clock(clock: Box<dyn Clock>) -> Self {
        Self {
            factor: 1.0,
            overruns: Overruns::Warn,
            spin: SPIN,
            thread: StepThread::default(),
            interrupt: None,
            timing: Timing::default(),
            held: Held::default(),
            clock,
            pacing: None,
        }
    }

    /// Simulated seconds a second, above 0: 0.5 takes twice the time.
    #[must_use]
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// Consequence of an overrun.
    #[must_use]
    pub fn overruns(mut self, overruns: Overruns) -> Self {
        self.overruns = overruns;
        self
    }

    /// How long before a deadline the thread stays on its core instead of sleeping; 150 µs unless set. 0 spares
    /// the core and comes later.
    #[must_use]
    pub fn spin(mut self, spin: Duration) -> Self {
        self.spin = spin;
        self
    }

    /// Settings of the thread that steps, applied when the observer is added, on the thread that adds it.
    #[must_use]
    pub fn thread(mut self, thread: StepThread) -> Self {
        self.thread = thread;
        self
    }

    /// Ends waits, and the run, once it is true.
    #[must_use]
    pub fn interrupt(mut self, interrupt: Arc<AtomicBool>) -> Self {
        self.interrupt = Some(interrupt);
        self
    }

    /// Takes the time for which a program holds the run.
    pub fn held(&self) -> Held {
        self.held.clone()
    }

    /// The statistics, which are there when the run has ended.
    pub fn timing(&self) -> Timing {
        self.timing.clone()
    }

    /// Waits until `deadline`; `false` if the run is to end.
    fn wait_until(&self, deadline: Duration) -> bool {
        loop {
            if self.is_interrupted() {
                return false;
            }
            let left = deadline.saturating_sub(self.clock.now());
            if left <= self.spin {
                break;
            }
            self.clock.sleep((left - self.spin).min(LONGEST_SLEEP));
        }
        while self.clock.now() < deadline {
            self.clock.spin();
        }
        true
    }

    fn is_interrupted(&self) -> bool {
        let interrupt = self.interrupt.as_ref();
        interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }
}

/// The factor is not above 0.
#[derive(Debug, thiserror::Error)]
#[error("the factor of real time is {0}: it must be above 0 and finite")]
struct WrongFactor(f64);

impl Observer for RealTime {
    fn activity(&self) -> &'static str {
        "real time"
    }

    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        if !(self.factor > 0.0 && self.factor.is_finite()) {
            return Err(Box::new(WrongFactor(self.factor)));
        }
        let statistics = Statistics::new(self.factor, self.overruns);
        self.thread.apply()?;
        let released = self.clock.now();
        self.pacing = Some(Pacing {
            schedule: Schedule::new(view.time, released, self.factor),
            statistics,
            released,
        });
        Ok(ControlFlow::Continue(()))
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        let Some(mut pacing) = self.pacing.take() else {
            return Ok(ControlFlow::Continue(()));
        };
        let now = self.clock.now();
        let Pacing {
            schedule,
            statistics,
            released,
        } = &mut pacing;
        let held = self.held.take();
        schedule.hold(held);
        *released = released.saturating_add(held);
        statistics.step(now.saturating_sub(*released));
        let deadline = schedule.deadline(view.time);
        let mut request = ControlFlow::Continue(());
        if now <= deadline {
            if self.wait_until(deadline) {
                *released = self.clock.now();
                statistics.release(released.saturating_sub(deadline));
            } else {
                request = ControlFlow::Break(StopRequest::Interrupted);
            }
        } else {
            let late = now - deadline;
            statistics.overrun(late);
            *released = now;
            match self.overruns {
                Overruns::Warn => {}
                Overruns::Skip => statistics.skip(schedule.skip(late)),
                Overruns::Stop => {
                    request = ControlFlow::Break(StopRequest::Limit(format!(
                        "the communication point t = {} s came {} s too late",
                        view.time,
                        late.as_secs_f64()
                    )));
                }
            }
        }
        self.pacing = Some(pacing);
        Ok(request)
    }

    fn finish(&mut self, _: &Report) -> Result<(), ObserverError> {
        if let Some(pacing) = self.pacing.take() {
            self.timing.set(pacing.statistics.report());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
