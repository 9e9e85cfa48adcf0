//! The verbs of the command line, one file each.

mod benchmark;
mod compare;
mod compile;
mod completions;
#[cfg(feature = "parquet")]
mod convert;
mod design_hinfinity;
mod doctor;
mod export;
mod fit;
mod groups;
mod inspect;
mod learn;
mod list;
mod man;
mod new_fmu;
mod new_system;
mod pack;
mod plot;
mod replay;
mod report;
mod run;
#[cfg(feature = "remote")]
mod serve;
mod simulate;
mod study;
mod study_plot;
mod study_sensitivity;
mod study_status;
mod validate;

use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::version;

/// Couple FMUs (FMI 2.0 co-simulation), and see what the coupling does to your results
#[derive(Debug, Parser)]
#[command(name = "gyrator", version, long_version = version::long(), max_term_width = 100, after_help = exit::HELP)]
#[command(arg_required_else_help = true, infer_long_args = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

// The options of the named verb alone are made: the options of all verbs are 60 % of the instructions of `gyrator --version`. Options are
// structs with plain comments, since clap would show a doc comment in the place of the verb's.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    /// Run a system of FMUs
    Run(Box<run::Options>),
    /// Write a first system file from FMUs, with the likely connections
    New(new_system::Options),
    /// Run one FMU
    #[command(visible_alias = "run-single")]
    Simulate(simulate::Options),
    /// Show what is in an FMU or a system file
    #[command(visible_alias = "info")]
    Inspect(inspect::Options),
    /// Find the largest stable macro-step, the accuracy and better methods
    Doctor(Box<doctor::Options>),
    /// Write a system as an SSP package, for other tools
    Export(export::Options),
    /// Pack a system as one FMU, with the master inside
    Pack(pack::Options),
    /// Create a Rust crate that becomes an FMU
    #[command(name = "new-fmu")]
    NewFmu(new_fmu::Options),
    /// Compile the sources of an FMU that has no library for this machine
    Compile(compile::Options),
    /// Check FMUs against FMI 2.0
    Validate(validate::Options),
    /// Compare two results, column by column
    Compare(compare::Options),
    /// Draw results: signals, bonds, error bars, several runs
    Plot(plot::Options),
    /// Write a result in another form: CSV, Parquet or Arrow IPC
    #[cfg(feature = "parquet")]
    Convert(convert::Options),
    /// Repeat the recorded calls of an FMU, and compare its answers
    Replay(replay::Options),
    /// Write the report of a finished run, one HTML page
    Report(report::Options),
    /// Learn feed-forward signals for bonds from repeated runs
    Learn(learn::Options),
    /// Run a system with many combinations of values, on all cores
    Study(study::Options),
    /// Fit the parameters of a system to measured results
    #[command(after_help = fit::EXAMPLE)]
    Fit(fit::Options),
    /// Run FMUs for runs on other machines
    #[cfg(feature = "remote")]
    Serve(serve::Options),
    /// List methods, extrapolations and all other keywords
    List(list::Options),
    /// Design the compensator of H-infinity coupling
    #[command(name = "design-hinfinity")]
    DesignHinfinity(design_hinfinity::Options),
    /// Run systems with known solutions, and judge the results
    Benchmark(benchmark::Options),
    /// Print completions for a shell
    Completions(completions::Options),
    /// Write manual pages
    Man(man::Options),
}

/// The command line of the program.
fn command() -> Command {
    groups::grouped(Cli::command())
}

/// The options of a verb, by its name or an alias.
pub(crate) fn command_of(verb: &str) -> Option<Command> {
    let mut program = command();
    program.build();
    program.find_subcommand(verb).cloned()
}

impl Cli {
    /// The command line that this process was given.
    ///
    /// # Errors
    /// Help or the version, if they are asked for; an argument that is not known or not valid.
    pub(crate) fn from_process() -> Result<Self, clap::Error> {
        let mut command = command();
        let matches = command.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// Does what the command line asks for.
    pub(crate) fn run(self, packed_fmu: &[u8]) -> Result<Exit, Failure> {
        match self.verb {
            Verb::Run(options) => run::run(*options),
            Verb::New(options) => new_system::run(&options),
            Verb::Simulate(options) => simulate::run(options),
            Verb::Inspect(options) => inspect::run(&options),
            Verb::Doctor(options) => doctor::run(*options),
            Verb::Export(options) => export::run(options),
            Verb::Pack(options) => pack::run(options, packed_fmu),
            Verb::NewFmu(options) => new_fmu::run(&options),
            Verb::Compile(options) => compile::run(options),
            Verb::Validate(options) => validate::run(&options),
            Verb::Compare(options) => compare::run(&options),
            #[cfg(feature = "parquet")]
            Verb::Convert(options) => convert::run(&options),
            Verb::Plot(options) => plot::run(&options),
            Verb::Replay(options) => replay::run(&options),
            Verb::Report(options) => report::run(&options),
            Verb::Learn(options) => learn::run(options),
            Verb::Study(options) => study::run(&options),
            Verb::Fit(options) => fit::run(&options),
            #[cfg(feature = "remote")]
            Verb::Serve(options) => serve::run(&options),
            Verb::List(options) => list::run(&options),
            Verb::DesignHinfinity(options) => design_hinfinity::run(&options),
            Verb::Benchmark(options) => benchmark::run(&options),
            Verb::Completions(options) => completions::run(&options),
            Verb::Man(options) => man::run(&options),
        }
    }
}
