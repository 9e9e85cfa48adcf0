//! A check of one signal, bond, component or run, with what has been seen of it.

use gyrator_record::is_same_time;
use gyrator_system::Spanned;

use super::finding::Finding;
use super::{Check, End, Judge, Quantity, RunEnd, Violation, short};

/// A check of one signal, bond, component or run.
pub(super) struct Case {
    check: Check,
    /// As findings call it.
    subject: String,
    /// The bond, in the order of the report.
    bond: Option<usize>,
    from: f64,
    until: f64,
    /// Macro-step, s.
    step: f64,
    judge: Box<dyn Judge>,
    points: u64,
    /// The first time at which the value was not a number, s.
    not_a_number: Option<f64>,
}

/// The end of a run, and how far it is known.
pub(super) struct Known<'a> {
    pub(super) run: &'a RunEnd,
    /// The last point that is known, s.
    pub(super) until: f64,
    /// Why it ended, if it did not end as it should.
    pub(super) interruption: Option<String>,
}

impl Case {
    pub(super) fn new(check: &Check, subject: String, bond: Option<usize>, step: f64) -> Self {
        let window = check.window();
        let value = |time: Option<Spanned<f64>>| time.map(|time| time.value);
        Self {
            from: value(window.from).unwrap_or(f64::NEG_INFINITY),
            until: value(window.until).unwrap_or(f64::INFINITY),
            step,
            judge: check.requirement.judge(),
            check: check.clone(),
            subject,
            bond,
            points: 0,
            not_a_number: None,
        }
    }

    /// Takes the value at a communication point, if that is in the window.
    pub(super) fn see(&mut self, time: f64, value: impl FnOnce() -> f64) {
        let is_end = |end: f64| is_same_time(time, end, self.step);
        let is_within = self.from <= time && time <= self.until;
        if !(is_within || is_end(self.from) || is_end(self.until)) {
            return;
        }
        self.points += 1;
        let value = value();
        if value.is_nan() {
            self.not_a_number.get_or_insert(time);
        } else {
            self.judge.see(time, value);
        }
    }

    /// The finding when no more values come.
    pub(super) fn conclude(&self, end: &Known<'_>) -> Finding {
        let (check, subject) = (&self.check, &*self.subject);
        let violation = self.violation(end);
        if let Some(violation) = violation.clone().filter(|violation| violation.is_definite) {
            return Finding::failed(check, subject, violation);
        }
        let is_cut = !self.is_over(end) || self.is_of_report();
        if let Some(why) = end.interruption.as_ref().filter(|_| is_cut) {
            return Finding::not_judged(check, subject, why.clone());
        }
        match violation.or_else(|| self.unseen(end)) {
            Some(violation) => Finding::failed(check, subject, violation),
            None => Finding::passed(check, subject),
        }
    }

    fn is_of_report(&self) -> bool {
        matches!(self.check.kind.quantity, Quantity::Report)
    }

    fn violation(&self, end: &Known<'_>) -> Option<Violation> {
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
        if self.points == 0 && !self.is_of_report() {
            return None;
        }
        let (run, bond) = (end.run, self.bond);
        self.judge.violation(&End { run, bond })
    }

    /// Whether the run came to the end of the window.
    fn is_over(&self, end: &Known<'_>) -> bool {
        end.until >= self.until || is_same_time(end.until, self.until, self.step)
    }

    /// The part of the window that the run does not have.
    fn unseen(&self, end: &Known<'_>) -> Option<Violation> {
        if self.is_of_report() {
            return None;
        }
        let is_cut = self.until.is_finite() && !self.is_over(end)
            || end.until < self.from && self.points == 0;
        let at = short(end.until);
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
