//! `gyrator export`: a system with its FMUs, for other tools.

use std::path::PathBuf;

use clap::Args;
use gyrator::{FmuCache, expand_patterns};
use gyrator_ssp::WriteError;

use crate::exit::Exit;
use crate::failure::{Failure, Message, is_named};
use crate::fmu_options::FmuOptions;
use crate::options::{assignment, set_start_values};
use crate::system_input::{self, SystemOptions};
use crate::{overwriting, screen};

/// Options of `gyrator export`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The system file
    #[arg(value_name = "SYSTEM")]
    system: PathBuf,
    /// Write an SSP 1.0 package with the FMUs in it
    #[arg(long, short = 'o', value_name = "FILE.ssp")]
    output_file: PathBuf,
    #[command(flatten)]
    input: SystemOptions,
    /// Start value of a variable, in place of what the system file says [repeatable]
    #[arg(long, value_name = "COMPONENT.VARIABLE=VALUE", value_parser = assignment)]
    #[arg(help_heading = "Experiment")]
    start_value: Vec<(String, String)>,
    #[command(flatten)]
    fmus: FmuOptions,
}

/// Writes the package.
pub(super) fn run(options: Options) -> Result<Exit, Failure> {
    let target = &options.output_file;
    if !is_named(target, "ssp") {
        let text = format!("--output-file {}: write an .ssp", target.display());
        return Err(Failure::usage(text));
    }
    let outputs = [("--output-file", &**target)];
    overwriting::refuse(&outputs, &[("the system file", &*options.system)])?;
    let limits = options.fmus.limits();
    let (mut system, warnings) = system_input::read(&options.system, &options.input, limits)?;
    overwriting::refuse_files_of(&system, &outputs)?;
    set_start_values(&mut system, options.start_value)?;
    for problem in &warnings {
        screen::message(&format!("warning: {}\n", problem.message));
    }
    let cache = FmuCache::new(options.fmus.open_options());
    let system = expand_patterns(system, &cache)?;
    gyrator_ssp::write(&system, target, limits)?;
    screen::print(&format!("{}\n", target.display()))?;
    Ok(Exit::Success)
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let exit = match error {
            WriteError::Problems(problems) => return problems.into(),
            WriteError::Fmu { .. } => Exit::NotLoaded,
            WriteError::Io { .. } => Exit::Failed,
        };
        Self::new(exit, Message::error(error.to_string()))
    }
}
