//! Options for tables that other programs wrote.

use std::path::{Path, PathBuf};

use clap::Args;
use gyrator_record::ReadTableError;

use crate::exit::Exit;
use crate::failure::{Failure, advice_on_missing};

// The column of the times.
#[derive(Debug, Args)]
pub(crate) struct TimeOptions {
    /// Read the times from this column, in files that have it [default: the column time, or t, in any case of letters]
    #[arg(long, value_name = "NAME")]
    time_column: Option<String>,
}

impl TimeOptions {
    /// The name that is asked for.
    pub(crate) fn name(&self) -> Option<&str> {
        self.time_column.as_deref()
    }

    /// Reads files, of which at least one has the column that is asked for.
    ///
    /// # Errors
    /// The first file that cannot be read.
    pub(crate) fn read_all<T>(
        &self,
        paths: &[&Path],
        read: impl Fn(&Path, Option<&str>) -> Result<T, ReadTableError>,
    ) -> Result<Vec<T>, Failure> {
        let mut missing = Vec::new();
        let mut tables = Vec::new();
        for path in paths {
            let found = match read(path, self.name()) {
                Err(error) if self.name().is_some() && error.lacks_time() => {
                    missing.push((error, *path));
                    // If it has no time at all, the column that was asked for is the one to name.
                    read(path, None).map_err(|other| match missing.pop() {
                        Some((error, _)) if other.lacks_time() => error,
                        _ => other,
                    })
                }
                found => found,
            };
            tables.push(found.map_err(|error| not_read(&error, path))?);
        }
        match missing.first() {
            Some((error, path)) if missing.len() == tables.len() => Err(not_read(error, path)),
            _ => Ok(tables),
        }
    }
}

/// A table that cannot be read.
pub(crate) fn not_read(error: &ReadTableError, path: &Path) -> Failure {
    let failure = Failure::of(Exit::InvalidInput, error);
    if error.lacks_time() {
        return failure.help("`--time-column NAME` names the column of the times");
    }
    failure.advised(advice_on_missing(path))
}

// A table that feeds inputs.
#[derive(Debug, Args)]
pub(crate) struct InputOptions {
    /// Feed inputs from a CSV, Parquet or Arrow file with the columns time and names of inputs: VARIABLE for an FMU,
    /// COMPONENT.VARIABLE for a system. Continuous inputs are interpolated linearly between rows; others hold the value
    /// of the last row, and so do those of --hold
    #[arg(long, value_name = "FILE.csv", help_heading = "Experiment")]
    pub(crate) input_file: Option<PathBuf>,
    /// Hold the values of this input between the rows of the input file [repeatable]
    #[arg(
        long,
        value_name = "NAME",
        requires = "input_file",
        help_heading = "Experiment"
    )]
    pub(crate) hold: Vec<String>,
    /// Read the times of the input file from this column [default: the column time, or t, in any case of letters]
    #[arg(
        long,
        value_name = "NAME",
        requires = "input_file",
        help_heading = "Experiment"
    )]
    pub(crate) time_column: Option<String>,
}
