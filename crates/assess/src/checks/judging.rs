//! Judges a run while it goes on.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gyrator::graph::Graph;
use gyrator::observer::{ObserverError, StopRequest, Watch};
use gyrator::{Observer, Report, View};
use gyrator_record::is_same_time;
use gyrator_system::{Problem, Problems, Spanned};

use super::case::{Case, Known};
use super::finding::{Finding, with_unlike_names};
use super::place::{Offer, Place, Probe};
use super::{Check, Checks, RunEnd};

/// The checks of a run, with what has been seen of it so far: some numbers a check, however long the run is.
pub struct Judging {
    cases: Arc<Mutex<Vec<Seen>>>,
    watches: Vec<String>,
}

/// A check of one signal, bond, component or run, and where its value is found.
struct Seen {
    case: Case,
    probe: Probe,
}

impl Judging {
    /// Finds what the checks are about in a system that runs from `start` to `stop`, s; without a stop time if
    /// `None`.
    ///
    /// # Errors
    /// All names and patterns that nothing has, and windows that are not within the run.
    pub fn new(
        checks: &Checks,
        graph: &Graph,
        start: f64,
        stop: Option<f64>,
    ) -> Result<Self, Problems> {
        let mut offer = Offer::new(graph);
        let (mut cases, mut list) = (Vec::new(), Vec::new());
        let step = graph.macro_step();
        let run = (start, stop.unwrap_or(f64::INFINITY), step);
        for check in &checks.list {
            list.extend(outside(check, run));
            match offer.places(check) {
                Ok(places) => {
                    let seen = |place: Place| Seen {
                        case: Case::new(check, place.subject, place.bond, step),
                        probe: place.probe,
                    };
                    cases.extend(places.into_iter().map(seen));
                }
                Err(problem) => list.push(problem),
            }
        }
        if !list.is_empty() {
            list.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
            let source = Arc::clone(&checks.source);
            return Err(Problems { source, list });
        }
        Ok(Self {
            cases: Arc::new(Mutex::new(cases)),
            watches: offer.watches,
        })
    }

    /// An observer through which the checks see the run. A run has one of them.
    pub fn observer(&self) -> impl Observer + use<> {
        Watcher {
            cases: Arc::clone(&self.cases),
            watches: self.watches.clone(),
        }
    }

    /// The findings at the end of the run, in the order of the checks. `report` is the run's.
    pub fn conclude(&self, report: &Report) -> Vec<Finding> {
        let run = RunEnd::from(report);
        let end = Known {
            run: &run,
            until: report.stop_time,
            interruption: run.interruption(),
        };
        let cases = lock(&self.cases);
        let findings = cases.iter().map(|seen| seen.case.conclude(&end));
        with_unlike_names(findings.collect())
    }
}

fn lock(cases: &Mutex<Vec<Seen>>) -> MutexGuard<'_, Vec<Seen>> {
    cases.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ends of the window that are not within the run.
fn outside(check: &Check, (start, stop, step): (f64, f64, f64)) -> Vec<Problem> {
    let window = check.window();
    let is_outside = |time: f64| {
        let is_end = is_same_time(time, start, step) || is_same_time(time, stop, step);
        (time < start || time > stop) && !is_end
    };
    let problem = |(word, time): (&str, &Spanned<f64>)| {
        let message = format!(
            "the check {word} at {} s, and the run is from {start} s to {stop} s",
            time.value
        );
        Problem::error("outside-the-run", message).at(&time.span)
    };
    let ends = [("begins", &window.from), ("ends", &window.until)];
    let given = ends
        .iter()
        .filter_map(|(word, time)| Some((*word, time.as_ref()?)));
    let found = given.filter(|(_, time)| is_outside(time.value));
    found.map(problem).collect()
}

impl Seen {
    fn see(&mut self, view: &View<'_>) {
        if !matches!(self.probe, Probe::Report) {
            self.case.see(view.time, || self.probe.value(view));
        }
    }
}

/// Sees the run.
struct Watcher {
    cases: Arc<Mutex<Vec<Seen>>>,
    watches: Vec<String>,
}

impl Watcher {
    fn see(&self, view: &View<'_>) -> ControlFlow<StopRequest> {
        for case in lock(&self.cases).iter_mut() {
            case.see(view);
        }
        ControlFlow::Continue(())
    }
}

impl Observer for Watcher {
    fn activity(&self) -> &'static str {
        "check"
    }

    fn watches(&mut self, _: &View<'_>) -> Result<Vec<Watch>, ObserverError> {
        Ok(self.watches.iter().map(Watch::each).collect())
    }

    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        Ok(self.see(view))
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        Ok(self.see(view))
    }
}
