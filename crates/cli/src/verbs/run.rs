//! `gyrator run`: a system of FMUs.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use gyrator_worker::Worker;

use super::learn;
use crate::companions::Companion;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::feature::Feature;
use crate::features::{Features, OF_SYSTEMS};
use crate::fmu_options::HalvingOptions;
use crate::options::{CouplingOptions, ExperimentOptions, assignment, set_start_values};
use crate::overwriting::{self, Named};
use crate::session::{Session, SessionOptions};
use crate::state_options::StateOptions;
use crate::system_input::{self, SystemOptions};
use crate::table_options::InputOptions;
use crate::verification::VerificationOptions;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The system file: TOML, or SSP as .ssp, .ssd or a folder
    #[arg(value_name = "SYSTEM")]
    system: PathBuf,
    #[command(flatten)]
    experiment: ExperimentOptions,
    #[command(flatten)]
    input: SystemOptions,
    /// Start value of a variable, in place of the system file's [repeatable]
    #[arg(long, value_name = "COMPONENT.VARIABLE=VALUE", value_parser = assignment)]
    #[arg(help_heading = "Experiment")]
    start_value: Vec<(String, String)>,
    #[command(flatten)]
    inputs: InputOptions,
    #[command(flatten)]
    halving: HalvingOptions,
    #[command(flatten)]
    coupling: CouplingOptions,
    /// Add to inputs the feed-forward that `gyrator learn` wrote for this system
    #[arg(long, value_name = "FILE.csv", help_heading = "Experiment")]
    feed_forward: Option<PathBuf>,
    /// End with exit code 0 even if the coupling diverges
    #[arg(long, help_heading = "Results")]
    accept_divergence: bool,
    /// Leave out the test, after the last step, for bonds whose `sense` is likely wrong; for FMUs that crash when they
    /// restore a state
    #[arg(long, help_heading = "FMUs")]
    no_sense_check: bool,
    #[command(flatten)]
    verification: VerificationOptions,
    #[command(flatten)]
    features: Features<OF_SYSTEMS>,
    #[command(flatten)]
    states: StateOptions,
    #[command(flatten)]
    session: SessionOptions,
}

/// Runs the system.
pub(super) fn run(mut options: Options) -> Result<Exit, Failure> {
    if let Some((companion, worker)) = Companion::of_this_process().zip(Worker::current()) {
        options.features = Features::default();
        options.session = options.session.for_companion();
        let accompanied = session(&options).and_then(|of| of.accompany(companion, worker));
        return accompanied.inspect_err(Companion::leave_message);
    }
    let mut inputs = inputs(&options);
    inputs.push(("the system file", &options.system));
    let mut outputs = options.session.outputs();
    outputs.extend(options.features.iter().flat_map(Feature::output));
    outputs.extend(options.states.output());
    overwriting::refuse(&outputs, &inputs)?;
    let read = || session(&options).map(|session| session.system);
    let mut plan = options.session.plan(&options.system, features(&options));
    plan.read = Some(&read);
    match plan.carry_out() {
        Some(outcome) => outcome,
        None => plan.with_summary(|| run_here(&options)),
    }
}

fn features(options: &Options) -> Vec<&dyn Feature> {
    let of_systems = options.features.iter();
    options.session.features.iter().chain(of_systems).collect()
}

/// Files that are read besides the system's.
fn inputs(options: &Options) -> Vec<Named<'_>> {
    let feed_forward = options.feed_forward.as_deref();
    let feed_forward = feed_forward.map(|path| ("the feed-forward", path));
    let input_file = options.inputs.input_file.as_deref();
    let input_file = input_file.map(|path| ("the input file", path));
    let features = features(options).into_iter();
    let of_features = features.flat_map(Feature::input);
    let all = feed_forward.into_iter().chain(input_file);
    let all = all.chain(of_features).chain(options.states.input());
    all.chain(options.input.input()).collect()
}

fn run_here(options: &Options) -> Result<Exit, Failure> {
    let mut session = session(options)?;
    session.states = Some(&options.states);
    session.execute()
}

fn session(options: &Options) -> Result<Session<'_>, Failure> {
    let begin = Instant::now();
    let limits = options.session.fmus.limits();
    let (mut system, warnings) =
        system_input::read_with(&options.system, &options.input, limits, |system| {
            options.coupling.apply(system);
            options.experiment.apply(&mut system.experiment)
        })?;
    options.halving.apply(&mut system);
    set_start_values(&mut system, options.start_value.iter().cloned())?;
    let feed_forward = options.feed_forward.as_deref().map(learn::read);
    Ok(Session {
        warnings,
        features: features(options),
        inputs: inputs(options),
        input: Some(&options.inputs),
        feed_forward: feed_forward.transpose()?,
        verification: Some(&options.verification),
        accepts_divergence: options.accept_divergence,
        checks_senses: !options.no_sense_check,
        ..Session::new(system, &options.session, begin)
    })
}
