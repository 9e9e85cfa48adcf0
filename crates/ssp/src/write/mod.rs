//! Writes a system as an `.ssp` with its FMUs.

mod connectors;
mod structure;
mod supplement;
pub mod xml;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gyrator_fmu::{Fmu, Limits, ModelDescription, OpenError};
use gyrator_system::{Component, Problems, SystemFile};
use zip::CompressionMethod;
use zip::result::ZipError;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::package::DESCRIPTION;

/// Why a system was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// An FMU cannot be read.
    #[error("component `{component}`: {source}")]
    Fmu {
        /// Name of the component.
        component: String,
        /// The reason.
        source: OpenError,
    },
    /// The system names what its FMUs do not have.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// The archive cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The archive, or an FMU that is copied into it.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The FMUs of a system, by component and by file.
struct Fmus {
    /// Name in the archive by path on disk.
    entries: BTreeMap<PathBuf, String>,
    /// Descriptions by path on disk.
    models: BTreeMap<PathBuf, Arc<ModelDescription>>,
}

impl Fmus {
    fn open(system: &SystemFile, limits: Limits) -> Result<Self, WriteError> {
        let mut fmus = Self {
            entries: BTreeMap::new(),
            models: BTreeMap::new(),
        };
        let mut used = BTreeSet::new();
        for component in system
            .components
            .iter()
            .filter(|component| has_fmu(component))
        {
            let path = &component.fmu.value;
            if fmus.models.contains_key(path) {
                continue;
            }
            let peek = Fmu::peek_with(path, limits).map_err(|source| WriteError::Fmu {
                component: component.name.value.clone(),
                source,
            })?;
            fmus.models.insert(path.clone(), peek.description);
            fmus.entries
                .insert(path.clone(), entry_name(path, &mut used));
        }
        Ok(fmus)
    }

    fn model(&self, component: &Component) -> Option<&ModelDescription> {
        self.models.get(&component.fmu.value).map(|model| &**model)
    }
}

/// Whether a component is an FMU; others have no place in the standard.
fn has_fmu(component: &Component) -> bool {
    !component.fmu.value.as_os_str().is_empty()
}

/// A name in the archive that no other FMU has, whatever the case of its letters. Only characters
/// that every tool reads in a URI stay.
fn entry_name(path: &Path, used: &mut BTreeSet<String>) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    let stem: String = stem
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .collect();
    let mut name = format!("resources/{stem}.fmu");
    let mut number = 1;
    while !used.insert(name.to_lowercase()) {
        number += 1;
        name = format!("resources/{stem}-{number}.fmu");
    }
    name
}

/// Writes a system as an `.ssp` (SSP 1.0) with its FMUs, so that other tools can run it. Bonds, methods, steps and all
/// else that the standard cannot express stand in annotations, which [`read`](crate::read) understands. Equal systems
/// with equal FMUs give equal bytes.
///
/// # Errors
///
/// [`WriteError`] if an FMU cannot be read, if the system names a variable that its FMU does not
/// have, or if the archive cannot be written. An earlier file is then still there.
pub fn write(system: &SystemFile, target: &Path, limits: Limits) -> Result<(), WriteError> {
    write_with(system, &BTreeMap::new(), target, limits)
}

/// As [`write()`], with further files, by their paths on disk, that stand in the archive under these
/// names: tables of blocks.
///
/// # Errors
///
/// As [`write()`], and if one of the files cannot be read.
pub fn write_with(
    system: &SystemFile,
    files: &BTreeMap<PathBuf, String>,
    target: &Path,
    limits: Limits,
) -> Result<(), WriteError> {
    let fmus = Fmus::open(system, limits)?;
    let text = structure::text(system, &fmus, target)?;
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let file = tempfile::NamedTempFile::new_in(folder)
        // The error has the path of the draft, which says nothing to users.
        .map_err(|error| io_error(target)(error.kind().into()))?;
    let mut zip = ZipWriter::new(io::BufWriter::new(file.as_file()));
    if let Err(error) = fill(&mut zip, &text, fmus.entries.iter().chain(files), target) {
        // Dropped, it writes what is left and prints that it cannot.
        std::mem::forget(zip);
        return Err(error);
    }
    let writer = zip.finish().map_err(io_of_zip);
    writer
        .and_then(|writer| writer.into_inner().map_err(io::IntoInnerError::into_error))
        .map_err(io_error(target))?;
    set_usual_mode(file.as_file()).map_err(io_error(target))?;
    let kept = file.persist(target).map_err(|error| error.error);
    kept.map(|_| ()).map_err(io_error(target))
}

/// Writes the description and the files, and leaves nothing in the buffer.
fn fill<'a, W: io::Write + io::Seek>(
    zip: &mut ZipWriter<W>,
    description: &str,
    files: impl Iterator<Item = (&'a PathBuf, &'a String)>,
    target: &Path,
) -> Result<(), WriteError> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file(DESCRIPTION, options)
        .map_err(io_of_zip)
        .and_then(|()| zip.write_all(description.as_bytes()))
        .map_err(io_error(target))?;
    for (path, entry) in files {
        let mut fmu = File::open(path).map_err(io_error(path))?;
        let size = fmu.metadata().map_err(io_error(path))?.len();
        // FMUs are compressed already.
        let stored = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(size > u64::from(u32::MAX));
        zip.start_file(entry.as_str(), stored)
            .map_err(io_of_zip)
            .and_then(|()| io::copy(&mut fmu, zip).map(|_| ()))
            .map_err(io_error(target))?;
    }
    zip.flush().map_err(io_error(target))
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let path = path.to_owned();
    move |source| WriteError::Io { path, source }
}

/// The error of the operating system, if it is one.
fn io_of_zip(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        error => error.into(),
    }
}

/// Temporary files can be read by their owner alone.
#[cfg(unix)]
fn set_usual_mode(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_usual_mode(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_names_of_their_own() {
        let mut used = BTreeSet::new();
        let mut name = |path: &str| entry_name(path.as_ref(), &mut used);
        assert_eq!(name("a/Left.fmu"), "resources/Left.fmu");
        assert_eq!(name("b/left.fmu"), "resources/left-2.fmu");
        assert_eq!(name("c/Motor (1).fmu"), "resources/Motor__1_.fmu");
    }
}
