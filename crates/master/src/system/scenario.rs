//! The scenario that a system file names.

use gyrator_system::toml_file::{ReadError, read_scenario};
use gyrator_system::{Problem, Scenario, SystemFile};

use crate::block::leads_out;
use crate::start_error::StartError;

/// Reads the scenario that a system file names.
///
/// # Errors
/// All problems of its text, or the reason why it cannot be read.
pub(super) fn read(file: &SystemFile) -> Result<Option<Scenario>, StartError> {
    let Some((path, named)) = file.scenario_path().zip(file.experiment.scenario.as_ref()) else {
        return Ok(None);
    };
    let refuse = |message: String| {
        let problem = Problem::error("scenario", message);
        let list = vec![match named.span.is_empty() {
            true => problem,
            false => problem.at(&named.span),
        }];
        StartError::Invalid(file.problems(list))
    };
    let is_of_archive = file.unpacked.folder().is_some() && !named.span.is_empty();
    if is_of_archive && leads_out(&named.value) {
        let name = named.value.display();
        return Err(refuse(format!("`{name}` leads out of the archive")));
    }
    match read_scenario(&path) {
        Ok(scenario) => Ok(Some(scenario)),
        Err(ReadError::Problems(problems)) => Err(StartError::Invalid(problems)),
        Err(error) => Err(refuse(error.to_string())),
    }
}
