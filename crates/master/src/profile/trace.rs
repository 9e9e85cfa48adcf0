//! Single events of a profile, of which a bounded number is kept.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::Stretch;

/// Word of a macro-step as an event.
pub(super) const MACRO_STEP: &str = "macro-step";

/// Something that was done once.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TraceEvent {
    /// The component; `None` for the run itself.
    pub component: Option<String>,
    /// The operation: as [`OperationTime::operation`](super::OperationTime::operation), or `macro-step`.
    pub operation: &'static str,
    /// Number of the thread that did it, from 0 on in the order of their first events in this process.
    pub thread: u32,
    /// When it began, since the profile was made.
    pub begin: Duration,
    /// When it ended.
    pub end: Duration,
    /// Number of the macro-step in which it was done, from 0 on, and the simulated time of its begin, s; `None` outside of
    /// macro-steps.
    pub macro_step: Option<(u64, f64)>,
}

/// The events that are kept.
#[derive(Debug)]
pub(super) struct Trace {
    events: Vec<Event>,
    most: usize,
    /// The macro-step in progress.
    macro_step: Option<(u64, f64)>,
    /// Events of every so many macro-steps are kept.
    interval: u64,
}

#[derive(Debug, Clone, Copy)]
struct Event {
    /// Place of the component in the profile.
    component: Option<u32>,
    operation: &'static str,
    thread: u32,
    begin: u64,
    end: u64,
    macro_step: Option<(u64, f64)>,
}

static THREADS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static THREAD: u32 = THREADS.fetch_add(1, Ordering::Relaxed);
}

impl Trace {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            events: Vec::new(),
            most,
            macro_step: None,
            interval: 1,
        }
    }

    pub(super) const fn interval(&self) -> u64 {
        self.interval
    }

    /// Whether its events are kept.
    pub(super) const fn begin_macro_step(&mut self, number: u64, time: f64) -> bool {
        self.macro_step = Some((number, time));
        number.is_multiple_of(self.interval)
    }

    pub(super) const fn end_macro_step(&mut self) {
        self.macro_step = None;
    }

    pub(super) fn add(
        &mut self,
        component: Option<u32>,
        operation: &'static str,
        stretch: Stretch,
    ) {
        if !is_kept(self.macro_step, self.interval) {
            return;
        }
        if self.events.len() >= self.most {
            self.thin_out();
            if self.events.len() >= self.most || !is_kept(self.macro_step, self.interval) {
                return;
            }
        }
        self.events.push(Event {
            component,
            operation,
            thread: THREAD.with(|thread| *thread),
            begin: stretch.begin,
            end: stretch.end,
            macro_step: self.macro_step,
        });
    }

    /// Keeps every second one of the macro-steps that are kept, and will be: the whole course of a long run remains.
    fn thin_out(&mut self) {
        self.interval = self.interval.saturating_mul(2);
        let interval = self.interval;
        self.events
            .retain(|event| is_kept(event.macro_step, interval));
    }

    /// The events; `components` are the names of those that they refer to.
    pub(super) fn events(&self, components: &[&str]) -> Vec<TraceEvent> {
        let mut events = self.events.clone();
        // Those around others were added after these.
        events.reverse();
        events.sort_by_key(|event| (event.thread, event.begin, Reverse(event.end)));
        let name = |place: u32| components.get(place as usize).map(|&name| name.to_owned());
        let shown = events.into_iter().map(|event| TraceEvent {
            component: event.component.and_then(name),
            operation: event.operation,
            thread: event.thread,
            begin: Duration::from_nanos(event.begin),
            end: Duration::from_nanos(event.end),
            macro_step: event.macro_step,
        });
        shown.collect()
    }
}

fn is_kept(macro_step: Option<(u64, f64)>, interval: u64) -> bool {
    macro_step.is_none_or(|(number, _)| number % interval == 0)
}
