//! The coupling that is proposed: the best candidate that is stable and, in runs beside the given system, no worse.

use std::cmp::Ordering;

use serde::Serialize;

use super::{Candidate, Examination, whole_steps};
use crate::accuracy::error_against;
use crate::coupling::Coupling;
use crate::probe::{ExamineError, ProbeFailure};
use crate::stability::Stability;
use crate::verification::{Verification, verify};

/// Macro-steps of the runs that verify a proposal.
const VERIFIED: usize = 72;
/// A coupling whose error at the same cost is not smaller by this factor is not proposed: choices that hardly differ.
const BETTER: f64 = 0.8;
/// The macro-step that is proposed over the largest stable one, at most.
const MARGIN: f64 = 0.5;
/// The macro-step for a wanted error over the one that its order gives.
const MARGIN_OF_ERROR: f64 = 0.9;
/// Factors of the macro-step that are proposed, at most and, inverted, at least.
const FURTHEST: f64 = 16.0;
/// Candidates whose stability is looked at.
const FINALISTS: usize = 3;

/// A coupling and a macro-step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proposal {
    /// The words that differ from the file's.
    pub coupling: Coupling,
    /// Macro-step, s.
    pub step_size: f64,
    /// All communication steps over those of the file.
    pub factor: f64,
    /// Why this one.
    pub reason: String,
    /// The runs by which it was found to be no worse; `None` for the system as it is given.
    pub verification: Option<Verification>,
}

impl Examination<'_, '_> {
    /// The best candidate that is stable and, in runs beside the given system, no worse than it.
    pub(super) fn proposal(
        &mut self,
        candidates: &mut [Candidate],
        stability: &Stability,
    ) -> Result<Proposal, ExamineError> {
        let order = self
            .courses
            .as_ref()
            .and_then(|courses| courses.accuracy.order);
        let order = order.unwrap_or(1.0);
        let Some((given, others)) = candidates.split_first_mut() else {
            return Ok(self.unchanged(stability));
        };
        given.growth = growth_at(stability, self.step);
        let usual = given.unit_steps.unwrap_or(1.0);
        // With macro-steps that are longer by as much as each costs more.
        let at_same_cost = |error: f64, candidate: &Candidate| {
            Some(error * (candidate.unit_steps? / usual).powf(order))
        };
        let score = |candidate: &Candidate| at_same_cost(candidate.relative_error?, candidate);
        let mut ranked: Vec<&mut Candidate> = others
            .iter_mut()
            .filter(|candidate| candidate.same_as.is_none() && score(candidate).is_some())
            .collect();
        ranked.sort_by(|a, b| score(a).partial_cmp(&score(b)).unwrap_or(Ordering::Equal));
        let of_given = over_run(given).filter(|_| stability.is_stable != Some(false));
        let given_copy = given.clone();
        let mut found: Vec<(f64, Coupling)> = Vec::new();
        let mut finalists = Vec::new();
        for candidate in ranked.into_iter().take(FINALISTS) {
            finalists.push(candidate.clone());
            if self.options.wanted.is_some() {
                continue;
            }
            let system = candidate.coupling.applied(&self.given);
            let found_stability = self.stability(&system, 1.0, false)?;
            candidate.growth = growth_at(&found_stability, self.step);
            let score = over_run(candidate).and_then(|error| at_same_cost(error, candidate));
            if let Some(score) = score.filter(|_| found_stability.is_stable == Some(true)) {
                found.push((score, candidate.coupling.clone()));
            }
        }
        if let Some(wanted) = self.options.wanted {
            finalists.push(given_copy);
            return self.proposal_for(wanted, &finalists, stability);
        }
        found.retain(|(score, ..)| of_given.is_none_or(|given| *score < BETTER * given));
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, coupling) in found {
            if let Some(proposal) = self.verified(&coupling, stability)? {
                return Ok(proposal);
            }
        }
        Ok(self.unchanged(stability))
    }

    /// The coupling and the macro-step with the least cost that have the wanted error.
    fn proposal_for(
        &mut self,
        wanted: f64,
        finalists: &[Candidate],
        stability: &Stability,
    ) -> Result<Proposal, ExamineError> {
        let mut plans: Vec<(f64, f64, Coupling)> = Vec::new();
        for candidate in finalists {
            let Some((factor, cost)) = self.factor_for(wanted, candidate, stability)? else {
                continue;
            };
            plans.push((cost, factor, candidate.coupling.clone()));
        }
        plans.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, factor, coupling) in plans {
            let system = coupling.applied(&self.given);
            if self.stability(&system, factor, false)?.is_stable != Some(true) {
                continue;
            }
            let steps = self.verified_steps();
            let found = verify(
                &mut self.prober,
                &self.given,
                (&system, factor),
                steps,
                self.step,
            );
            let verification = match found {
                Ok(verification) => verification,
                Err(ProbeFailure::Interrupted) => return Err(ExamineError::Interrupted),
                Err(_) => continue,
            };
            if verification.proposed > wanted {
                continue;
            }
            return Ok(Proposal {
                coupling,
                step_size: factor * self.step,
                factor,
                reason: "the least cost that was found for the wanted error".to_owned(),
                verification: Some(verification),
            });
        }
        let reason = "nothing was found that has the wanted error";
        Ok(Proposal {
            reason: reason.to_owned(),
            ..self.unchanged(stability)
        })
    }

    /// The macro-step of a candidate for a wanted error, over that of the system, and its cost.
    fn factor_for(
        &mut self,
        wanted: f64,
        candidate: &Candidate,
        stability: &Stability,
    ) -> Result<Option<(f64, f64)>, ExamineError> {
        let (Some(error), Some(steps)) = (candidate.relative_error, candidate.unit_steps) else {
            return Ok(None);
        };
        let system = candidate.coupling.applied(&self.given);
        let half = match self.prober.run(&system, 0.5, 2 * self.points, None) {
            Ok(half) => half,
            Err(ProbeFailure::Interrupted) => return Err(ExamineError::Interrupted),
            Err(_) => return Ok(None),
        };
        let Some(courses) = &self.courses else {
            return Ok(None);
        };
        let order = (error / error_against(&half, 2, &courses.truth)).log2();
        // Where the order is not seen, that of held inputs.
        let order = if order.is_finite() && order > 0.5 {
            order.min(4.0)
        } else {
            1.0
        };
        let ratio = MARGIN_OF_ERROR * (wanted / error).powf(order.recip());
        let mut factor = match ratio >= 1.0 {
            true => ratio.floor().min(FURTHEST),
            false => ratio.recip().ceil().min(FURTHEST).recip(),
        };
        if candidate.coupling.is_given()
            && let Some(largest) = stability.largest_step
        {
            factor = factor.min((largest / self.step).floor().max(FURTHEST.recip()));
        }
        Ok(Some((factor, steps / factor)))
    }

    fn verified_steps(&self) -> usize {
        let all = whole_steps(self.duration, self.step, self.wiring.stride);
        (VERIFIED.min(2 * self.points / self.wiring.stride) * self.wiring.stride).min(all)
    }

    fn verified(
        &mut self,
        coupling: &Coupling,
        of_given: &Stability,
    ) -> Result<Option<Proposal>, ExamineError> {
        let system = coupling.applied(&self.given);
        let steps = self.verified_steps();
        let verified = verify(
            &mut self.prober,
            &self.given,
            (&system, 1.0),
            steps,
            self.step,
        );
        let verification = match verified {
            Ok(verification) => verification,
            Err(ProbeFailure::Interrupted) => return Err(ExamineError::Interrupted),
            Err(_) => return Ok(None),
        };
        if !verification
            .given
            .is_none_or(|given| verification.proposed <= given)
        {
            return Ok(None);
        }
        let reason = match (of_given.is_stable, verification.given) {
            (Some(false), _) | (_, None) => "stable at this macro-step, as the given system is not",
            _ => "a smaller error over the run at the same cost",
        };
        Ok(Some(Proposal {
            coupling: coupling.clone(),
            step_size: self.step,
            factor: 1.0,
            reason: reason.to_owned(),
            verification: Some(verification),
        }))
    }

    /// The given words, at a macro-step at which they are stable.
    fn unchanged(&self, stability: &Stability) -> Proposal {
        let factor = match (stability.is_stable, stability.largest_step) {
            (Some(false), Some(largest)) => (self.step / (MARGIN * largest)).ceil().recip(),
            _ => 1.0,
        };
        Proposal {
            coupling: Coupling::default(),
            step_size: factor * self.step,
            factor,
            reason: match factor < 1.0 {
                true => "no other coupling is stable at the given macro-step".to_owned(),
                false => "no other coupling was found to be better".to_owned(),
            },
            verification: None,
        }
    }
}

/// Growth at one macro-step.
fn growth_at(stability: &Stability, step: f64) -> Option<f64> {
    let mut levels = stability.levels.iter();
    let level = levels.find(|level| (level.step_size / step - 1.0).abs() < 1e-9);
    level.and_then(|level| level.growth)
}

/// The error over the run: that of the first steps, and what the coupling makes the signals grow until the end.
fn over_run(candidate: &Candidate) -> Option<f64> {
    Some(candidate.relative_error? + (candidate.growth? - 1.0))
}
