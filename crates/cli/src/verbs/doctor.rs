//! `gyrator doctor`: examines how a system is coupled.

mod table;
mod writing;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use gyrator::profile::{Profile, ProfiledUnits};
use gyrator::system::FmuCache;
use gyrator::{Registries, Run, RunOptions, StartError};
use gyrator_assess::doctor::{Diagnosis, ExamineError, Finding, Limits, StartRuns, examine};
use gyrator_system::{MissingTime, Problem, SystemFile};
use gyrator_worker::{Worker, surroundings};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::fmu_log;
use crate::fmu_options::FmuOptions;
use crate::hosts;
use crate::interrupt::Interrupt;
use crate::options::{
    ExecutionOptions, ExperimentOptions, assignment, positive, set_start_values, time_limit,
};
use crate::supervision::{self, Plan};
use crate::system_input::{self, SystemOptions};
use crate::{overwriting, screen};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The system file: TOML, or SSP as .ssp, .ssd or a folder
    #[arg(value_name = "SYSTEM")]
    system: PathBuf,
    /// Look for the macro-step and the coupling with the least cost for this error of each signal, relative to its RMS
    /// value [default: keep the macro-step]
    #[arg(long, value_name = "RELATIVE_ERROR", value_parser = positive, help_heading = "Examination")]
    #[arg(allow_negative_numbers = true)]
    error: Option<f64>,
    /// Limit for the macro-steps of all short runs together; longer ones count as several. Whole runs have no such limit
    #[arg(long, value_name = "NUMBER", value_parser = positive, default_value = "5000")]
    #[arg(allow_negative_numbers = true)]
    #[arg(help_heading = "Examination")]
    probe_steps: f64,
    /// Time after which no further run is started, and the one in progress ends; 0: no limit
    #[arg(long, value_name = "SECONDS", value_parser = crate::options::not_negative, default_value = "60")]
    #[arg(allow_negative_numbers = true)]
    #[arg(help_heading = "Examination")]
    time_limit: f64,
    /// Write the system with the proposed coupling, or unchanged if none is better: as .toml, with the comments of the
    /// file, or as .ssp
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    write: Option<PathBuf>,
    /// Print JSON
    #[arg(long, help_heading = "Results")]
    json: bool,
    #[command(flatten)]
    experiment: ExperimentOptions,
    #[command(flatten)]
    input: SystemOptions,
    /// Start value of a variable, in place of the system file's [repeatable]
    #[arg(long, value_name = "COMPONENT.VARIABLE=VALUE", value_parser = assignment)]
    #[arg(help_heading = "Experiment")]
    start_value: Vec<(String, String)>,
    #[command(flatten)]
    fmus: FmuOptions,
    #[command(flatten)]
    execution: ExecutionOptions,
}

/// Examines the system, and prints the findings.
pub(super) fn run(options: Options) -> Result<Exit, Failure> {
    let outputs = Vec::from_iter(options.write.as_deref().map(|path| ("--write", path)));
    let mut inputs = vec![("the system file", &*options.system)];
    inputs.extend(options.input.input());
    overwriting::refuse(&outputs, &inputs)?;
    writing::check(options.write.as_deref())?;
    let plan = Plan::without_files(&options.system, &options.execution);
    plan.carry_out().unwrap_or_else(|| examine_here(&options))
}

fn examine_here(options: &Options) -> Result<Exit, Failure> {
    let limits = options.fmus.limits();
    let mut given = SystemFile::new(&options.system);
    let (mut system, warnings) =
        system_input::read_with(&options.system, &options.input, limits, |system| {
            given = system.clone();
            options.experiment.apply(&mut system.experiment)
        })?;
    let outputs = Vec::from_iter(options.write.as_deref().map(|path| ("--write", path)));
    overwriting::refuse_files_of(&system, &outputs)?;
    set_start_values(&mut system, options.start_value.iter().cloned())?;
    options.execution.isolate(&mut system)?;
    fmu_log::start(options.execution.log_level);
    for problem in &warnings {
        let path = options.system.display();
        screen::message(&format!("warning: {path}: {}\n", problem.message));
    }
    let interrupt = Interrupt::listen();
    let deadline =
        time_limit(options.time_limit).and_then(|limit| Instant::now().checked_add(limit));
    let wanted = gyrator_assess::doctor::Options {
        wanted: options.error,
        limits: Limits {
            steps: options.probe_steps,
            deadline,
            interrupt: Some(interrupt.requested()),
        },
        registries: Registries::default(),
    };
    let mut probes = Probes {
        options,
        interrupt: &interrupt,
        cache: FmuCache::new(options.fmus.open_options()),
    };
    let diagnosis = match examine(&mut probes, &system, &wanted) {
        Ok(diagnosis) => diagnosis,
        Err(ExamineError::Interrupted) => return Ok(Exit::Interrupted),
        Err(error) => return Err(not_examined(error, &system)),
    };
    let text = match options.json {
        true => screen::json(&diagnosis)?,
        false => table::of(&diagnosis),
    };
    screen::print(&text)?;
    let exit = exit(&diagnosis, options.write.is_some());
    if let Some(path) = options.write.as_ref().filter(|_| exit != Exit::Success) {
        let path = path.display();
        screen::message(&format!(
            "{path} is not written: no stable coupling was found\n"
        ));
    } else if let Some(path) = &options.write {
        surroundings::in_own(|| writing::write(path, &given, &diagnosis, options))?;
        if !options.json {
            screen::print(&format!("{}\n", path.display()))?;
        }
    }
    if let Some(worker) = Worker::current() {
        worker.results_complete(exit.code());
    }
    Ok(exit)
}

/// A coupling that is unstable is a finding like a check that does not hold, unless a stable one was written.
fn exit(diagnosis: &Diagnosis, is_written: bool) -> Exit {
    let is_changed =
        diagnosis.proposal.factor != 1.0 || !diagnosis.proposal.coupling.is_unchanged();
    match diagnosis.stability.finding {
        Finding::Unstable if !(is_written && is_changed) => Exit::CheckFailed,
        _ => Exit::Success,
    }
}

/// Starts probe runs.
struct Probes<'a> {
    options: &'a Options,
    interrupt: &'a Interrupt,
    cache: FmuCache,
}

impl StartRuns for Probes<'_> {
    fn start(&mut self, system: SystemFile) -> Result<Run, StartError> {
        self.run(system, None)
    }

    fn start_measured(&mut self, system: SystemFile, profile: &Profile) -> Result<Run, StartError> {
        self.run(system, Some(profile))
    }

    fn renew(&mut self) {
        self.cache.renew();
    }
}

impl Probes<'_> {
    fn run(&mut self, system: SystemFile, profile: Option<&Profile>) -> Result<Run, StartError> {
        let execution = &self.options.execution;
        let run_options = RunOptions {
            accept_not_finite: false,
            ..execution.run_options(self.interrupt)
        };
        let isolation = hosts::isolation(execution.timeout());
        let units = execution.units(&system, profile, isolation);
        let mut units = ProfiledUnits::new(units, profile.cloned());
        surroundings::in_own(|| {
            let system = self.cache.system(system)?;
            let mut run = system.start_with(&run_options, &mut units)?;
            if let Some(worker) = Worker::current() {
                supervision::track(&mut run, worker);
            }
            Ok(run)
        })
    }
}

fn not_examined(error: ExamineError, system: &SystemFile) -> Failure {
    match error {
        ExamineError::Start(error) => Failure::not_started(error, system),
        ExamineError::NoStepSize => {
            let problem = Problem::error("no-step-size", "no macro-step is given");
            let help = system.advice_on_missing(MissingTime::StepSize);
            system.problems(vec![problem.help(help)]).into()
        }
        error => Failure::of(Exit::Failed, &error),
    }
}
