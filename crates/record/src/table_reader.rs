//! Reading a table in the format given by the extension of its file.

use std::path::{Path, PathBuf};

use crate::csv_reader::{CsvError, check_separator, read_csv};
use crate::result_file::{self, ResultFile, is_columnar};
use crate::table::{Series, Table, Values};

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

/// Reads a result: a Parquet file or one of Arrow's IPC format (`.arrow`, `.feather`) or of doubles (`.rows`) where its name ends so, else
/// comma-separated values ([`read_csv`]).
///
/// # Errors
///
/// [`ReadTableError`]; for every file of these forms where the feature `parquet` is off.
pub fn read_table(path: &Path) -> Result<Table, ReadTableError> {
    if is_columnar(path) {
        ResultFile::open(path)?.table()
    } else {
        Ok(read_csv(path)?)
    }
}

/// Reads all columns of a table, with a time or without one, of the forms of [`read_table`]; of comma-separated values all
/// as texts.
///
/// # Errors
///
/// As [`read_table`].
pub fn read_columns(path: &Path) -> Result<Vec<Series>, ReadTableError> {
    if let Some(columns) = result_file::columns(path) {
        return columns;
    }
    let fail = |error: &csv::Error| CsvError::Content {
        path: path.to_owned(),
        line: error
            .position()
            .map_or(1, |place| usize::try_from(place.line()).unwrap_or(1)),
        message: error.to_string(),
    };
    let bytes = std::fs::read(path).map_err(|source| CsvError::Io {
        path: path.to_owned(),
        source,
    })?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    // The `csv` crate says where a text is none.
    check_separator(std::str::from_utf8(bytes).unwrap_or_default()).map_err(
        |(line, message)| CsvError::Content {
            path: path.to_owned(),
            line,
            message,
        },
    )?;
    let mut reader = csv::Reader::from_reader(bytes);
    let names = reader.headers().map_err(|error| fail(&error))?.clone();
    let mut columns: Vec<Vec<String>> = vec![Vec::new(); names.len()];
    for row in reader.records() {
        let row = row.map_err(|error| fail(&error))?;
        for (column, cell) in columns.iter_mut().zip(&row) {
            column.push(cell.to_owned());
        }
    }
    let series = names.iter().zip(columns).map(|(name, texts)| Series {
        name: name.to_owned(),
        values: Values::Text(texts),
    });
    Ok(series.collect())
}

#[cfg(not(feature = "parquet"))]
pub(crate) fn no_parquet<T>(path: &Path) -> Result<T, ReadTableError> {
    let message = "this program was built without Parquet and Arrow; give the table as CSV";
    Err(ReadTableError::content(path, message.to_owned()))
}
