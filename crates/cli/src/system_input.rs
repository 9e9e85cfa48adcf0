//! Systems as verbs open them, in any format.

use std::path::Path;

use clap::Args;
use gyrator_fmu::Limits;
use gyrator_system::{Problem, SystemFile, toml_file};

use crate::exit::Exit;
use crate::failure::{Failure, Message};

/// Options with which a system is opened.
#[derive(Debug, Default, Args)]
pub(crate) struct SystemOptions {
    /// Apply this parameter set of an SSP, and no other than the named ones [repeatable] [default: all
    /// that the system binds]
    #[arg(long, value_name = "NAME", help_heading = "Experiment")]
    parameter_set: Vec<String>,
    /// Read the description NAME.ssd of an SSP in place of SystemStructure.ssd
    #[arg(long, value_name = "NAME", help_heading = "Experiment")]
    variant: Option<String>,
}

/// Reads a system: SSP and OSP by the ending of its name or as a folder that holds one, else TOML.
pub(crate) fn read(
    path: &Path,
    options: &SystemOptions,
    limits: Limits,
) -> Result<(SystemFile, Vec<Problem>), Failure> {
    if gyrator_ssp::is_ssp(path) {
        let parameter_sets = options.parameter_set.clone();
        let options = gyrator_ssp::Options {
            parameter_sets,
            variant: options.variant.clone(),
            limits,
        };
        return Ok(gyrator_ssp::read(path, &options)?);
    }
    if !options.parameter_set.is_empty() {
        let text = format!("--parameter-set: {} has no parameter sets", path.display());
        return Err(Failure::usage(text).help("give start values with --start-value"));
    }
    if options.variant.is_some() {
        let text = format!("--variant: {} has no variants", path.display());
        return Err(Failure::usage(text).help("name another system file"));
    }
    if gyrator_ssp::is_osp(path) {
        return Ok(gyrator_ssp::read_osp(path, limits)?);
    }
    Ok(toml_file::read(path)?)
}

/// Reads a system for settings in its text: one of another format is written as TOML.
pub(crate) fn read_as_toml(
    path: &Path,
    options: &SystemOptions,
    limits: Limits,
) -> Result<SystemFile, Failure> {
    let (system, _) = read(path, options, limits)?;
    if gyrator_ssp::is_ssp(path) || gyrator_ssp::is_osp(path) {
        return Ok(toml_file::as_toml(system)?);
    }
    Ok(system)
}

impl From<gyrator_ssp::ReadError> for Failure {
    fn from(error: gyrator_ssp::ReadError) -> Self {
        use gyrator_ssp::ReadError;
        let help = error.help();
        match error {
            ReadError::Problems(problems) => problems.into(),
            ReadError::UnknownParameterSet { .. } | ReadError::UnknownVariant { .. } => {
                let option = match error {
                    ReadError::UnknownVariant { .. } => "--variant",
                    _ => "--parameter-set",
                };
                let failure = Self::usage(format!("{option}: {error}"));
                match help {
                    Some(help) => failure.help(help),
                    None => failure,
                }
            }
            ReadError::Archive(error) => {
                Self::new(Exit::InvalidInput, Message::error(error.to_string()))
            }
        }
    }
}
