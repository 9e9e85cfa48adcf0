//! Why a table is not read.

use std::path::{Path, PathBuf};

use crate::heading::{MANY_COLUMNS, NO_COLUMN};

/// Why a CSV file was not read.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The content is not a table of numbers over time.
    #[error("{}:{line}: {message}", path.display())]
    Content {
        /// The path as it was given.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The error, and how to correct it.
        message: String,
    },
}

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
    /// Whether it is not known which column has the times, or the one that was asked for is not there.
    #[must_use]
    pub fn lacks_time(&self) -> bool {
        match self {
            Self::Csv(CsvError::Content { message, .. }) | Self::Parquet { message, .. } => {
                message.starts_with(NO_COLUMN) || message.starts_with(MANY_COLUMNS)
            }
            Self::Csv(CsvError::Io { .. }) => false,
        }
    }

    pub(crate) fn content(path: &Path, message: String) -> Self {
        let path = path.to_owned();
        Self::Parquet { path, message }
    }
}

#[cfg(not(feature = "parquet"))]
pub(crate) fn no_parquet<T>(path: &Path) -> Result<T, ReadTableError> {
    let message = "this program was built without Parquet and Arrow; give the table as CSV";
    Err(ReadTableError::content(path, message.to_owned()))
}
