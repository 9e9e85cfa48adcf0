//! Probe runs: short runs of a system at other macro-steps, some of them disturbed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::at_other_step;
use gyrator::error::Cause;
use gyrator::profile::Profile;
use gyrator::run::looped_outputs;
use gyrator::{Run, RunError, StartError};
use gyrator_system::{Scenario, SystemFile};

/// Starts runs of variants of a system.
pub trait StartRuns {
    /// Starts a run: loads the FMUs, in this process or others.
    ///
    /// # Errors
    /// A system that does not start.
    fn start(&mut self, system: SystemFile) -> Result<Run, StartError>;

    /// As [`start`](Self::start), with units whose times are measured, also on other machines.
    ///
    /// # Errors
    /// A system that does not start.
    fn start_measured(&mut self, system: SystemFile, profile: &Profile) -> Result<Run, StartError> {
        let _ = profile;
        self.start(system)
    }

    /// A unit has failed fatally: the libraries of its FMU are to be loaded again (FMI 2.0.5, section 2.1.3).
    fn renew(&mut self) {}
}

/// Limits of an examination.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Simulated time of all short probe runs together, in macro-steps of the system, macro-steps, and communication steps of
    /// units over those in a macro-step of the system: whichever is most of each run. Whole runs, which verify, are counted
    /// apart, and have no such limit.
    pub steps: f64,
    /// When no further run is begun, and the run in progress ends.
    pub deadline: Option<Instant>,
    /// Ends it once it is true.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// Why a system is not examined.
#[derive(Debug, thiserror::Error)]
pub enum ExamineError {
    /// It does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It has no macro-step.
    #[error("no macro-step is given")]
    NoStepSize,
    /// It fails in its first steps, whatever their size.
    #[error("no probe run comes to its end: {0}")]
    Fails(String),
    /// The user has interrupted it.
    #[error("interrupted")]
    Interrupted,
}

/// Why a probe run has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProbeFailure {
    /// The system with these words is refused.
    Refused(String),
    /// It has ended before its time, or a value is not finite.
    Failed(String),
    /// The examination has no steps or no time left.
    Spent,
    /// The user has interrupted it.
    Interrupted,
}

/// A run over the whole time of the system.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Whole {
    /// The rows until its end.
    pub(crate) course: Course,
    /// Places of the outputs in a loop.
    pub(crate) looped: Vec<usize>,
    /// Why it has ended early, if it has.
    pub(crate) early_end: Option<EarlyEnd>,
}

/// Why a run has ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EarlyEnd {
    /// A value is not finite; the text says which.
    NotFinite(String),
    /// A unit or the run has failed otherwise.
    Failed(String),
}

impl EarlyEnd {
    fn text(self) -> String {
        match self {
            Self::NotFinite(text) | Self::Failed(text) => text,
        }
    }
}

/// The course of a probe run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    /// Names of the real outputs.
    pub(crate) names: Vec<String>,
    /// A row for each communication point, with a value for each output.
    pub(crate) rows: Vec<Vec<f64>>,
    /// Communication steps of units in a macro-step, including repeated steps.
    pub(crate) unit_steps: f64,
    /// Mean time of a macro-step, s.
    pub(crate) seconds: f64,
    /// Residual energy of each bond at the end, J.
    pub(crate) residual_energy: Vec<f64>,
}

impl Course {
    /// With each n-th row.
    pub(crate) fn every(&self, n: usize) -> Self {
        Self {
            names: self.names.clone(),
            rows: self.rows.iter().step_by(n.max(1)).cloned().collect(),
            residual_energy: self.residual_energy.clone(),
            ..*self
        }
    }
}

/// A disturbance of the inputs: each gets so much more, over a number of macro-steps.
#[derive(Debug, Clone)]
pub(crate) struct Pulse {
    /// Macro-steps before it.
    pub(crate) after: usize,
    /// Macro-steps of it.
    pub(crate) length: usize,
    /// Inputs, `component.variable`, and what is added.
    pub(crate) inputs: Vec<(String, f64)>,
    /// Inputs that keep their values from one macro-step before it on.
    pub(crate) frozen: Vec<String>,
}

/// Macro-steps after which communication steps of units are counted.
const COUNTED: usize = 8;
/// Magnitudes from here on are not finite: their differences and sums would not be.
const ENDLESS: f64 = 1e300;

/// Makes probe runs, as long as there are steps left.
pub(crate) struct Prober<'a> {
    start: &'a mut dyn StartRuns,
    limits: Limits,
    /// Steps of short runs that were made, as they count.
    pub(crate) spent: f64,
    /// The same of whole runs.
    pub(crate) verification_steps: f64,
    pub(crate) runs: usize,
    /// Communication steps of units in all short runs.
    pub(crate) unit_steps: f64,
    /// The same in a macro-step of the first run, which is of the given system.
    usual: Option<f64>,
    /// Measures the runs, while it is there.
    pub(crate) profile: Option<Profile>,
}

impl<'a> Prober<'a> {
    pub(crate) fn new(start: &'a mut dyn StartRuns, limits: Limits) -> Self {
        Self {
            start,
            limits,
            spent: 0.0,
            verification_steps: 0.0,
            runs: 0,
            unit_steps: 0.0,
            usual: None,
            profile: None,
        }
    }

    /// Steps that are left.
    pub(crate) fn left(&self) -> f64 {
        match self.is_late() {
            true => 0.0,
            false => self.limits.steps - self.spent,
        }
    }

    /// Whether the time is over.
    pub(crate) fn is_late(&self) -> bool {
        self.limits
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Starts the system at so many times its macro-step.
    pub(crate) fn started(&mut self, system: &SystemFile, factor: f64) -> Result<Run, StartError> {
        let mut system = at_other_step(system, factor);
        system.experiment.step_control = None;
        self.runs += 1;
        let Some(profile) = &self.profile else {
            return self.start.start(system);
        };
        let mut run = self.start.start_measured(system, profile)?;
        run.profile(profile);
        Ok(run)
    }

    /// Runs the system at so many times its macro-step for a number of macro-steps; fewer if its stop time comes first.
    pub(crate) fn run(
        &mut self,
        system: &SystemFile,
        factor: f64,
        steps: usize,
        pulse: Option<&Pulse>,
    ) -> Result<Course, ProbeFailure> {
        let left = self.left();
        if steps as f64 * factor.max(1.0) > left {
            return Err(ProbeFailure::Spent);
        }
        let (made, cost) = self.make(system, factor, (steps, 1), pulse, left)?;
        self.spent += cost;
        let Whole {
            course, early_end, ..
        } = made?;
        match early_end {
            None => Ok(course),
            Some(end) => Err(ProbeFailure::Failed(end.text())),
        }
    }

    /// Runs the system over its whole time, and keeps each n-th row. It counts apart.
    pub(crate) fn whole(
        &mut self,
        system: &SystemFile,
        factor: f64,
        (steps, every): (usize, usize),
        pulse: Option<&Pulse>,
    ) -> Result<Whole, ProbeFailure> {
        if self.left() <= 0.0 {
            return Err(ProbeFailure::Spent);
        }
        let (made, cost) = self.make(system, factor, (steps, every), pulse, f64::INFINITY)?;
        self.verification_steps += cost;
        made
    }

    /// Makes a run, and says what it has cost.
    fn make(
        &mut self,
        system: &SystemFile,
        factor: f64,
        (steps, every): (usize, usize),
        pulse: Option<&Pulse>,
        left: f64,
    ) -> Result<(Result<Whole, ProbeFailure>, f64), ProbeFailure> {
        self.check()?;
        let mut run = self
            .started(system, factor)
            .map_err(|error| refusal(&error))?;
        let begin = Instant::now();
        if let Some(pulse) = pulse {
            let scenario = pulse.scenario(&run);
            run.act(&scenario).map_err(|error| refusal(&error))?;
        }
        let (rows, made, outcome) = self.stepped(&mut run, factor, (steps, every), left);
        let unit_steps = run.report().counters.unit_steps;
        let cost = self.cost(made, factor, unit_steps);
        let unit_steps = unit_steps as f64;
        if left.is_finite() {
            self.unit_steps += unit_steps;
        }
        if made > 0 {
            self.usual.get_or_insert(unit_steps / made as f64);
        }
        let outcome = outcome.and_then(|early_end| match early_end {
            // It ends by itself if the user wishes so.
            None if made < steps => self.check().map(|()| {
                let text = format!("it ended by itself after {made} macro-steps");
                Some(EarlyEnd::Failed(text))
            }),
            early_end => Ok(early_end),
        });
        let made = made.max(1) as f64;
        let bonds = run.ledger().bonds();
        let whole = outcome.map(|early_end| Whole {
            course: Course {
                names: run
                    .graph()
                    .real_outputs()
                    .into_iter()
                    .map(|output| output.name)
                    .collect(),
                rows,
                unit_steps: unit_steps / made,
                seconds: begin.elapsed().as_secs_f64() / made,
                residual_energy: bonds.map(|bond| bond.residual_energy_integrated).collect(),
            },
            looped: looped_outputs(&run),
            early_end,
        });
        // The units are terminated; a failure there says nothing about the steps.
        let _ = run.stop();
        Ok((whole, cost))
    }

    /// Makes the steps of a run: its rows, their number, and why it has ended early.
    fn stepped(
        &mut self,
        run: &mut Run,
        factor: f64,
        (steps, every): (usize, usize),
        left: f64,
    ) -> (Vec<Vec<f64>>, usize, Result<Option<EarlyEnd>, ProbeFailure>) {
        let mut rows = vec![run.view().reals.to_vec()];
        let (mut made, mut cost) = (0, 0.0);
        let outcome = loop {
            if made == steps || run.has_ended() {
                break Ok(None);
            }
            // The last steps that are left are counted one by one.
            if made % COUNTED == 0 || cost + COUNTED as f64 * (cost / made as f64) > left {
                cost = self.cost(made, factor, run.report().counters.unit_steps);
                if cost > left {
                    break Err(ProbeFailure::Spent);
                }
            }
            if let Err(failure) = self.check() {
                break Err(failure);
            }
            if let Err(error) = run.step() {
                break Ok(Some(self.early_end(&error)));
            }
            made += 1;
            let row = run.view().reals;
            if row
                .iter()
                .any(|value| value.is_nan() || value.abs() >= ENDLESS)
            {
                let text = "a value is not finite".to_owned();
                break Ok(Some(EarlyEnd::NotFinite(text)));
            }
            if made % every == 0 {
                rows.push(row.to_vec());
            }
        };
        (rows, made, outcome)
    }

    fn early_end(&mut self, error: &RunError) -> EarlyEnd {
        let cause = match error {
            RunError::Fault(fault) => Some(&fault.unit.cause),
            _ => None,
        };
        if cause == Some(&Cause::Fatal) {
            self.start.renew();
        }
        match cause {
            Some(Cause::NotFinite) => EarlyEnd::NotFinite(error.to_string()),
            _ => EarlyEnd::Failed(error.to_string()),
        }
    }

    /// Macro-steps and communication steps of units, as they count.
    fn cost(&self, made: usize, factor: f64, unit_steps: u64) -> f64 {
        let steps = made as f64 * factor.max(1.0);
        let usual = self.usual.filter(|usual| *usual > 0.0);
        usual.map_or(steps, |usual| steps.max(unit_steps as f64 / usual))
    }

    fn check(&self) -> Result<(), ProbeFailure> {
        let interrupt = self.limits.interrupt.as_ref();
        if interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed)) {
            return Err(ProbeFailure::Interrupted);
        }
        match self.is_late() {
            true => Err(ProbeFailure::Spent),
            false => Ok(()),
        }
    }
}

impl Pulse {
    fn scenario(&self, run: &Run) -> Scenario {
        let (start, step) = (run.time(), run.graph().macro_step());
        // Half a step earlier: rounding of the times does not matter.
        let at = |steps: usize| start + (steps as f64 - 0.5).max(0.0) * step;
        let mut scenario = Scenario::new();
        for input in &self.frozen {
            let frozen = self.after.saturating_sub(1);
            scenario.act(at(frozen), input, "freeze");
        }
        for (input, more) in &self.inputs {
            let bias = gyrator_system::Choice::new("bias");
            let bias = bias.with("value", gyrator_system::Value::Real(*more));
            let action = scenario.act(at(self.after), input, bias);
            action.until(at(self.after + self.length));
        }
        scenario
    }
}

fn refusal(error: &StartError) -> ProbeFailure {
    match error {
        StartError::Invalid(problems) => {
            let errors = problems.list.iter().filter(|problem| problem.is_error());
            let texts: Vec<&str> = errors.map(|problem| problem.message.as_str()).collect();
            ProbeFailure::Refused(texts.join("; "))
        }
        StartError::Run(error) => ProbeFailure::Failed(error.to_string()),
        error => ProbeFailure::Refused(error.to_string()),
    }
}
