//! The file of a proposal.

use std::path::Path;
use std::sync::Arc;

use gyrator_doctor::{Diagnosis, rewrite};
use gyrator_system::{Source, SystemFile, toml_file};

use super::Options;
use crate::exit::Exit;
use crate::failure::{Failure, Message, is_named};
use crate::screen;

/// Refuses a file of another kind.
pub(super) fn check(path: Option<&Path>) -> Result<(), Failure> {
    match path {
        Some(path) if !is_named(path, "toml") && !is_named(path, "ssp") => {
            let text = format!("--write {}: write a .toml or an .ssp", path.display());
            Err(Failure::usage(text))
        }
        _ => Ok(()),
    }
}

/// Writes the system of the file with what is proposed.
pub(super) fn write(
    path: &Path,
    given: &SystemFile,
    diagnosis: &Diagnosis,
    options: &Options,
) -> Result<(), Failure> {
    let proposal = &diagnosis.proposal;
    let is_toml = is_named(&given.source.path, "toml");
    let system = gyrator_assess::at_other_step(&proposal.coupling.applied(given), proposal.factor);
    if is_named(path, "ssp") {
        return super::super::export::package(system, path, &options.fmus);
    }
    let text = match is_toml && is_same_folder(path, &given.source.path) {
        true => rewrite(given, proposal)
            .map_err(|error| Failure::new(Exit::InvalidInput, Message::error(error.to_string())))?,
        false => {
            let mut system = system;
            system.source = Arc::new(Source::new(path, ""));
            toml_file::to_toml(&system)
        }
    };
    screen::file(path, &text).map_err(|error| {
        let text = format!("cannot write {}: {error}", path.display());
        Failure::new(Exit::Failed, Message::error(text))
    })
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    let folder = |path: &Path| {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).canonicalize().ok()
    };
    folder(one).is_some() && folder(one) == folder(other)
}
