//! Reading a table in the format given by the extension of its file.

use std::path::{Path, PathBuf};

use crate::csv_reader::{CsvError, read_csv};
use crate::table::Table;

/// Why a table was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadTableError {
    /// A CSV file was not read.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// A Parquet file was not read.
    #[error("cannot read {}: {message}", path.display())]
    Parquet {
        /// The path as it was given.
        path: PathBuf,
        /// The error.
        message: String,
    },
}

impl ReadTableError {
    pub(crate) fn content(path: &Path, message: String) -> Self {
        let path = path.to_owned();
        Self::Parquet { path, message }
    }
}

/// Reads a result: a Parquet file where its name ends so, else comma-separated values
/// ([`read_csv`]).
///
/// # Errors
///
/// [`ReadTableError`]; for every Parquet file where the feature `parquet` is off.
pub fn read_table(path: &Path) -> Result<Table, ReadTableError> {
    let ending = path.extension().unwrap_or_default();
    if ending.eq_ignore_ascii_case("parquet") {
        parquet(path)
    } else {
        Ok(read_csv(path)?)
    }
}

#[cfg(feature = "parquet")]
use crate::parquet_reader::read_parquet as parquet;

#[cfg(not(feature = "parquet"))]
fn parquet(path: &Path) -> Result<Table, ReadTableError> {
    Err(no_parquet(path))
}

#[cfg(not(feature = "parquet"))]
pub(crate) fn no_parquet(path: &Path) -> ReadTableError {
    let message = "this program was built without Parquet; give the table as CSV";
    ReadTableError::content(path, message.to_owned())
}
