//! A run of an FMU for one rule.

use std::io;
use std::path::{Path, PathBuf};

use gyrator_fmu::{
    CallError, Fmu, Instance, InstanceOptions, LoadError, ModelDescription, OpenError, OpenOptions,
    StepOutcome,
};

use crate::finding::{Finding, Severity};
use crate::trajectory::{Outputs, Trajectory};

/// Why a trial ended early.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The FMU could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The FMU could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A call failed.
    #[error(transparent)]
    Call(#[from] Box<CallError>),
    /// The FMU did not do a step.
    #[error("the step from t = {0} was discarded")]
    Discarded(f64),
    /// A file could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Steps in a trial, unless the rule needs others.
pub(crate) const STEPS: u32 = 40;

/// A run of an FMU for one rule, in a worker.
#[derive(Debug)]
pub struct Trial {
    /// Number of the rule.
    rule: u8,
    /// How bad it is, as a rule, if the rule is broken.
    severity: Severity,
    /// The FMU's file.
    pub(crate) path: PathBuf,
    /// A folder of this trial, which is its working directory.
    pub(crate) scratch: PathBuf,
    /// How FMUs are opened.
    options: OpenOptions,
    pub(crate) findings: Vec<Finding>,
}

/// Start and step size of a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) start: f64,
    pub(crate) step: f64,
}

impl Grid {
    /// As the FMU recommends, or a thousandth of what it recommends to run.
    fn of(model: &ModelDescription) -> Self {
        let experiment = model.default_experiment;
        let start = experiment.start_time.unwrap_or(0.0);
        let span = experiment.stop_time.map(|stop| stop - start);
        let usual = span.map_or(0.01, |span| span / 1000.0);
        let step = experiment
            .step_size
            .filter(|step| step.is_finite() && *step > 0.0);
        let step = step.unwrap_or(usual);
        Self {
            start,
            step: if step.is_finite() && step > 0.0 {
                step
            } else {
                0.01
            },
        }
    }

    /// The communication point of this number.
    pub(crate) fn time(self, number: u32) -> f64 {
        self.start + f64::from(number) * self.step
    }
}

impl Trial {
    pub(crate) fn new(
        rule: u8,
        severity: Severity,
        path: &Path,
        scratch: &Path,
        options: OpenOptions,
    ) -> Self {
        Self {
            rule,
            severity,
            path: path.to_owned(),
            scratch: scratch.to_owned(),
            options,
            findings: Vec::new(),
        }
    }

    /// The rule is broken.
    pub(crate) fn find(&mut self, message: impl Into<String>) {
        self.graded(self.severity, message);
    }

    /// The rule is broken, with a severity of its own.
    pub(crate) fn graded(&mut self, severity: Severity, message: impl Into<String>) {
        self.findings
            .push(Finding::new(self.rule, severity, message.into()));
    }

    pub(crate) fn open(&self) -> Result<Fmu, Stop> {
        Ok(Fmu::open_with(&self.path, &self.options)?)
    }

    /// Another FMU with the same options; nothing of it is kept.
    pub(crate) fn open_other(&self, path: &Path) -> Result<Fmu, Stop> {
        let options = OpenOptions {
            cache: None,
            ..self.options.clone()
        };
        Ok(Fmu::open_with(path, &options)?)
    }

    pub(crate) fn grid(fmu: &Fmu) -> Grid {
        Grid::of(fmu.description())
    }

    /// Options of an instance that shows what it does to the process.
    pub(crate) fn options() -> InstanceOptions {
        InstanceOptions {
            is_alone: true,
            ..InstanceOptions::default()
        }
    }

    /// An instance at its start time, with its own start values.
    pub(crate) fn begin(fmu: &Fmu, name: &str) -> Result<Instance, Stop> {
        let mut instance = Self::initializing(fmu, name, &Self::options())?;
        instance.exit_initialization_mode()?;
        Ok(instance)
    }

    /// An instance in Initialization Mode.
    pub(crate) fn initializing(
        fmu: &Fmu,
        name: &str,
        options: &InstanceOptions,
    ) -> Result<Instance, Stop> {
        let mut instance = fmu.instantiate(name, options)?;
        let experiment = fmu.description().default_experiment;
        instance.setup_experiment(experiment.tolerance, Self::grid(fmu).start, None)?;
        instance.enter_initialization_mode()?;
        Ok(instance)
    }

    /// Does the step of this number; false if the FMU ends the simulation.
    pub(crate) fn step(instance: &mut Instance, grid: Grid, number: u32) -> Result<bool, Stop> {
        Self::step_with(instance, grid, number, true)
    }

    /// As [`Self::step`]; `is_final` promises that no earlier state will be restored.
    pub(crate) fn step_with(
        instance: &mut Instance,
        grid: Grid,
        number: u32,
        is_final: bool,
    ) -> Result<bool, Stop> {
        let time = grid.time(number);
        let size = grid.time(number + 1) - time;
        match instance.do_step(time, size, is_final)? {
            StepOutcome::Done => Ok(true),
            StepOutcome::Discarded {
                terminated: true, ..
            } => Ok(false),
            StepOutcome::Discarded { .. } => Err(Stop::Discarded(time)),
        }
    }

    /// Runs some steps and notes the outputs after each.
    pub(crate) fn run(
        instance: &mut Instance,
        outputs: &Outputs,
        grid: Grid,
        numbers: std::ops::Range<u32>,
    ) -> Result<Trajectory, Stop> {
        let mut trajectory = outputs.trajectory();
        for number in numbers {
            if !Self::step_with(instance, grid, number, false)? {
                break;
            }
            trajectory.push(grid.time(number + 1), outputs.read(instance)?);
        }
        Ok(trajectory)
    }
}
