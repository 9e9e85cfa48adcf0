//! The coupling that is proposed: the best candidate that whole runs beside the given system show to be stable and no worse.

use gyrator_system::{Connection, Spanned, SystemFile};
use serde::Serialize;

use super::{Candidate, Examination, whole_steps};
use crate::doctor::accuracy::{Accuracy, error_against};
use crate::doctor::coupling::Coupling;
use crate::doctor::probe::{ExamineError, ProbeFailure};
use crate::doctor::stability::{Finding, Search, Stability};
use crate::doctor::verification::{Trial, Verification, Verifier, whole_or_inverse};

// Numbers without a reason are choices. The studies (docs/doctor-method.md) judge them by their result: that no proposal is worse.

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
    /// All communication steps relative to the file.
    pub factor: f64,
    /// Why this one.
    pub reason: String,
    /// The whole runs by which it was found to be no worse; `None` for the system as it is given.
    pub verification: Option<Verification>,
}

/// What trying a coupling by whole runs has led to.
enum Tried {
    /// It is stable and no worse.
    Better(Verification),
    /// It is not.
    Worse,
    /// No time is left for it.
    Spent,
}

impl Examination<'_, '_> {
    /// The best candidate that is stable and, in whole runs beside the given system at the same cost, no worse than it.
    pub(super) fn proposal(
        &mut self,
        candidates: &mut [Candidate],
        stability: &Stability,
    ) -> Result<Proposal, ExamineError> {
        let finalists = self.finalists(candidates);
        if let Some(given) = candidates.first_mut() {
            let mut levels = stability.levels.iter();
            let at = levels.find(|level| (level.step_size / self.step - 1.0).abs() < 1e-9);
            given.growth = at.and_then(|level| level.growth);
        }
        if let Some(wanted) = self.options.wanted {
            return self.proposal_for(wanted, candidates, &finalists, stability);
        }
        let is_unstable = stability.finding == Finding::Unstable;
        let of_given = candidates.first().and_then(|given| given.relative_error);
        let of_given = of_given.filter(|_| !is_unstable);
        for (score, index) in finalists {
            if of_given.is_some_and(|given| score >= BETTER * given) {
                break;
            }
            let verification = match self.tried(candidates, index, 1.0, stability)? {
                Tried::Better(verification) => verification,
                Tried::Worse => continue,
                Tried::Spent => return self.unchanged(stability, true),
            };
            let no_worse = |given: f64| verification.proposed <= BETTER * given;
            if !verification.given.is_none_or(no_worse) {
                continue;
            }
            let reason = match is_unstable || verification.given.is_none() {
                true => "stable at this macro-step, as the given system is not",
                false => "a smaller error over the run at the same cost",
            };
            return Ok(Proposal {
                coupling: candidates[index].coupling.clone(),
                step_size: self.step,
                factor: 1.0,
                reason: reason.to_owned(),
                verification: Some(verification),
            });
        }
        let is_late = self.prober.is_late();
        self.unchanged(stability, is_late)
    }

    /// Tries a candidate at so many times the macro-step, by whole runs.
    fn tried(
        &mut self,
        candidates: &mut [Candidate],
        index: usize,
        factor: f64,
        of_given: &Stability,
    ) -> Result<Tried, ExamineError> {
        let system = candidates[index].coupling.applied(&self.given);
        if self.wiring.has_loop() {
            let Some((finding, growth)) = self.look(&system, factor)? else {
                return Ok(Tried::Spent);
            };
            candidates[index].growth = growth;
            let is_as_stable = finding == Finding::Stable
                || finding == Finding::GrowsByItself && finding == of_given.finding;
            if !is_as_stable {
                return Ok(Tried::Worse);
            }
        }
        let [given, cost] = [0, index].map(|index| candidates[index].unit_steps.unwrap_or(1.0));
        let [given, proposed] = [
            Trial {
                system: &self.given,
                factor: whole_or_inverse(factor * given / cost),
            },
            Trial {
                system: &system,
                factor,
            },
        ];
        let steps = whole_steps(Some(self.run_time()), self.step, self.wiring.stride);
        let (courses, unknown) = (self.courses.as_ref(), Accuracy::default());
        let mut verifier = Verifier {
            prober: &mut self.prober,
            step: self.step,
            steps,
            accuracy: courses.map_or(&unknown, |courses| &courses.accuracy),
        };
        match verifier.verify(given, proposed) {
            Ok(Some(verification)) => Ok(Tried::Better(verification)),
            Err(ProbeFailure::Interrupted) => Err(ExamineError::Interrupted),
            Err(ProbeFailure::Spent) => Ok(Tried::Spent),
            Ok(None) | Err(_) => Ok(Tried::Worse),
        }
    }

    /// What whole runs of a system show at so many times the macro-step, and the growth; `None` if no time is left for them.
    fn look(
        &mut self,
        system: &SystemFile,
        factor: f64,
    ) -> Result<Option<(Finding, Option<f64>)>, ExamineError> {
        let time = self.run_time();
        let (prober, wiring) = (&mut self.prober, &self.wiring);
        let mut search = Search::new(prober, system, wiring, self.step, time);
        match search.look(factor) {
            Ok(level) => Ok(Some((level.finding, level.growth))),
            Err(ProbeFailure::Interrupted) => Err(ExamineError::Interrupted),
            Err(_) => Ok(None),
        }
    }

    /// The candidates with the smallest errors at the same cost in short runs, and their places, without the given one.
    fn finalists(&self, candidates: &[Candidate]) -> Vec<(f64, usize)> {
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
        ranked.truncate(FINALISTS);
        ranked
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
        finalists: &[(f64, usize)],
        stability: &Stability,
    ) -> Result<Proposal, ExamineError> {
        let mut plans: Vec<(f64, f64, usize)> = Vec::new();
        let mut is_spent = false;
        let finalists = finalists.iter().map(|(_, index)| *index);
        for index in finalists.chain((!candidates.is_empty()).then_some(0)) {
            let candidate = &mut candidates[index];
            let found = self.factor_for(wanted, candidate, stability, &mut is_spent)?;
            plans.extend(found.map(|(factor, cost)| (cost, factor, index)));
            // A longer macro-step may prove to be too long; the given one may do.
            let longer = found.filter(|(factor, _)| *factor > 1.0);
            plans.extend(longer.map(|(factor, cost)| (cost * factor, 1.0, index)));
        }
        plans.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, factor, index) in plans {
            let verification = match self.tried(candidates, index, factor, stability)? {
                Tried::Better(verification) => verification,
                Tried::Worse => continue,
                Tried::Spent => {
                    is_spent = true;
                    break;
                }
            };
            let is_worse = verification
                .given
                .is_some_and(|given| verification.proposed > given);
            if verification.proposed > wanted || is_worse && index > 0 {
                continue;
            }
            return Ok(Proposal {
                coupling: candidates[index].coupling.clone(),
                step_size: factor * self.step,
                factor,
                reason: "the least cost that was found for the wanted error".to_owned(),
                verification: Some(verification),
            });
        }
        is_spent |= self.prober.is_late();
        let unchanged = self.unchanged(stability, is_spent)?;
        let stable = match unchanged.factor < 1.0 {
            true => "stable at this macro-step; ",
            false => "",
        };
        let reason = match is_spent {
            true => {
                "there are no steps or no time left to verify another macro-step for the wanted error: give more by \
                 --probe-steps or --time-limit"
            }
            false => "nothing was found that has the wanted error",
        };
        Ok(Proposal {
            reason: format!("{stable}{reason}"),
            ..unchanged
        })
    }

    /// The macro-step of a candidate for a wanted error, over the system's, and its cost; `is_spent` if no run is left to
    /// find it.
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
        // If the order is not seen, the order of held inputs.
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

    /// The given words; if they are unstable at the given macro-step, at one at which whole runs show them to be stable.
    fn unchanged(
        &mut self,
        stability: &Stability,
        is_spent: bool,
    ) -> Result<Proposal, ExamineError> {
        let mut proposal = Proposal {
            coupling: Coupling::default(),
            step_size: self.step,
            factor: 1.0,
            reason: match (is_spent, &self.courses) {
                (true, _) => {
                    "there is no time left to try other couplings: give more by --time-limit"
                }
                (false, Some(_)) => "no other coupling was found to be better",
                (false, None) => "no other coupling was tried, as the error is not known",
            }
            .to_owned(),
            verification: None,
        };
        if stability.finding != Finding::Unstable {
            return Ok(proposal);
        }
        match (is_spent, &self.courses) {
            (true, _) => {
                "there are no steps or no time left to find a stable coupling: give more by --probe-steps or --time-limit"
            }
            (false, Some(_)) => "no coupling was found to be stable at this macro-step, nor a smaller macro-step",
            (false, None) => {
                "no smaller macro-step was found to be stable, and no other coupling was tried, as the error is not known"
            }
        }
        .clone_into(&mut proposal.reason);
        let found = self.stable_factor(stability)?;
        if let Some(factor) = found {
            proposal.factor = factor;
            proposal.step_size = factor * self.step;
            match is_spent {
                true => "stable at this macro-step; there is no time left to try other couplings: give more by --time-limit",
                false => "stable at this macro-step, and no other coupling was found to be so at the given one",
            }
            .clone_into(&mut proposal.reason);
        }
        Ok(proposal)
    }

    /// A macro-step over the given one at which whole runs show the given words to be stable. If no run is left to look at
    /// others, one that was looked at before.
    fn stable_factor(&mut self, stability: &Stability) -> Result<Option<f64>, ExamineError> {
        let given = self.given.clone();
        let largest = stability
            .largest_step
            .map(|largest| MARGIN * largest / self.step);
        for factor in largest
            .into_iter()
            .flat_map(|factor| [factor, 0.5 * factor])
        {
            let factor = whole_or_inverse(factor);
            match self.look(&given, factor)? {
                Some((Finding::Stable, _)) => return Ok(Some(factor)),
                Some(_) => {}
                None => break,
            }
        }
        let levels = stability.levels.iter();
        let seen = levels.filter(|level| level.finding == Finding::Stable);
        let factors = seen.map(|level| level.step_size / self.step);
        let whole =
            factors.filter(|factor| (whole_or_inverse(*factor) / factor - 1.0).abs() < 1e-9);
        let below = whole.filter(|factor| largest.is_some_and(|largest| *factor <= largest));
        Ok(below.map(whole_or_inverse).reduce(f64::max))
    }
}

impl Examination<'_, '_> {
    /// Tries smaller values in the loop if no coupling is stable at the macro-step: a smaller gain of the loop may be
    /// stable, but gives other results (Chen et al. 2021, section 2.3).
    pub(super) fn try_smaller_gains(&mut self) -> Result<(), ExamineError> {
        // An interface model needs its bonds. There a gain multiplies the power and leaves the values alone.
        if !self.given.interface_models.is_empty() {
            return Ok(());
        }
        let what = match self.given.bonds[..] {
            [] => "all connections in loops",
            _ => "the efforts of all bonds",
        };
        for part in [0.5, 0.25, 0.125, 0.0625] {
            let system = match self.given.bonds[..] {
                [] => with_smaller_values(&self.given, part, &self.wiring.looped),
                _ => with_smaller_efforts(&self.given, part),
            };
            match self.look(&system, 1.0)? {
                Some((Finding::Stable, _)) => {
                    self.notes.push(format!(
                        "for a first set-up: with {what} multiplied by {part} whole runs are stable at this macro-step; \
                         their results are wrong"
                    ));
                    break;
                }
                Some(_) => {}
                None => break,
            }
        }
        Ok(())
    }
}

/// The system, with the values of connections in loops multiplied by `part`: connections of outputs that come back to
/// their components.
fn with_smaller_values(given: &SystemFile, part: f64, looped: &[String]) -> SystemFile {
    let mut system = given.clone();
    let connections = system.connections.iter_mut();
    for connection in connections.filter(|one| looped.contains(&one.from.value.to_string())) {
        let gain = connection.gain.as_ref().map_or(1.0, |gain| gain.value);
        connection.gain = Some(Spanned::unplaced(part * gain));
    }
    system
}

/// The system with connections instead of its bonds, whose efforts are multiplied by this.
fn with_smaller_efforts(given: &SystemFile, part: f64) -> SystemFile {
    let mut system = given.clone();
    for bond in std::mem::take(&mut system.bonds) {
        let efforts = bond.effort.into_iter().map(|effort| Connection {
            gain: Some(Spanned::unplaced(part)),
            ..effort
        });
        // In a bond a gain is one of the power, and not of the values.
        let flows = bond
            .flow
            .into_iter()
            .map(|flow| Connection { gain: None, ..flow });
        system.connections.extend(efforts.chain(flows));
    }
    system
}

/// Three digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10_f64.powf(value.abs().log10().floor() - 2.0);
    (value / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use gyrator_system::toml_file;

    use super::with_smaller_efforts;

    #[test]
    fn smaller_efforts_are_gains_of_connections() {
        let text = "[components.a]\nfmu = \"a.fmu\"\n[components.b]\nfmu = \"b.fmu\"\n[[bonds]]\nname = \"cut\"\n\
                    effort = [\"a.f\", \"b.f\"]\nflow = [\"b.v\", \"a.v\"]\n";
        let (given, _) = toml_file::parse(text, "pair.toml").unwrap();
        let smaller = with_smaller_efforts(&given, 0.25);
        assert!(smaller.bonds.is_empty());
        let gains = smaller.connections.iter();
        let gains: Vec<_> = gains
            .map(|one| one.gain.as_ref().map(|gain| gain.value))
            .collect();
        assert_eq!(gains, [Some(0.25), None]);
    }
}
