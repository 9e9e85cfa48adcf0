//! Judges a run while it goes on.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gyrator::graph::Graph;
use gyrator::observer::{ObserverError, StopRequest, Watch};
use gyrator::{Observer, Report, StopReason, View};
use gyrator_record::is_same_time;
use gyrator_system::{Problem, Problems, Spanned};

use super::finding::{Finding, with_unlike_names};
use super::place::{Offer, Place, Probe};
use super::{Check, Checks, End, Judge, Quantity, Violation, short};

/// The checks of a run, with what has been seen of it so far: some numbers a check, however long the run is.
pub struct Judging {
    cases: Arc<Mutex<Vec<Case>>>,
    watches: Vec<String>,
}

/// A check of one signal, bond, component or run.
struct Case {
    check: Check,
    place: Place,
    from: f64,
    until: f64,
    /// Macro-step, s.
    step: f64,
    judge: Box<dyn Judge>,
    points: u64,
    /// The first time at which the value was not a number, s.
    not_a_number: Option<f64>,
}

impl Judging {
    /// Finds what the checks are about in a system that runs from `start` to `stop`, s; without a stop time where
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
                    let case = |place| Case::new(check, place, step);
                    cases.extend(places.into_iter().map(case));
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

    /// The findings at the end of the run, in the order of the checks. `report` is that of the run.
    pub fn conclude(&self, report: &Report) -> Vec<Finding> {
        let cases = lock(&self.cases);
        with_unlike_names(cases.iter().map(|case| case.conclude(report)).collect())
    }
}

fn lock(cases: &Mutex<Vec<Case>>) -> MutexGuard<'_, Vec<Case>> {
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

impl Case {
    fn new(check: &Check, place: Place, step: f64) -> Self {
        let window = check.window();
        let value = |time: Option<Spanned<f64>>| time.map(|time| time.value);
        Self {
            from: value(window.from).unwrap_or(f64::NEG_INFINITY),
            until: value(window.until).unwrap_or(f64::INFINITY),
            step,
            judge: check.requirement.judge(),
            check: check.clone(),
            place,
            points: 0,
            not_a_number: None,
        }
    }

    fn see(&mut self, view: &View<'_>) {
        let time = view.time;
        let is_end = |end: f64| is_same_time(time, end, self.step);
        let is_within = self.from <= time && time <= self.until;
        let is_in = is_within || is_end(self.from) || is_end(self.until);
        if !is_in || matches!(self.place.probe, Probe::Report) {
            return;
        }
        self.points += 1;
        let value = self.place.probe.value(view);
        if value.is_nan() {
            self.not_a_number.get_or_insert(time);
        } else {
            self.judge.see(time, value);
        }
    }

    fn conclude(&self, report: &Report) -> Finding {
        let (check, subject) = (&self.check, &*self.place.subject);
        let violation = self.violation(report);
        if let Some(violation) = violation.clone().filter(|violation| violation.is_definite) {
            return Finding::failed(check, subject, violation);
        }
        if let Some(why) = self.interrupted(report) {
            return Finding::not_judged(check, subject, why);
        }
        match violation.or_else(|| self.unseen(report)) {
            Some(violation) => Finding::failed(check, subject, violation),
            None => Finding::passed(check, subject),
        }
    }

    fn violation(&self, report: &Report) -> Option<Violation> {
        if let Some(time) = self.not_a_number {
            let words = self.check.requirement.not_a_number();
            return Some(Violation {
                text: format!("{words} at t = {} s", short(time)),
                value: None,
                time: Some(time),
                excess: None,
                is_definite: true,
            });
        }
        if self.points == 0 && !matches!(self.place.probe, Probe::Report) {
            return None;
        }
        let bond = self.place.bond;
        self.judge.violation(&End { report, bond })
    }

    /// Whether the run came to the end of the window.
    fn is_over(&self, report: &Report) -> bool {
        let end = report.stop_time;
        end >= self.until || is_same_time(end, self.until, self.step)
    }

    /// Why the run ended before the end of the window, where it ended so as it should not.
    fn interrupted(&self, report: &Report) -> Option<String> {
        let at = short(report.stop_time);
        let why = match &report.stop_reason {
            StopReason::StopTime | StopReason::Terminated => return None,
            StopReason::Failed(text) => format!("the run failed: {text}"),
            StopReason::Limit(text) => format!("a limit ended the run at t = {at} s: {text}"),
            StopReason::Interrupted => format!("the run was interrupted at t = {at} s"),
            StopReason::Stopped => format!("the run was stopped at t = {at} s"),
            StopReason::Running => format!("the run is at t = {at} s and goes on"),
        };
        let needs_end = matches!(self.check.kind.quantity, Quantity::Report);
        (!self.is_over(report) || needs_end).then_some(why)
    }

    /// The part of the window that the run does not have.
    fn unseen(&self, report: &Report) -> Option<Violation> {
        if matches!(self.place.probe, Probe::Report) {
            return None;
        }
        let is_cut = self.until.is_finite() && !self.is_over(report)
            || report.stop_time < self.from && self.points == 0;
        let at = short(report.stop_time);
        let text = match (self.points, is_cut) {
            (0, false) => "has no communication point in the window".to_owned(),
            (_, true) => format!("is known until t = {at} s only, where the run ended"),
            _ => return None,
        };
        Some(Violation {
            text,
            value: None,
            time: None,
            excess: None,
            is_definite: false,
        })
    }
}

/// Sees the run.
struct Watcher {
    cases: Arc<Mutex<Vec<Case>>>,
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
