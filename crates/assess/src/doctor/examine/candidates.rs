//! The couplings that are tried: each word of the registries alone, and the best ones together.

use serde::Serialize;

use super::Examination;
use crate::doctor::accuracy::error_against;
use crate::doctor::coupling::{Coupling, INTERFACE_ORDER, single_changes};
use crate::doctor::probe::{Course, ExamineError, ProbeFailure};

// The numbers are choices. The studies (docs/doctor-method.md) judge them by their result: that no proposal is worse.

/// Words of each key that are tried together.
const TOGETHER: usize = 2;
/// Combinations that are tried, at most.
const MOST_TOGETHER: usize = 6;

/// A coupling that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// The words that differ from the file's.
    pub coupling: Coupling,
    /// The greatest relative error of a signal at the macro-step of the file.
    pub relative_error: Option<f64>,
    /// Communication steps of units in a macro-step: the cost, whatever the machine.
    pub unit_steps: Option<f64>,
    /// Time of a macro-step on this machine, s.
    pub seconds_per_step: Option<f64>,
    /// The macro-step for the wanted error, s, of those whose order was looked at.
    pub step_for: Option<f64>,
    /// The words of a candidate with the same results.
    pub same_as: Option<String>,
    /// How much a disturbance grows until the last quarter of the run, if it was looked at.
    pub growth: Option<f64>,
    /// Why it cannot be used.
    pub refusal: Option<String>,
}

impl Examination<'_, '_> {
    /// Tries each word alone, and the best ones together.
    pub(super) fn candidates(&mut self) -> Result<Vec<Candidate>, ExamineError> {
        let given = Coupling::default();
        let mut tried: Vec<(Candidate, Option<Course>)> = Vec::new();
        self.attempt(given, &mut tried)?;
        if self.courses.is_none() || self.wiring.connections.is_empty() {
            return Ok(tried.into_iter().map(|(candidate, _)| candidate).collect());
        }
        for change in single_changes(&self.given, &self.options.registries) {
            self.attempt(change, &mut tried)?;
        }
        for together in combinations(&tried) {
            self.attempt(together, &mut tried)?;
        }
        Ok(tried.into_iter().map(|(candidate, _)| candidate).collect())
    }

    fn attempt(
        &mut self,
        coupling: Coupling,
        tried: &mut Vec<(Candidate, Option<Course>)>,
    ) -> Result<(), ExamineError> {
        let mut candidate = Candidate {
            coupling: coupling.clone(),
            relative_error: None,
            unit_steps: None,
            seconds_per_step: None,
            step_for: None,
            same_as: None,
            growth: None,
            refusal: None,
        };
        let known = self.courses.as_ref().and_then(|courses| courses.at.clone());
        let found = match known.filter(|_| coupling.is_unchanged()) {
            Some(course) => Ok(course),
            None => self
                .prober
                .run(&coupling.applied(&self.given), 1.0, self.points, None),
        };
        let course = match found {
            Ok(course) => Some(course),
            Err(ProbeFailure::Interrupted) => return Err(ExamineError::Interrupted),
            Err(ProbeFailure::Spent) => return Ok(()),
            Err(ProbeFailure::Refused(reason) | ProbeFailure::Failed(reason)) => {
                candidate.refusal = Some(reason);
                None
            }
        };
        if let Some(course) = &course {
            candidate.unit_steps = Some(course.unit_steps);
            candidate.seconds_per_step = Some(course.seconds);
            let same = tried.iter().find(|(_, other)| {
                other
                    .as_ref()
                    .is_some_and(|other| other.rows == course.rows)
            });
            candidate.same_as = same.map(|(other, _)| other.coupling.to_string());
            if let Some(courses) = &self.courses {
                let moving = courses.accuracy.relative_error.is_some();
                let error = error_against(course, 1, &courses.truth);
                candidate.relative_error =
                    moving.then_some(error).filter(|error| error.is_finite());
            }
        }
        tried.push((candidate, course));
        Ok(())
    }
}

/// The best words of each key together.
fn combinations(tried: &[(Candidate, Option<Course>)]) -> Vec<Coupling> {
    let given = tried[0].0.relative_error.unwrap_or(f64::INFINITY);
    let is_of = |key: &str, coupling: &Coupling| {
        let mut words = coupling.words();
        words.next().is_some_and(|(found, _)| found == key) && words.next().is_none()
    };
    let best = |key: &str| {
        let candidates = tried.iter().map(|(candidate, _)| candidate);
        let mut found: Vec<&Candidate> = candidates
            .filter(|candidate| candidate.same_as.is_none() && is_of(key, &candidate.coupling))
            .filter(|candidate| {
                candidate
                    .relative_error
                    .is_some_and(|error| error < 1.5 * given)
            })
            .collect();
        let error = |candidate: &Candidate| candidate.relative_error.unwrap_or(f64::INFINITY);
        found.sort_by(|a, b| error(a).total_cmp(&error(b)));
        found
            .into_iter()
            .take(TOGETHER)
            .map(|candidate| candidate.coupling.clone())
            .collect::<Vec<_>>()
    };
    let mut together: Vec<Coupling> = vec![Coupling::default()];
    for key in [
        "extrapolation",
        "method",
        "exchange",
        "correction",
        INTERFACE_ORDER,
    ] {
        let words = best(key);
        let more: Vec<Coupling> = together
            .iter()
            .flat_map(|coupling| words.iter().map(|word| coupling.with(word)))
            .collect();
        together.extend(more);
    }
    together.retain(|coupling| coupling.words().count() > 1);
    together.truncate(MOST_TOGETHER);
    together
}
