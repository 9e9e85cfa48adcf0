//! The course of an examination.

use std::cmp::Ordering;

use gyrator::{Registries, Run};
use gyrator_assess::at_other_step;
use gyrator_system::SystemFile;
use serde::Serialize;

use crate::accuracy::{Accuracy, accuracy, error_against, moves, reference};
use crate::coupling::{Coupling, single_changes};
use crate::disturbance::Wiring;
use crate::probe::{Course, ExamineError, Limits, ProbeFailure, Prober, StartRuns};
use crate::stability::{Search, Stability};
use crate::verification::{Verification, verify};

/// Macro-steps of the runs that are compared, times those of the slowest component.
const POINTS: usize = 48;
/// Fewest points, and the part of all steps that runs at H, H/2 and H/4 take, seven points of H each.
const FEWEST_POINTS: usize = 8;
const COMPARED: f64 = 0.2;
/// Difference of the runs at H/2 and H/4, relative to the signals, from which they show no solution to compare with.
const UNLIKE: f64 = 0.3;
/// The same where nothing moves within fewer.
const LONGER: usize = 4;
/// Macro-steps of the runs that verify a proposal.
const VERIFIED: usize = 96;
/// Steps that are kept for the proposals while the limit of stability is looked for, in parts of all.
const RESERVED: f64 = 0.65;
/// A coupling whose error at the same cost is not smaller by this factor is not proposed: choices that hardly differ.
const BETTER: f64 = 0.8;
/// The macro-step that is proposed over the largest stable one, at most.
const MARGIN: f64 = 0.5;
/// The macro-step for a wanted error over the one that its order gives.
const MARGIN_OF_ERROR: f64 = 0.9;
/// Factors of the macro-step that are proposed, at most and, inverted, at least.
const FURTHEST: f64 = 16.0;
/// Candidates whose stability is looked at.
const FINALISTS: usize = 4;
/// Words of each key that are tried together.
const TOGETHER: usize = 2;

/// What is asked of an examination.
#[derive(Debug, Clone)]
pub struct Options {
    /// Relative error for which a macro-step is looked for; `None` leaves the macro-step as it is.
    pub wanted: Option<f64>,
    /// Limits of the probe runs.
    pub limits: Limits,
    /// The words that are tried.
    pub registries: Registries,
}

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
    /// The macro-step for the wanted error, s, as far as its order is known.
    pub step_for: Option<f64>,
    /// The words of a candidate with the same results.
    pub same_as: Option<String>,
    /// How much a disturbance grows over the run, where it was looked at.
    pub growth: Option<f64>,
    /// Why it cannot be used.
    pub refusal: Option<String>,
}

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

/// Findings of an examination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Macro-step of the system, s.
    pub step_size: f64,
    /// Stability of the system as it is.
    pub stability: Stability,
    /// Its error; `None` where it was not found.
    pub accuracy: Option<Accuracy>,
    /// Residual energy of each bond at the end of the window, J, at H and half of H.
    pub bonds: Vec<BondSlope>,
    /// All couplings that were tried, the given one first.
    pub candidates: Vec<Candidate>,
    /// The better coupling; the given one where none is better.
    pub proposal: Proposal,
    /// The wanted relative error, if any.
    pub wanted: Option<f64>,
    /// Probe runs that were made.
    pub runs: usize,
    /// Their macro-steps as they count against the limit: the simulated time in macro-steps of the system, where that is
    /// more.
    pub steps: f64,
    /// Remarks.
    pub notes: Vec<String>,
}

/// How the residual energy of a bond depends on the macro-step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BondSlope {
    /// Name of the bond.
    pub name: String,
    /// Mean residual power over the window at H, W: the slope of the residual energy.
    pub residual_power: f64,
    /// The same at half of H.
    pub at_half: f64,
}

/// Examines a system. `start` starts a run of a variant of it.
///
/// # Errors
/// A system that does not start, or does not come through its first steps at any macro-step.
pub fn examine<'a>(
    start: &'a mut dyn StartRuns,
    system: &SystemFile,
    options: &Options,
) -> Result<Diagnosis, ExamineError> {
    let step = system.experiment.step_size.as_ref();
    let step = step.ok_or(ExamineError::NoStepSize)?.value;
    let begin = system
        .experiment
        .start_time
        .as_ref()
        .map_or(0.0, |time| time.value);
    let stop = system.experiment.stop_time.as_ref();
    let duration = stop.map(|stop| stop.value - begin);
    let mut given = system.clone();
    let mut notes = Vec::new();
    if let Some(control) = given.experiment.step_control.take()
        && control.name.value != "fixed"
    {
        notes.push(format!(
            "the probe runs have fixed macro-steps; `{}` chooses others",
            control.name.value
        ));
    }
    let mut prober = Prober::new(start, options.limits.clone());
    let mut run = prober.started(&given, 1.0)?;
    let (wiring, bonds) = (
        wiring(&run, step),
        run.graph().bond_names().map(str::to_owned).collect(),
    );
    let _ = run.stop();
    drop(run);
    let affordable = (options.limits.steps * COMPARED / 7.0 / wiring.stride as f64) as usize;
    let points = POINTS.min(affordable.max(FEWEST_POINTS)) * wiring.stride;
    let points = points.min(whole_steps(duration, step, wiring.stride));
    let mut examination = Examination {
        prober,
        given,
        options,
        wiring,
        step,
        duration,
        points,
        courses: None,
        bonds,
        notes,
    };
    examination.carry_out()
}

/// Macro-steps in a run, as a whole number of those of the slowest component.
fn whole_steps(duration: Option<f64>, step: f64, stride: usize) -> usize {
    let Some(duration) = duration else {
        return usize::MAX;
    };
    let steps = (duration / step * (1.0 + 1e-9)).floor().max(1.0) as usize;
    (steps / stride * stride).max(1)
}

fn wiring(run: &Run, step: f64) -> Wiring {
    let report = run.report();
    let multiples = report.components.iter();
    let multiples =
        multiples.map(|component| (component.step_size / step).round().max(1.0) as usize);
    Wiring {
        connections: run.graph().real_connections().collect(),
        stride: multiples.fold(1, common_multiple),
    }
}

fn common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

/// Courses of the given system at H, H/2 and H/4, and what is known of the solution.
struct Courses {
    at: Option<Course>,
    half: Course,
    truth: Course,
    accuracy: Accuracy,
}

struct Examination<'a, 'o> {
    prober: Prober<'a>,
    given: SystemFile,
    options: &'o Options,
    wiring: Wiring,
    step: f64,
    duration: Option<f64>,
    points: usize,
    courses: Option<Courses>,
    bonds: Vec<String>,
    notes: Vec<String>,
}

impl Examination<'_, '_> {
    fn carry_out(&mut self) -> Result<Diagnosis, ExamineError> {
        self.find_courses()?;
        self.prober.reserved = RESERVED * self.options.limits.steps;
        let given = self.given.clone();
        let stability = self.stability(&given, 1.0, true)?;
        self.prober.reserved = 0.0;
        let mut candidates = self.candidates()?;
        let proposal = self.proposal(&mut candidates, &stability)?;
        let accuracy = self
            .courses
            .as_ref()
            .map(|courses| courses.accuracy.clone());
        if self.wiring.connections.is_empty() {
            self.notes
                .push("no connection of real variables: nothing is coupled".to_owned());
        }
        Ok(Diagnosis {
            step_size: self.step,
            stability,
            bonds: self.bond_slopes(),
            accuracy,
            candidates,
            proposal,
            wanted: self.options.wanted,
            runs: self.prober.runs,
            steps: self.prober.spent,
            notes: std::mem::take(&mut self.notes),
        })
    }

    /// Runs the given system at H, H/2 and H/4.
    fn find_courses(&mut self) -> Result<(), ExamineError> {
        let mut at = self.prober.run(&self.given, 1.0, self.points, None);
        let still = |course: &Course| (0..course.names.len()).all(|signal| !moves(course, signal));
        let longer =
            (LONGER * self.points).min(whole_steps(self.duration, self.step, self.wiring.stride));
        if at.as_ref().is_ok_and(still) && longer > self.points {
            self.points = longer;
            at = self.prober.run(&self.given, 1.0, self.points, None);
        }
        let half = self.prober.run(&self.given, 0.5, 2 * self.points, None);
        let quarter = self.prober.run(&self.given, 0.25, 4 * self.points, None);
        let window = self.points as f64 * self.step;
        let (half, quarter) = match (half, quarter) {
            (Ok(half), Ok(quarter)) => (half, quarter),
            (Err(failure), _) | (_, Err(failure)) => {
                return self.without_courses(failure);
            }
        };
        let at = match at {
            Ok(course) => Some(course),
            Err(ProbeFailure::Interrupted) => return Err(ExamineError::Interrupted),
            Err(_) => None,
        };
        let accuracy = accuracy(
            [at.as_ref().unwrap_or(&half), &half],
            Some(&quarter),
            None,
            window,
        );
        let fewer = Course {
            rows: quarter.rows.iter().step_by(2).cloned().collect(),
            ..quarter.clone()
        };
        let unlike = error_against(&half, 1, &fewer);
        if !(unlike <= UNLIKE) {
            self.notes.push(format!(
                "the error is not known, and nothing is compared: the runs at half and a quarter of the macro-step differ by {unlike:.2} of a signal"
            ));
            return Ok(());
        }
        let truth = reference([&half, &quarter], &accuracy);
        self.courses = Some(Courses {
            at,
            half,
            truth,
            accuracy,
        });
        Ok(())
    }

    fn without_courses(&mut self, failure: ProbeFailure) -> Result<(), ExamineError> {
        let reason = match failure {
            ProbeFailure::Interrupted => return Err(ExamineError::Interrupted),
            ProbeFailure::Spent => "there are no steps or no time left for it".to_owned(),
            ProbeFailure::Failed(reason) | ProbeFailure::Refused(reason) => reason,
        };
        self.notes.push(format!(
            "the error is not known: the runs at half and a quarter of the macro-step failed: {reason}"
        ));
        Ok(())
    }

    fn stability(
        &mut self,
        system: &SystemFile,
        factor: f64,
        searches: bool,
    ) -> Result<Stability, ExamineError> {
        let system = at_other_step(system, factor);
        let step = factor * self.step;
        let search = Search::new(&mut self.prober, &system, &self.wiring, step, self.duration);
        let found = match searches {
            true => search.limit(),
            false => search.at_given(),
        };
        match found {
            Ok(stability) => Ok(stability),
            Err(ProbeFailure::Interrupted) => Err(ExamineError::Interrupted),
            Err(_) => Ok(Stability::default()),
        }
    }

    fn bond_slopes(&self) -> Vec<BondSlope> {
        let Some(Courses {
            at: Some(at), half, ..
        }) = &self.courses
        else {
            return Vec::new();
        };
        let window = self.points as f64 * self.step;
        let energies = at.residual_energy.iter().zip(&half.residual_energy);
        let bonds = self.bonds.iter().zip(energies);
        bonds
            .map(|(name, (at, half))| BondSlope {
                name: name.clone(),
                residual_power: at / window,
                at_half: half / window,
            })
            .collect()
    }

    /// Tries each word alone, and the best ones together.
    fn candidates(&mut self) -> Result<Vec<Candidate>, ExamineError> {
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
        let found = match known.filter(|_| coupling.is_given()) {
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
                let wanted = self.options.wanted.zip(candidate.relative_error);
                let order = courses.accuracy.order.unwrap_or(1.0);
                candidate.step_for =
                    wanted.map(|(wanted, error)| self.step * (wanted / error).powf(order.recip()));
            }
        }
        tried.push((candidate, course));
        Ok(())
    }

    /// The best candidate that is stable and, in runs beside the given system, no worse than it.
    fn proposal(
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
    for key in ["extrapolation", "method", "exchange", "correction"] {
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

/// Combinations that are tried, at most.
const MOST_TOGETHER: usize = 8;
