//! Compares a run of an FMU with reference results.
//!
//! References come from files of fmi-cross-check (rules 4.1), given or lying beside the FMU, and
//! from the manifest of the layered standard FMI-LS-REF in the FMU itself.

mod experiment;
mod judge;
mod manifest;
mod run;
mod tube;

pub use experiment::{Experiment, OptionsError};
pub use judge::compare;
pub use manifest::{Manifest, Related};
pub(crate) use run::{Recording, run};
pub use tube::outliers;

use std::path::{Path, PathBuf};

use gyrator_record::{CsvError, Table, parse_csv, read_csv};

use crate::finding::{Finding, Severity};
use crate::subject::Subject;

/// A reference that an FMU is compared with.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Its origin, for messages.
    pub name: String,
    /// The expected values.
    pub results: Table,
    /// CSV file with the values of the inputs.
    pub input: Option<PathBuf>,
    /// When to run, and in which steps.
    pub experiment: Experiment,
    /// Whether the FMU brings it itself, perhaps as one table for several versions of the model.
    pub is_own: bool,
}

/// Why a reference cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// A table of values.
    #[error(transparent)]
    Table(#[from] CsvError),
    /// A table without values.
    #[error("{}: there are no {missing}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Columns or rows.
        missing: &'static str,
    },
    /// An options file.
    #[error(transparent)]
    Options(#[from] OptionsError),
}

impl Reference {
    /// Reads the files of fmi-cross-check: `*_ref.csv`, `*_in.csv`, `*_ref.opt`.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn read(
        results: &Path,
        input: Option<&Path>,
        options: Option<&Path>,
    ) -> Result<Self, ReferenceError> {
        let experiment = match options {
            Some(path) => Experiment::read(path)?,
            None => Experiment::default(),
        };
        // If it cannot be read, that is better said before anything runs.
        if let Some(input) = input {
            read_table(input)?;
        }
        Ok(Self {
            name: results.display().to_string(),
            results: read_table(results)?,
            input: input.map(Path::to_owned),
            experiment,
            is_own: false,
        })
    }

    /// The files of fmi-cross-check that lie beside `M.fmu`: `M_ref.csv` and, if they are there,
    /// `M_in.csv` and `M_ref.opt`.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn beside(fmu: &Path) -> Result<Option<Self>, ReferenceError> {
        let Some(stem) = fmu
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
        else {
            return Ok(None);
        };
        let file = |ending: &str| {
            let path = fmu.with_file_name(format!("{stem}{ending}"));
            Some(path).filter(|path| path.is_file())
        };
        let Some(results) = file("_ref.csv") else {
            return Ok(None);
        };
        let (input, options) = (file("_in.csv"), file("_ref.opt"));
        Self::read(&results, input.as_deref(), options.as_deref()).map(Some)
    }

    /// The results that the FMU itself brings for its default experiment, by the manifest of
    /// FMI-LS-REF; errors in them as findings of rule V-53.
    #[must_use]
    pub fn within(subject: &Subject) -> (Vec<Self>, Vec<Finding>) {
        let (mut references, mut findings) = (Vec::new(), Vec::new());
        let Some((contents, manifest)) = Manifest::of(subject).and_then(Result::ok) else {
            return (references, findings);
        };
        for (name, entry) in manifest.results() {
            let table = contents.bytes(&entry, manifest::LARGEST).and_then(|bytes| {
                let path = Path::new(&entry);
                let table = parse_csv(&bytes, path).map_err(ReferenceError::from);
                let table = table.and_then(|table| with_values(table, path));
                table.map_err(|error| error.to_string())
            });
            match table {
                Ok(results) => references.push(Self {
                    name: format!("{entry} ({name})"),
                    results,
                    input: None,
                    experiment: Experiment::default(),
                    is_own: true,
                }),
                Err(message) => findings.push(Finding::new(
                    53,
                    Severity::Warning,
                    format!("{entry}: {message}"),
                )),
            }
        }
        (references, findings)
    }
}

/// Reads a table of inputs or of results: comma-separated values, with a column and a row at least.
pub(crate) fn read_table(path: &Path) -> Result<Table, ReferenceError> {
    with_values(read_csv(path)?, path)
}

fn with_values(table: Table, path: &Path) -> Result<Table, ReferenceError> {
    let missing = match (table.series.is_empty(), table.time.is_empty()) {
        (true, _) => "columns but the time",
        (_, true) => "rows",
        _ => return Ok(table),
    };
    Err(ReferenceError::Empty {
        path: path.to_owned(),
        missing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_without_values_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (text, words) in [("time\n0\n", "no columns"), ("time,a\n", "no rows")] {
            let path = folder.path().join("a_ref.csv");
            std::fs::write(&path, text).unwrap();
            let error = Reference::read(&path, None, None).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
