//! `gyrator simulate`: one FMU.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use gyrator_fmu::{DefaultExperiment, Fmu, OpenError};
use gyrator_system::{Component, Experiment, Spanned, SystemFile, Tolerance};
use gyrator_worker::Worker;

use crate::companions::Companion;
use crate::exit::Exit;
use crate::failure::{Failure, advice_on_missing};
use crate::fmu_options::HalvingOptions;
use crate::input_kind::{self, Wanted};
use crate::options::{ExperimentOptions, assignment, set_start_values};
use crate::overwriting::{self, Named};
use crate::session::{Session, SessionOptions};
use crate::table_options::InputOptions;

// A single FMU has no host.
#[derive(Debug, Args)]
#[cfg_attr(feature = "remote", command(mut_arg("host_access", |option| option.hide(true))))]
pub(super) struct Options {
    /// The FMU; its default experiment has the times, unless options give them
    #[arg(value_name = "FMU")]
    fmu: PathBuf,
    #[command(flatten)]
    experiment: ExperimentOptions,
    /// Start value of a variable [repeatable]
    #[arg(long, value_name = "VARIABLE=VALUE", value_parser = assignment, help_heading = "Experiment")]
    start_value: Vec<(String, String)>,
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    halving: HalvingOptions,
    #[command(flatten)]
    session: SessionOptions,
}

/// Simulates the FMU.
pub(super) fn run(mut options: Options) -> Result<Exit, Failure> {
    if let Some((companion, worker)) = Companion::of_this_process().zip(Worker::current()) {
        options.session = options.session.for_companion();
        let accompanied = session(&options).and_then(|of| of.accompany(companion, worker));
        return accompanied.inspect_err(Companion::leave_message);
    }
    let mut inputs = inputs(&options);
    inputs.push(("the FMU", &options.fmu));
    let outputs = options.session.outputs();
    overwriting::refuse(&outputs, &inputs)?;
    let plan = options
        .session
        .plan(&options.fmu, options.session.features.iter().collect());
    match plan.carry_out() {
        Some(outcome) => outcome,
        None => plan.with_summary(|| session(&options)?.execute()),
    }
}

/// Files that are read besides the FMU.
fn inputs(options: &Options) -> Vec<Named<'_>> {
    let input_file = options.input.input_file.as_deref();
    input_file
        .map(|path| ("the input file", path))
        .into_iter()
        .collect()
}

fn session(options: &Options) -> Result<Session<'_>, Failure> {
    let begin = Instant::now();
    input_kind::expect(&options.fmu, Wanted::Fmu)?;
    let peek = Fmu::peek_with(&options.fmu, options.session.fmus.limits());
    let peek = peek.map_err(|error| not_opened(&error))?;
    let name = component_name(&options.fmu);
    let mut system = SystemFile::new(&options.fmu);
    system.experiment = default_experiment(peek.description.default_experiment);
    options.experiment.apply(&mut system.experiment)?;
    check_complete(&system.experiment, &options.fmu)?;
    system.components.push(Component::new(&name, &options.fmu));
    options.halving.apply(&mut system);
    let values = options.start_value.iter().cloned();
    set_start_values(
        &mut system,
        values.map(|(variable, value)| (format!("{name}.{variable}"), value)),
    )?;
    Ok(Session {
        inputs: inputs(options),
        single: Some(name),
        input: Some(&options.input),
        accepts_divergence: true,
        checks_senses: false,
        ..Session::new(system, &options.session, begin)
    })
}

/// An FMU whose description cannot be read.
pub(super) fn not_opened(error: &OpenError) -> Failure {
    let (exit, help) = match error {
        OpenError::Io { path, .. } => (Exit::NotLoaded, advice_on_missing(path)),
        _ if error.is_shortage() => (Exit::NotLoaded, None),
        _ => (Exit::InvalidInput, None),
    };
    let failure = Failure::of(exit, &error);
    failure.advised(help)
}

/// The component is called like the file.
fn component_name(fmu: &std::path::Path) -> String {
    let stem = fmu
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| !stem.is_empty())
        .unwrap_or_else(|| "fmu".to_owned())
}

fn default_experiment(of_fmu: DefaultExperiment) -> Experiment {
    let placed = |number: Option<f64>| number.map(Spanned::unplaced);
    Experiment {
        start_time: placed(of_fmu.start_time),
        stop_time: placed(of_fmu.stop_time),
        step_size: placed(of_fmu.step_size),
        tolerance: of_fmu
            .usable_tolerance()
            .map(|tolerance| Spanned::unplaced(Tolerance::Relative(tolerance))),
        ..Experiment::default()
    }
}

fn check_complete(experiment: &Experiment, fmu: &std::path::Path) -> Result<(), Failure> {
    let missing = [
        ("stop time", "--stop-time", &experiment.stop_time),
        ("step size", "--step-size", &experiment.step_size),
    ];
    let missing = missing.iter().filter(|(_, _, value)| value.is_none());
    let (names, options): (Vec<_>, Vec<_>) =
        missing.map(|(name, option, _)| (*name, *option)).unzip();
    if names.is_empty() {
        return Ok(());
    }
    let text = format!("{} recommends no {}", fmu.display(), names.join(" and no "));
    Err(Failure::usage(text).help(format!("pass {}", options.join(" and "))))
}
