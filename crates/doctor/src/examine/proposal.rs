//! The coupling that is proposed: the best candidate that is stable and, in runs beside the given system, no worse.

use serde::Serialize;

use super::{Candidate, Examination, whole_steps};
use crate::accuracy::error_against;
use crate::coupling::Coupling;
use crate::probe::{ExamineError, ProbeFailure};
use crate::stability::Stability;
use crate::verification::{Verification, verify};

// Numbers without a reason are choices. The study of fifty systems (docs/doctor.md) judges them by their result: how near the
// limits of stability are to those of whole runs, that no proposal is worse, and the cost.

/// Macro-steps of the runs that verify a proposal.
const VERIFIED: usize = 72;
/// Steps of the runs that verify a proposal, for each macro-step: at H, H/2 and H/4, and of the proposal.
const RUNS_OF_VERIFICATION: f64 = 8.0;
/// A coupling whose error at the same cost is not smaller by this factor is not proposed: choices that hardly differ.
const BETTER: f64 = 0.8;
/// The macro-step that is proposed over the largest stable one, at most.
const MARGIN: f64 = 0.5;
/// The macro-step for a wanted error over the one that its order gives.
const MARGIN_OF_ERROR: f64 = 0.9;
/// Factors of the macro-step that are proposed, at most and, inverted, at least.
const FURTHEST: f64 = 16.0;
/// The same of those that are shown.
const FURTHEST_STEP: f64 = 64.0;
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
        let finalists = self.finalists(candidates);
        if let Some(given) = candidates.first_mut() {
            given.growth = growth_at(stability, self.step);
        }
        if let Some(wanted) = self.options.wanted {
            return self.proposal_for(wanted, candidates, &finalists, stability);
        }
        let mut found: Vec<(f64, Coupling)> = Vec::new();
        for index in finalists {
            let coupling = candidates[index].coupling.clone();
            let system = coupling.applied(&self.given);
            let of_finalist = self.stability(&system, 1.0, false)?;
            candidates[index].growth = growth_at(&of_finalist, self.step);
            let score = over_run(&candidates[index])
                .and_then(|error| self.at_same_cost(error, &candidates[index], &candidates[0]));
            if let Some(score) = score.filter(|_| of_finalist.is_stable == Some(true)) {
                found.push((score, coupling));
            }
        }
        let of_given = candidates.first().and_then(over_run);
        let of_given = of_given.filter(|_| stability.is_stable != Some(false));
        found.retain(|(score, _)| of_given.is_none_or(|given| *score < BETTER * given));
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, coupling) in found {
            if let Some(proposal) = self.verified(&coupling, stability)? {
                return Ok(proposal);
            }
        }
        Ok(self.unchanged(stability))
    }

    /// The places of the candidates with the smallest errors at the same cost, without the given one.
    fn finalists(&self, candidates: &[Candidate]) -> Vec<usize> {
        let Some(given) = candidates.first() else {
            return Vec::new();
        };
        let others = candidates.iter().enumerate().skip(1);
        let others = others.filter(|(_, candidate)| candidate.same_as.is_none());
        let mut ranked: Vec<(f64, usize)> = others
            .filter_map(|(index, candidate)| {
                let error = candidate.relative_error?;
                Some((self.at_same_cost(error, candidate, given)?, index))
            })
            .collect();
        // Of equal ones, the one that was tried first: errors that differ in their last digits only are equal.
        ranked.sort_by(|a, b| rounded(a.0).total_cmp(&rounded(b.0)).then(a.1.cmp(&b.1)));
        ranked
            .into_iter()
            .take(FINALISTS)
            .map(|(_, index)| index)
            .collect()
    }

    /// An error with macro-steps that are longer than the given ones by as much as each costs more.
    fn at_same_cost(&self, error: f64, candidate: &Candidate, given: &Candidate) -> Option<f64> {
        let courses = self.courses.as_ref()?;
        let order = courses.accuracy.order.unwrap_or(1.0);
        let usual = given.unit_steps.unwrap_or(1.0);
        Some(error * (candidate.unit_steps? / usual).powf(order))
    }

    /// The coupling and the macro-step with the least cost that have the wanted error.
    fn proposal_for(
        &mut self,
        wanted: f64,
        candidates: &mut [Candidate],
        finalists: &[usize],
        stability: &Stability,
    ) -> Result<Proposal, ExamineError> {
        let mut plans: Vec<(f64, f64, Coupling)> = Vec::new();
        let mut is_spent = false;
        let given = (!candidates.is_empty()).then_some(0);
        for index in finalists.iter().copied().chain(given) {
            let candidate = &mut candidates[index];
            let found = self.factor_for(wanted, candidate, stability, &mut is_spent)?;
            let Some((factor, cost)) = found else {
                continue;
            };
            plans.push((cost, factor, candidate.coupling.clone()));
        }
        plans.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, factor, coupling) in plans {
            let system = coupling.applied(&self.given);
            let is_stable = self.stability(&system, factor, false)?.is_stable;
            is_spent |= is_stable.is_none();
            if is_stable != Some(true) {
                continue;
            }
            let Some(steps) = self.verified_steps(&coupling) else {
                is_spent = true;
                continue;
            };
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
                Err(failure) => {
                    is_spent |= matches!(failure, ProbeFailure::Spent);
                    continue;
                }
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
        let reason = match is_spent {
            true => {
                "there are no steps or no time left to verify another macro-step for the wanted error: give more by \
                 --probe-steps or --time-limit"
            }
            false => "nothing was found that has the wanted error",
        };
        Ok(Proposal {
            reason: reason.to_owned(),
            ..self.unchanged(stability)
        })
    }

    /// The macro-step of a candidate for a wanted error, over that of the system, and its cost; `is_spent` where no run is
    /// left to find it.
    fn factor_for(
        &mut self,
        wanted: f64,
        candidate: &mut Candidate,
        stability: &Stability,
        is_spent: &mut bool,
    ) -> Result<Option<(f64, f64)>, ExamineError> {
        let (Some(error), Some(steps)) = (candidate.relative_error, candidate.unit_steps) else {
            return Ok(None);
        };
        let system = candidate.coupling.applied(&self.given);
        let half = match self.prober.run(&system, 0.5, 2 * self.points, None) {
            Ok(half) => half,
            Err(ProbeFailure::Interrupted) => return Err(ExamineError::Interrupted),
            Err(failure) => {
                *is_spent |= matches!(failure, ProbeFailure::Spent);
                return Ok(None);
            }
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
        let ratio = (wanted / error).powf(order.recip());
        let is_near = ratio * FURTHEST_STEP >= 1.0;
        candidate.step_for = is_near.then_some(ratio * self.step);
        let ratio = MARGIN_OF_ERROR * ratio;
        let mut factor = match ratio >= 1.0 {
            true => ratio.floor().min(FURTHEST),
            false => ratio.recip().ceil().min(FURTHEST).recip(),
        };
        if candidate.coupling.is_unchanged()
            && let Some(largest) = stability.largest_step
        {
            factor = factor.min((largest / self.step).floor().max(FURTHEST.recip()));
        }
        Ok(Some((factor, steps / factor)))
    }

    /// Macro-steps over which a proposal is verified: of corrections, which act on what has gathered, the whole run; `None` where there
    /// are not enough left.
    fn verified_steps(&self, coupling: &Coupling) -> Option<usize> {
        let all = whole_steps(self.duration, self.step, self.wiring.stride);
        let is_corrected = coupling.correction.as_ref();
        if is_corrected.is_some_and(|word| word != "off") {
            return (all as f64 * RUNS_OF_VERIFICATION < self.prober.left()).then_some(all);
        }
        let steps =
            (VERIFIED.min(2 * self.points / self.wiring.stride) * self.wiring.stride).min(all);
        Some(steps)
    }

    fn verified(
        &mut self,
        coupling: &Coupling,
        of_given: &Stability,
    ) -> Result<Option<Proposal>, ExamineError> {
        let system = coupling.applied(&self.given);
        let Some(steps) = self.verified_steps(coupling) else {
            return Ok(None);
        };
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

/// Three digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10_f64.powf(value.abs().log10().floor() - 2.0);
    (value / unit).round() * unit
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
