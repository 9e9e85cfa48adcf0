//! The course of an examination.

mod candidates;
mod proposal;

use gyrator::profile::Profile;
use gyrator::run::looped_outputs;
use gyrator::{Registries, Run};
use gyrator_system::SystemFile;
use serde::Serialize;

use crate::doctor::accuracy::{Accuracy, accuracy, error_against, moves, reference};
use crate::doctor::disturbance::Wiring;
use crate::doctor::gains::{LoopGain, loop_gain};
use crate::doctor::probe::{Course, ExamineError, Limits, ProbeFailure, Prober, StartRuns};
use crate::doctor::stability::{Finding, Search, Stability};
use crate::doctor::transfer::{HostTime, advise, host_times};
pub use candidates::Candidate;
pub use proposal::Proposal;

// Numbers without a reason are choices. The studies (docs/doctor-method.md) judge them by their result: how near the stability
// limits are to the limits of whole runs, and that no proposal is worse.

/// Length of the compared runs, in communication steps of the slowest component.
const POINTS: usize = 36;
/// Fewest points, and the part of all steps that runs at H, H/2 and H/4 take, seven points of H each.
const FEWEST_POINTS: usize = 8;
const COMPARED: f64 = 0.2;
/// Difference of the runs at H/2 and H/4, relative to the signals, from which they show no solution to compare with.
const UNLIKE: f64 = 0.3;
/// How much shorter runs at H/8 and H/16 are, which take the place of these.
const SHORTER: usize = 3;
/// How many times longer the runs are if nothing moves within fewer points.
const LONGER: usize = 4;
/// Macro-steps of a whole run of a system without a stop time.
const STEPS_WITHOUT_END: f64 = 1e4;
/// Relative error of the advised macro-steps if none is wanted. The tables use it as well.
const USUAL_ERROR: f64 = 0.01;

/// The questions of an examination.
#[derive(Debug, Clone)]
pub struct Options {
    /// Relative error for which a macro-step is looked for; `None` leaves the macro-step as it is.
    pub wanted: Option<f64>,
    /// Limits of the probe runs.
    pub limits: Limits,
    /// The words that are tried.
    pub registries: Registries,
}

/// Findings of an examination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Macro-step of the system, s.
    pub step_size: f64,
    /// Stability of the system as it is.
    pub stability: Stability,
    /// Its error; `None` if it was not found.
    pub accuracy: Option<Accuracy>,
    /// The gain of the open loop; `None` if it was not found.
    pub loop_gain: Option<LoopGain>,
    /// Residual energy of each bond at the end of the window, J, at H and half of H.
    pub bonds: Vec<BondSlope>,
    /// All couplings that were tried, the given one first.
    pub candidates: Vec<Candidate>,
    /// The better coupling; the given one if none is better.
    pub proposal: Proposal,
    /// The wanted relative error, if any.
    pub wanted: Option<f64>,
    /// Components on other machines, with the time on the way to them.
    pub hosts: Vec<HostTime>,
    /// Probe runs that were made.
    pub runs: usize,
    /// Macro-steps of the short ones as they count against the limit: the simulated time in macro-steps of the system, if
    /// that is more.
    pub steps: f64,
    /// The same of whole runs, which verify.
    pub verification_steps: f64,
    /// Communication steps of units in the short ones, including repeated steps.
    pub unit_steps: f64,
    /// Remarks.
    pub notes: Vec<String>,
}

impl Diagnosis {
    /// Relative error of the macro-steps that are named: the wanted one, or a hundredth.
    #[must_use]
    pub fn error_of_steps(&self) -> f64 {
        error_of_steps(self.wanted)
    }
}

fn error_of_steps(wanted: Option<f64>) -> f64 {
    wanted.unwrap_or(USUAL_ERROR)
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
pub fn examine(
    start: &mut dyn StartRuns,
    system: &SystemFile,
    options: &Options,
) -> Result<Diagnosis, ExamineError> {
    let step = system.experiment.step_size.as_ref();
    let step = step.ok_or(ExamineError::NoStepSize)?.value;
    let begin = system.experiment.start();
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
        hosts: Vec::new(),
        notes,
        failure: None,
    };
    examination.carry_out()
}

/// Macro-steps in a run: a whole number of communication steps of the slowest component.
fn whole_steps(duration: Option<f64>, step: f64, stride: usize) -> usize {
    let Some(duration) = duration else {
        return usize::MAX;
    };
    let steps = (duration / step * (1.0 + 1e-9)).floor().max(1.0) as usize;
    (steps / stride * stride).max(1)
}

fn wiring(run: &Run, step: f64) -> Wiring {
    let report = run.report();
    let (outputs, looped) = (run.graph().real_outputs(), looped_outputs(run));
    let multiples = report.components.iter();
    let multiples =
        multiples.map(|component| (component.step_size / step).round().max(1.0) as usize);
    Wiring {
        connections: run.graph().real_connections().collect(),
        stride: multiples.fold(1, common_multiple),
        looped: looped
            .into_iter()
            .map(|place| outputs[place].name.clone())
            .collect(),
    }
}

fn common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

/// Why two runs are not there, in words.
fn failed_parts(failure: ProbeFailure) -> Result<String, ExamineError> {
    match failure {
        ProbeFailure::Interrupted => Err(ExamineError::Interrupted),
        ProbeFailure::Spent => Ok("there are no steps or no time left for it".to_owned()),
        ProbeFailure::Failed(reason) | ProbeFailure::Refused(reason) => {
            Ok(format!("a run at a smaller macro-step fails: {reason}"))
        }
    }
}

/// Courses of the given system at H, H/2 and H/4, and what is known of the solution.
struct Courses {
    at: Option<Course>,
    half: Option<Course>,
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
    hosts: Vec<HostTime>,
    notes: Vec<String>,
    /// Why the given system does not come through its first steps.
    failure: Option<String>,
}

impl Examination<'_, '_> {
    fn carry_out(&mut self) -> Result<Diagnosis, ExamineError> {
        self.find_courses()?;
        let given = self.given.clone();
        let stability = match self.wiring.has_loop() {
            true => self.stability()?,
            false => Stability::without_loop(),
        };
        let is_hopeless = stability.levels.iter().all(|level| level.growth.is_none());
        if let Some(reason) = self
            .failure
            .take()
            .filter(|_| is_hopeless && self.courses.is_none())
        {
            return Err(ExamineError::Fails(reason));
        }
        let mut candidates = self.candidates()?;
        let proposal = self.proposal(&mut candidates, &stability)?;
        if stability.finding == Finding::Unstable && proposal.coupling.is_unchanged() {
            self.try_smaller_gains()?;
        }
        let loop_gain = loop_gain(&mut self.prober, &given, &self.wiring, self.step)?;
        let accuracy = self
            .courses
            .as_ref()
            .map(|courses| courses.accuracy.clone());
        if self.wiring.connections.is_empty() {
            self.notes
                .push("no connection of real variables: nothing is coupled".to_owned());
        }
        let mut hosts = std::mem::take(&mut self.hosts);
        let wanted = error_of_steps(self.options.wanted);
        advise(&mut hosts, &given, accuracy.as_ref(), &stability, wanted);
        Ok(Diagnosis {
            step_size: self.step,
            stability,
            loop_gain,
            hosts,
            bonds: self.bond_slopes(),
            accuracy,
            candidates,
            proposal,
            wanted: self.options.wanted,
            runs: self.prober.runs,
            steps: self.prober.spent,
            verification_steps: self.prober.verification_steps,
            unit_steps: self.prober.unit_steps,
            notes: std::mem::take(&mut self.notes),
        })
    }

    /// The given system, with the times of its components on other machines.
    fn measured_run(&mut self) -> Result<Course, ProbeFailure> {
        let mut components = self.given.components.iter();
        let has_hosts = components.any(|one| one.host.is_some());
        self.prober.profile = has_hosts.then(Profile::new);
        let course = self.prober.run(&self.given, 1.0, self.points, None);
        if let Some(profile) = self.prober.profile.take() {
            self.hosts = host_times(&profile.report());
        }
        course
    }

    /// Runs the given system at H, H/2 and H/4; if these are unlike, at H/8 and H/16 for a shorter time.
    fn find_courses(&mut self) -> Result<(), ExamineError> {
        let mut at = self.measured_run();
        let still = |course: &Course| (0..course.names.len()).all(|signal| !moves(course, signal));
        let all = whole_steps(self.duration, self.step, self.wiring.stride);
        let longer = (LONGER * self.points).min(all);
        if at.as_ref().is_ok_and(still) && longer > self.points {
            self.points = longer;
            at = self.prober.run(&self.given, 1.0, self.points, None);
        }
        let mut failure = match self.compare_parts(at.as_ref().ok(), 2)? {
            None => return Ok(()),
            Some(failure) => failure,
        };
        let shorter = (self.points / SHORTER / self.wiring.stride).max(1) * self.wiring.stride;
        if shorter >= FEWEST_POINTS * self.wiring.stride {
            let points = std::mem::replace(&mut self.points, shorter);
            at = self.prober.run(&self.given, 1.0, self.points, None);
            match self.compare_parts(at.as_ref().ok(), 8)? {
                None => return Ok(()),
                Some(other) => failure = other,
            }
            self.points = points;
        }
        if let Err(ProbeFailure::Failed(reason)) = at {
            self.failure = Some(reason);
        }
        self.notes.push(format!(
            "the error is not known, and nothing is compared: {failure}"
        ));
        Ok(())
    }

    /// Compares the runs at H/n and H/2n with each other, and with that at H; says why they show no solution.
    fn compare_parts(
        &mut self,
        at: Option<&Course>,
        parts: usize,
    ) -> Result<Option<String>, ExamineError> {
        let factor = (parts as f64).recip();
        let coarse = self
            .prober
            .run(&self.given, factor, parts * self.points, None);
        let fine = self
            .prober
            .run(&self.given, 0.5 * factor, 2 * parts * self.points, None);
        let (coarse, fine) = match (coarse, fine) {
            (Ok(coarse), Ok(fine)) => (coarse, fine),
            (Err(failure), _) | (_, Err(failure)) => return Ok(Some(failed_parts(failure)?)),
        };
        let unlike = error_against(&coarse, 1, &fine.every(2));
        if !unlike.is_finite() || unlike > UNLIKE {
            return Ok(Some(format!(
                "runs at {factor} and {} of the macro-step differ by {unlike:.2} of a signal",
                0.5 * factor
            )));
        }
        let window = self.points as f64 * self.step;
        let at = at.cloned();
        let accuracy = match (&at, parts) {
            (Some(at), 2) => accuracy([at, &coarse], Some(&fine), None, window),
            _ => {
                let shown = at.as_ref().unwrap_or(&coarse);
                Accuracy::of_difference(
                    shown,
                    if at.is_some() { 1 } else { parts },
                    &fine,
                    2 * parts,
                    window,
                )
            }
        };
        let truth = reference([&coarse.every(parts), &fine.every(2 * parts)], &accuracy);
        self.courses = Some(Courses {
            at,
            half: (parts == 2).then_some(coarse),
            truth,
            accuracy,
        });
        Ok(None)
    }

    /// Simulated time of a whole run, s.
    fn run_time(&self) -> f64 {
        self.duration.unwrap_or(STEPS_WITHOUT_END * self.step)
    }

    fn stability(&mut self) -> Result<Stability, ExamineError> {
        let (given, wiring, time) = (self.given.clone(), self.wiring.clone(), self.run_time());
        let prober = &mut self.prober;
        let search = Search::new(prober, &given, &wiring, self.step, time);
        match search.limit() {
            Ok(stability) => Ok(stability),
            Err(ProbeFailure::Interrupted) => Err(ExamineError::Interrupted),
            Err(_) => Ok(Stability::default()),
        }
    }

    fn bond_slopes(&self) -> Vec<BondSlope> {
        let Some(Courses {
            at: Some(at),
            half: Some(half),
            ..
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
}
