//! Where the time of a run goes: by component and operation, and by operation of the step plan.
//!
//! A [`Profile`] measures the calls of units that it [wraps](Profile::units), and the rest of the macro-steps of a run
//! that it is [given to](crate::Run::profile). Every measured stretch has its own time only: less the stretches within it
//! on the same thread, so that the times of a run on one thread add up to its time on the clock. A run without a profile
//! reads no clock.
//!
//! All calls are counted. The first 64 macro-steps are timed, and of the others one in 16, which stands for those around it. Calls
//! that take more than 1 µs and what observers do are always timed. FMUs that are called together stay together
//! (`groups.rs`).
//!
//! ```
//! use gyrator::profile::Profile;
//! use gyrator::{LinearUnit, RunOptions, System};
//!
//! let decay = LinearUnit::new(&[1.0], &["u"], &["y"], [&[-1.0], &[1.0], &[1.0], &[0.0]]);
//! let profile = Profile::new();
//! let mut system = System::new(0.1);
//! system.add("decay", profile.unit("decay", decay));
//! let mut run = system.start(&RunOptions::default())?;
//! run.profile(&profile);
//! for _ in 0..10 {
//!     run.step()?;
//! }
//! let report = profile.report();
//! let of_decay = report.operations.iter().filter(|time| time.component.as_deref() == Some("decay"));
//! let steps = of_decay.clone().find(|time| time.operation == "step");
//! assert_eq!((report.macro_steps, steps.unwrap().calls), (10, 10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod acts;
mod calls;
mod groups;
mod sampling;
mod trace;
mod units;

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use acts::ActTimes;
pub(crate) use acts::{Acts, Probe, Unprofiled};
use calls::{Call, Calls};
use groups::GroupCalls;
pub(crate) use groups::{GroupCall, GroupProfile};
use sampling::{SharedTiming, Stands, Tally, Timing};
use trace::Trace;
pub use trace::TraceEvent;
pub use units::{ProfiledUnit, ProfiledUnits, Waits};

use crate::unit::Unit;

/// Events that a trace keeps at most.
pub const MOST_EVENTS: usize = 200_000;

/// Stretches that are measured to find out what measuring costs, and how often: the least counts, because another program
/// may have the core in between.
const TRIALS: u32 = 100;
const BATCHES: u32 = 20;

/// Times of a run, by component and operation; clones share them.
#[derive(Clone)]
pub struct Profile(Arc<Shared>);

struct Shared {
    clock: Clock,
    components: Mutex<Vec<Arc<Calls>>>,
    groups: Mutex<Vec<Arc<GroupCalls>>>,
    acts: Mutex<ActTimes>,
    trace: Option<Mutex<Trace>>,
    timing: SharedTiming,
    /// Time that measuring a stretch takes, ns.
    price: f64,
}

enum Clock {
    System(Instant),
    Own(Box<dyn Fn() -> Duration + Send + Sync>),
}

/// A stretch that goes on.
#[must_use]
struct Begun {
    /// Time of the stretches that have ended before, within the one around it, ns.
    before: u64,
    begin: u64,
}

/// A measured stretch, ns since the profile was made.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    begin: u64,
    end: u64,
    /// Without the stretches within it.
    own: u64,
}

thread_local! {
    /// Time of the stretches that have ended within the one that goes on, ns.
    static WITHIN: Cell<u64> = const { Cell::new(0) };
}

/// Time of an operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OperationTime {
    /// The component; `None` for the run itself.
    pub component: Option<String>,
    /// The operation: `set`, `step`, `get`, `wait` and others for a component; for the run itself an operation of the
    /// [plan](crate::run::plan), `ledger`, what [observers](crate::observer::Observer::activity) do, or `other`.
    pub operation: &'static str,
    /// How often, exactly.
    pub calls: u64,
    /// Time of all of them, without other operations within them, s. It is estimated from those that were timed.
    pub seconds: f64,
}

/// Sums of a component over the macro-steps, s.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComponentTime {
    /// The component.
    pub component: String,
    /// Time of its calls: on the machine that hosts it if that has measured it, otherwise in this process without
    /// its waiting time.
    pub compute: f64,
    /// Time in which the run waits for another process or machine.
    pub wait: f64,
    /// Part of the waiting in which the other machine does not compute; `None` for components on this machine.
    pub transfer: Option<f64>,
}

/// Where the time of a run went.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProfileReport {
    /// Macro-steps that were measured.
    pub macro_steps: u64,
    /// Time of all of them on the clock, s, estimated from those that were timed.
    pub seconds: f64,
    /// Estimate of how much of it was spent on measuring, s: stretches times what one takes by itself. The wrappers
    /// around units cost a little more.
    pub measuring_seconds: f64,
    /// Times of the components, in the order in which they were made, then of the run itself.
    pub operations: Vec<OperationTime>,
    /// Sums of the components, in the order in which they were made.
    pub components: Vec<ComponentTime>,
}

impl Default for Profile {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Profile").finish_non_exhaustive()
    }
}

impl Profile {
    /// Of sums.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Clock::System(Instant::now()), None)
    }

    /// Of sums, and of single events, of which at most [`MOST_EVENTS`] are kept: all of a short run, or every
    /// second, fourth, … macro-step of a longer one.
    #[must_use]
    pub fn with_trace() -> Self {
        Self::of(Clock::System(Instant::now()), Some(MOST_EVENTS))
    }

    /// As [`new`](Self::new), or as [`with_trace`](Self::with_trace) with another limit of events, by a clock of the
    /// caller's that never goes back.
    #[must_use]
    pub fn by_clock(
        clock: impl Fn() -> Duration + Send + Sync + 'static,
        most_events: Option<usize>,
    ) -> Self {
        Self::of(Clock::Own(Box::new(clock)), most_events)
    }

    fn of(clock: Clock, most_events: Option<usize>) -> Self {
        let trace = || most_events.map(|most| Mutex::new(Trace::new(most)));
        let mut shared = Shared {
            clock,
            components: Mutex::default(),
            groups: Mutex::default(),
            acts: Mutex::default(),
            trace: trace(),
            timing: SharedTiming::new(),
            price: 0.0,
        };
        shared.price = shared.measured_price();
        shared.trace = trace();
        Self(Arc::new(shared))
    }

    /// A unit whose calls are measured, under the name of its component.
    pub fn unit<U: Unit + 'static>(
        &self,
        component: &str,
        unit: U,
    ) -> impl Unit + 'static + use<U> {
        ProfiledUnit::new(unit, self, self.calls(component))
    }

    /// Makes the units of `inner`, with FMUs whose calls are measured.
    pub fn units<M>(&self, inner: M) -> ProfiledUnits<M> {
        ProfiledUnits::new(inner, Some(self.clone()))
    }

    /// Measures the time in which calls of a component's unit wait for another process or thread: a part of the calls that
    /// is reported by itself. For units that do not compute by themselves.
    pub fn waits(&self, component: &str) -> Waits {
        Waits::new(self.clone(), self.calls(component))
    }

    /// The times so far.
    pub fn report(&self) -> ProfileReport {
        let (components, groups) = (lock(&self.0.components), lock(&self.0.groups));
        let times = |calls: &Arc<Calls>| calls.times(|call| in_groups(&groups, calls, call));
        let mut operations: Vec<OperationTime> = components.iter().flat_map(times).collect();
        let sums = |calls: &Arc<Calls>| calls.sums(|call| in_groups(&groups, calls, call));
        let sums = components.iter().map(sums).collect();
        let alone: u64 = components.iter().map(|calls| calls.stretches()).sum();
        let together: u64 = groups.iter().map(|calls| calls.stretches()).sum();
        drop((components, groups));
        let acts = lock(&self.0.acts);
        operations.extend(acts.times());
        let stretches = alone + together + acts.stretches();
        ProfileReport {
            macro_steps: acts.macro_steps().calls(),
            seconds: acts.macro_steps().seconds(),
            measuring_seconds: 1e-9 * self.0.price * stretches as f64,
            operations,
            components: sums,
        }
    }

    /// The single events, in the order in which they began, on each thread by itself; those around others before these.
    /// Empty without a trace.
    pub fn events(&self) -> Vec<TraceEvent> {
        let Some(trace) = &self.0.trace else {
            return Vec::new();
        };
        let components = lock(&self.0.components);
        let names: Vec<&str> = components.iter().map(|calls| calls.component()).collect();
        lock(trace).events(&names)
    }

    /// Every so many macro-steps have been kept in the [events](Self::events): 1 is all of them.
    pub fn traced_interval(&self) -> u64 {
        let trace = self.0.trace.as_ref();
        trace.map_or(1, |trace| lock(trace).interval())
    }

    /// The calls of a component.
    fn calls(&self, component: &str) -> Arc<Calls> {
        let mut all = lock(&self.0.components);
        if let Some(calls) = all.iter().find(|calls| calls.component() == component) {
            return Arc::clone(calls);
        }
        let number = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let calls = Arc::new(Calls::new(component, number));
        all.push(Arc::clone(&calls));
        calls
    }
}

impl Shared {
    /// Time since the profile was made, ns.
    #[inline]
    fn now(&self) -> u64 {
        let time = match &self.clock {
            Clock::System(begin) => begin.elapsed(),
            Clock::Own(clock) => clock(),
        };
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
    }

    #[inline]
    fn begin(&self) -> Begun {
        let before = WITHIN.replace(0);
        let begin = self.now();
        Begun { before, begin }
    }

    #[inline]
    fn end(&self, begun: Begun) -> Stretch {
        let Begun { before, begin } = begun;
        let end = self.now().max(begin);
        // What stands for others is without the looks at the clock, which the others do not have: one within it, one around it.
        let look = match self.timing.get() {
            Timing::Sample => (0.5 * self.price) as u64,
            Timing::All | Timing::Long => 0,
        };
        let own = (end - begin).saturating_sub(WITHIN.get() + look);
        WITHIN.set(before + (end - begin) + look);
        Stretch { begin, end, own }
    }

    /// Measures an act.
    #[inline]
    fn measure<T>(&self, act: impl FnOnce() -> T) -> (T, Stretch) {
        let begun = self.begin();
        let result = act();
        (result, self.end(begun))
    }

    /// Begins the macro-step of this number. Those that the trace keeps are timed.
    fn begin_macro_step(&self, number: u64, time: f64) -> Timing {
        let mut timing = Timing::of(number);
        if let Some(trace) = &self.trace {
            let is_kept = lock(trace).begin_macro_step(number, time);
            if is_kept {
                timing = Timing::All;
            }
        }
        self.timing.set(timing);
        timing
    }

    fn end_macro_step(&self) {
        self.timing.set(Timing::All);
        if let Some(trace) = &self.trace {
            lock(trace).end_macro_step();
        }
    }

    /// Adds an event to the trace, if there is one.
    #[inline]
    fn trace(&self, component: Option<u32>, operation: &'static str, stretch: Stretch) {
        if let Some(trace) = &self.trace {
            lock(trace).add(component, operation, stretch);
        }
    }

    /// Time that measuring a stretch takes, ns.
    fn measured_price(&self) -> f64 {
        let tally = Tally::default();
        let before = WITHIN.get();
        let batch = |_| {
            let begin = self.now();
            for _ in 0..TRIALS {
                let ((), stretch) = self.measure(|| {});
                tally.count();
                tally.add(Stands::Alone, stretch.own);
                self.trace(None, "trial", stretch);
            }
            self.now().saturating_sub(begin)
        };
        let least = (0..BATCHES).map(batch).min().unwrap_or(0);
        WITHIN.set(before);
        least as f64 / f64::from(TRIALS)
    }
}

/// Calls of a component that were made together with others, and their time, s.
fn in_groups(groups: &[Arc<GroupCalls>], calls: &Arc<Calls>, call: Call) -> (u64, f64) {
    let parts = groups.iter().map(|group| group.of(calls, call));
    parts.fold((0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
}

/// Nothing that is kept is broken by a panic between two changes.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn seconds(nanoseconds: u64) -> f64 {
    1e-9 * nanoseconds as f64
}

#[cfg(test)]
mod tests;
