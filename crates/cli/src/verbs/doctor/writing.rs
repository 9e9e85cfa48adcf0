//! The file of a proposal.

use std::path::Path;
use std::sync::Arc;

use gyrator_assess::at_other_step;
use gyrator_assess::doctor::{Diagnosis, rewrite};
use gyrator_system::{Source, SystemFile, toml_file};

use super::Options;
use crate::exit::Exit;
use crate::failure::{Failure, is_named};
use crate::screen;

/// Refuses a file of another kind.
pub(super) fn check(path: Option<&Path>) -> Result<(), Failure> {
    match path {
        Some(path) if !is_named(path, "toml") && !is_named(path, "ssp") => {
            let text = format!(
                "--write {}: the name must end in .toml or .ssp",
                path.display()
            );
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
    let mut system = at_other_step(&proposal.coupling.applied(given), proposal.factor);
    for (bond, given) in system.bonds.iter_mut().zip(&given.bonds) {
        bond.max_residual_energy
            .clone_from(&given.max_residual_energy);
    }
    if is_named(path, "ssp") {
        return super::super::export::package(system, path, &options.fmus);
    }
    if given.unpacked.folder().is_some() {
        let text = format!(
            "--write {}: the name must end in .ssp, as the FMUs are in an archive",
            path.display()
        );
        return Err(Failure::usage(text));
    }
    let text = if is_named(&given.source.path, "toml") {
        let text = rewrite(given, proposal, path);
        text.map_err(|error| Failure::of(Exit::InvalidInput, &error))?
    } else {
        system.source = Arc::new(Source::new(path, ""));
        toml_file::to_toml(&system)
    };
    screen::file(path, &text).map_err(|error| Failure::not_written(path.display(), &error))
}
