//! Systems as verbs open them, in any format.

use std::path::{Path, PathBuf};

use clap::Args;
use gyrator::system::{FmuCache, further_problems};
use gyrator_fmu::{Limits, OpenOptions};
use gyrator_system::{Problem, SystemFile, check, toml_file};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::input_kind::{self, Kind, Wanted};
use crate::overwriting::Named;

// Options with which a system is opened.
#[derive(Debug, Default, Args)]
pub(crate) struct SystemOptions {
    /// Apply only the parameter sets of an SSP that this option names [repeatable] [default: all that the system
    /// binds]
    #[arg(long, value_name = "NAME", help_heading = "Experiment")]
    parameter_set: Vec<String>,
    /// Read NAME.ssd of an SSP instead of SystemStructure.ssd
    #[arg(long, value_name = "NAME", help_heading = "Experiment")]
    variant: Option<String>,
    /// Times and algorithm of a multi-model of INTO-CPS: its JSON file, often coe.json
    #[arg(long, value_name = "FILE", help_heading = "Experiment")]
    coe: Option<PathBuf>,
}

impl SystemOptions {
    /// The file that is read beside the system's.
    pub(crate) fn input(&self) -> Option<Named<'_>> {
        Some(("the file of times and algorithm", self.coe.as_deref()?))
    }
}

/// Reads a system in the format that its content has; by its file extension if that is not known.
pub(crate) fn read(
    path: &Path,
    options: &SystemOptions,
    limits: Limits,
) -> Result<(SystemFile, Vec<Problem>), Failure> {
    read_with(path, options, limits, |_| Ok(()))
}

/// As [`read`], with values of the command line put in place of the file's. A value of a TOML file that is replaced is
/// not judged.
pub(crate) fn read_with(
    path: &Path,
    options: &SystemOptions,
    limits: Limits,
    replace: impl FnOnce(&mut SystemFile) -> Result<(), Failure>,
) -> Result<(SystemFile, Vec<Problem>), Failure> {
    if let Some((mut system, problems)) = read_package(path, options, limits)? {
        replace(&mut system)?;
        return Ok((system, problems));
    }
    read_toml(path, limits, replace)
}

/// Reads a system that is not TOML; `None` if it is.
fn read_package(
    path: &Path,
    options: &SystemOptions,
    limits: Limits,
) -> Result<Option<(SystemFile, Vec<Problem>)>, Failure> {
    // A package may have variants only.
    let kind = match options.variant {
        Some(_) => None,
        None => input_kind::expect(path, Wanted::System)?,
    };
    let is_ssp = || kind.is_none() && gyrator_ssp::is_ssp(path);
    if kind == Some(Kind::Ssp) || is_ssp() {
        let parameter_sets = options.parameter_set.clone();
        let options = gyrator_ssp::Options {
            parameter_sets,
            variant: options.variant.clone(),
            limits,
        };
        return Ok(Some(gyrator_ssp::read(path, &options)?));
    }
    if !options.parameter_set.is_empty() {
        let text = format!("--parameter-set: {} has no parameter sets", path.display());
        return Err(Failure::usage(text).help("give start values with --start-value"));
    }
    if options.variant.is_some() {
        let text = format!("--variant: {} has no variants", path.display());
        return Err(Failure::usage(text).help("name another system file"));
    }
    let is_into_cps = || kind.is_none() && gyrator_ssp::is_into_cps(path);
    if kind == Some(Kind::IntoCps) || is_into_cps() {
        let coe = options.coe.as_deref();
        return Ok(Some(gyrator_ssp::read_into_cps(path, coe, limits)?));
    }
    if options.coe.is_some() {
        let text = format!("--coe: {} is no multi-model of INTO-CPS", path.display());
        return Err(Failure::usage(text).help("leave the option out"));
    }
    let is_mastersim = || kind.is_none() && gyrator_ssp::is_mastersim(path);
    if kind == Some(Kind::MasterSim) || is_mastersim() {
        return Ok(Some(gyrator_ssp::read_mastersim(path, limits)?));
    }
    let is_osp = || kind.is_none() && gyrator_ssp::is_osp(path);
    if kind == Some(Kind::Osp) || is_osp() {
        return Ok(Some(gyrator_ssp::read_osp(path, limits)?));
    }
    Ok(None)
}

/// A file with errors is read to its end, and its FMUs are opened, for all errors to be shown at once.
fn read_toml(
    path: &Path,
    limits: Limits,
    replace: impl FnOnce(&mut SystemFile) -> Result<(), Failure>,
) -> Result<(SystemFile, Vec<Problem>), Failure> {
    let (mut system, mut problems) = toml_file::read_partly(path)?;
    let of_file = check(&system);
    replace(&mut system)?;
    let left = check(&system);
    problems.retain(|problem| !of_file.contains(problem) || left.contains(problem));
    if !problems.iter().any(Problem::is_error) {
        return Ok((system, problems));
    }
    let cache = FmuCache::new(OpenOptions {
        limits,
        ..OpenOptions::default()
    });
    let (errors, further) = further_problems(&system, &problems, &cache);
    problems.extend(further);
    let problems = system.problems(problems);
    Err(Failure::of_file(&errors, &problems, &system))
}

/// Reads a system for settings in its text: one of another format is written as TOML.
pub(crate) fn read_as_toml(
    path: &Path,
    options: &SystemOptions,
    limits: Limits,
) -> Result<SystemFile, Failure> {
    let (system, _) = read(path, options, limits)?;
    let is_by_content = Kind::of(path).is_some_and(|kind| kind.is_foreign_system());
    let by_name = [
        gyrator_ssp::is_ssp,
        gyrator_ssp::is_osp,
        gyrator_ssp::is_mastersim,
        gyrator_ssp::is_into_cps,
    ];
    if is_by_content || by_name.iter().any(|is_such| is_such(path)) {
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
                failure.advised(help)
            }
            ReadError::Archive(error) => Self::of(Exit::InvalidInput, &error),
        }
    }
}
