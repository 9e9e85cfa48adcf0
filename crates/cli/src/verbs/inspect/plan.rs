//! The step plan of a system.

use std::num::NonZeroUsize;

use gyrator::plan::PlanText;
use gyrator::system::drafted_plan;
use gyrator::{RunOptions, StartError, System};
use gyrator_system::{Problem, SystemFile};
use gyrator_worker::Worker;

use super::Options;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fmu_log;
use crate::hosts;
use crate::screen;
use crate::supervision::Plan;

/// Does the work in a process that loads FMUs.
pub(super) fn supervised(
    options: &Options,
    work: impl FnOnce() -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let plan = Plan::without_files(&options.path, &options.execution);
    plan.carry_out().unwrap_or_else(work)
}

/// Prints the plan of a system: the draft, or with `--start` the plan of its run.
pub(super) fn print(
    options: &Options,
    mut file: SystemFile,
    warnings: &[Problem],
) -> Result<Exit, Failure> {
    for problem in warnings {
        screen::message(&format!("warning: {}\n", problem.message));
    }
    options.execution.isolate(&mut file)?;
    let of_failure = file.clone();
    let not_started = |error| Failure::not_started(error, &of_failure);
    let system = System::from_file(file).map_err(not_started)?;
    let plan = if options.start {
        started(options, &of_failure, &system).map_err(not_started)?
    } else {
        drafted_plan(&system).map_err(not_started)?
    };
    screen::print(&if options.json {
        screen::json(&plan)?
    } else {
        plan.to_string()
    })?;
    if let Some(worker) = Worker::current() {
        worker.results_complete(Exit::Success.code());
    }
    Ok(Exit::Success)
}

/// The plan of a system that is started and ends at once.
fn started(options: &Options, file: &SystemFile, system: &System) -> Result<PlanText, StartError> {
    fmu_log::start(options.execution.log_level);
    let execution = &options.execution;
    let mut units = execution.units(file, None, hosts::isolation(execution.timeout()));
    let run_options = RunOptions {
        threads: execution.worker_threads.map_or(0, NonZeroUsize::get),
        accept_not_finite: execution.no_nan_check,
        ..RunOptions::default()
    };
    let mut run = system.start_with(&run_options, &mut units)?;
    let plan = gyrator::run::plan(&run);
    run.stop()?;
    Ok(plan)
}
