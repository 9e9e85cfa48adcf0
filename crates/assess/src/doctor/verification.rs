//! A proposal beside the given system, before it is made: whole runs.

use gyrator_system::SystemFile;
use serde::Serialize;

use crate::doctor::accuracy::{Accuracy, error_against, reference};
use crate::doctor::probe::{Course, ProbeFailure, Prober, Whole};

/// Difference of the two finest runs, relative to the signals, from which they show no solution to compare with.
const UNLIKE: f64 = 0.3;

/// The coupling errors of the given system and of a proposal over the whole run, at the same cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// Simulated time of the runs, s.
    pub window: f64,
    /// Macro-step at which the given system costs as much as the proposal, or a little more, s.
    pub given_step: f64,
    /// The greatest relative error of a signal of the given system there; `None` if it is not finite.
    pub given: Option<f64>,
    /// The same of the proposal.
    pub proposed: f64,
}

/// A system at so many times the macro-step of the given one: a whole number or the inverse of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trial<'s> {
    pub(crate) system: &'s SystemFile,
    pub(crate) factor: f64,
}

/// Makes the runs of a verification.
pub(crate) struct Verifier<'p, 'a> {
    pub(crate) prober: &'p mut Prober<'a>,
    /// Macro-step of the given system, s, and macro-steps of a whole run of it.
    pub(crate) step: f64,
    pub(crate) steps: usize,
    /// Orders of the errors.
    pub(crate) accuracy: &'p Accuracy,
}

impl Verifier<'_, '_> {
    /// Runs both, and compares them with the given system at half and a quarter of the smaller macro-step, continued to a
    /// macro-step of nothing; with the proposal there, if the given system shows no solution. `None` if neither does.
    pub(crate) fn verify(
        &mut self,
        given: Trial<'_>,
        proposed: Trial<'_>,
    ) -> Result<Option<Verification>, ProbeFailure> {
        let finest = given.factor.min(proposed.factor).min(1.0);
        let truth = match self.solution(given.system, finest)? {
            Some(truth) => truth,
            None => match self.solution(proposed.system, finest)? {
                Some(truth) => truth,
                None => return Ok(None),
            },
        };
        let Some(of_proposed) = self.error(proposed, &truth)? else {
            return Ok(None);
        };
        Ok(Some(Verification {
            window: self.steps as f64 * self.step,
            given_step: given.factor * self.step,
            given: self.error(given, &truth)?,
            proposed: of_proposed,
        }))
    }

    /// A row for each macro-step of the given system.
    fn solution(
        &mut self,
        system: &SystemFile,
        finest: f64,
    ) -> Result<Option<Course>, ProbeFailure> {
        let [coarse, fine] = [0.5, 0.25].map(|part| Trial {
            system,
            factor: part * finest,
        });
        let (Some(coarse), Some(fine)) = (self.course(coarse)?, self.course(fine)?) else {
            return Ok(None);
        };
        let unlike = error_against(&coarse, 1, &fine);
        if unlike.is_nan() || unlike > UNLIKE {
            return Ok(None);
        }
        Ok(Some(reference([&coarse, &fine], self.accuracy)))
    }

    /// The greatest relative error of a signal; `None` if a run is not finite.
    fn error(&mut self, trial: Trial<'_>, truth: &Course) -> Result<Option<f64>, ProbeFailure> {
        let course = self.course(trial)?;
        let truth = truth.every(trial.factor.round() as usize);
        let error = course.map(|course| error_against(&course, 1, &truth));
        Ok(error.filter(|error| error.is_finite()))
    }

    /// Over the whole run, with rows at macro-steps of the given system; `None` if it fails.
    fn course(&mut self, trial: Trial<'_>) -> Result<Option<Course>, ProbeFailure> {
        let steps = (self.steps as f64 / trial.factor * (1.0 + 1e-9)) as usize;
        let every = trial.factor.recip().round().max(1.0) as usize;
        let run = self
            .prober
            .whole(trial.system, trial.factor, (steps, every), None);
        match run {
            Ok(Whole {
                course,
                early_end: None,
                ..
            }) => Ok(Some(course)),
            Ok(_) | Err(ProbeFailure::Failed(_) | ProbeFailure::Refused(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// The largest factor that is a whole number or the inverse of one, and not above this.
pub(crate) fn whole_or_inverse(factor: f64) -> f64 {
    let rounding = 1e-9;
    match factor >= 1.0 - rounding {
        true => (factor * (1.0 + rounding)).floor(),
        false => (factor.recip() * (1.0 - rounding)).ceil().recip(),
    }
}

#[cfg(test)]
mod tests {
    use super::whole_or_inverse;

    #[test]
    fn the_same_cost_is_at_a_macro_step_that_fits() {
        let cases = [
            (1.0, 1.0),
            (2.9, 2.0),
            (0.5, 0.5),
            (0.4, 1.0 / 3.0),
            (0.34, 1.0 / 3.0),
        ];
        for (factor, expected) in cases {
            assert_eq!(whole_or_inverse(factor), expected);
        }
    }
}
