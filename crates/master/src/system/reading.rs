//! Reading of systems in any of their formats.

use std::path::Path;

use gyrator_fmu::Limits;
use gyrator_ssp::{
    Options, is_into_cps, is_mastersim, is_osp, is_ssp, read_into_cps, read_mastersim, read_osp,
};
use gyrator_system::{Problem, SystemFile, toml_file};

use crate::start_error::StartError;

/// Reads a system file in the format that its extension selects, or the system in a folder.
pub(super) fn read(path: &Path) -> Result<(SystemFile, Vec<Problem>), StartError> {
    if is_ssp(path) {
        return read_ssp(path, &[]);
    }
    if is_osp(path) {
        return Ok(read_osp(path, Limits::default())?);
    }
    if is_mastersim(path) {
        return Ok(read_mastersim(path, Limits::default())?);
    }
    if is_into_cps(path) {
        return Ok(read_into_cps(path, None, Limits::default())?);
    }
    Ok(toml_file::read(path)?)
}

/// Reads a system of the SSP standard with these of its parameter sets; with all that it binds if none
/// are named.
pub(super) fn read_ssp(
    path: &Path,
    parameter_sets: &[&str],
) -> Result<(SystemFile, Vec<Problem>), StartError> {
    let parameter_sets = parameter_sets.iter().map(|name| (*name).to_owned());
    let options = Options {
        parameter_sets: parameter_sets.collect(),
        ..Options::default()
    };
    Ok(gyrator_ssp::read(path, &options)?)
}

impl From<toml_file::ReadError> for StartError {
    fn from(error: toml_file::ReadError) -> Self {
        match error {
            toml_file::ReadError::Problems(problems) => Self::Invalid(problems),
            other => Self::NotRead(Box::new(other)),
        }
    }
}

impl From<gyrator_ssp::ReadError> for StartError {
    fn from(error: gyrator_ssp::ReadError) -> Self {
        match error {
            gyrator_ssp::ReadError::Problems(problems) => Self::Invalid(problems),
            other => Self::NotRead(Box::new(other)),
        }
    }
}
