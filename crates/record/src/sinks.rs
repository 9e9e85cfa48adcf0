//! The forms of result files that a run can write: what [`create_sink`] picks from by the ending of a name. A new form
//! is a sink in a file of its own and an entry of [`SINKS`].

use std::path::Path;

#[cfg(feature = "parquet")]
use crate::columnar_form::{ColumnarForm, PARQUET};
#[cfg(feature = "parquet")]
use crate::columnar_sink::{self, ColumnarSink};
use crate::csv_sink::CsvSink;
use crate::part_file::PartFile;
use crate::row_encoding::DOUBLES;
use crate::sink::{RecordError, RowSink};

/// A form of result files.
#[derive(Debug)]
pub struct SinkInfo {
    /// Ending of the file's name, without the dot and in lower case.
    pub ending: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Creates the file.
    pub create: fn(&Path) -> Result<Box<dyn RowSink>, RecordError>,
}

/// Every form of result files; Parquet and Arrow if the feature `parquet` is on.
pub const SINKS: &[SinkInfo] = &[
    SinkInfo {
        ending: "csv",
        about: "comma-separated values (RFC 4180) with all digits",
        create: |path| Ok(Box::new(CsvSink::create(path)?)),
    },
    #[cfg(feature = "parquet")]
    SinkInfo {
        ending: "parquet",
        about: "Apache Parquet, with units",
        create: create_columnar,
    },
    #[cfg(feature = "parquet")]
    SinkInfo {
        ending: "arrow",
        about: "Apache Arrow IPC, with units",
        create: create_columnar,
    },
    #[cfg(feature = "parquet")]
    SinkInfo {
        ending: "feather",
        about: "the same as .arrow: Feather of version 2",
        create: create_columnar,
    },
    SinkInfo {
        ending: DOUBLES,
        about: "a line of names, and rows of little-endian doubles: for programs that read them while the run goes on",
        create: |path| Ok(Box::new(CsvSink::create(path)?.as_doubles())),
    },
];

#[cfg(feature = "parquet")]
fn create_columnar(path: &Path) -> Result<Box<dyn RowSink>, RecordError> {
    let form = ColumnarForm::of(path).unwrap_or(&PARQUET);
    Ok(Box::new(ColumnarSink::create(path, form)?))
}

/// Whether rows go to this file as comma-separated values: by its file extension, and to a pipe or a device.
#[must_use]
pub fn is_csv(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ending.eq_ignore_ascii_case("csv") || is_stream(path)
}

/// Whether rows go to this file itself as they come, and not to another one until the run has ended.
#[must_use]
pub fn is_written_by_rows(path: &Path) -> bool {
    is_csv(path) || is_doubles(path)
}

pub(crate) fn is_doubles(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ending.eq_ignore_ascii_case(DOUBLES)
}

/// Whether a path is a pipe or a device, which takes rows as CSV, whatever its name.
#[must_use]
pub fn is_stream(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Creates a result file in the form that its file extension selects; CSV for a pipe or a
/// device.
///
/// # Errors
///
/// [`RecordError::UnknownEnding`] or [`RecordError::Create`].
pub fn create_sink(path: &Path) -> Result<Box<dyn RowSink>, RecordError> {
    if is_stream(path) {
        return Ok(Box::new(CsvSink::create(path)?));
    }
    let ending = path.extension().unwrap_or_default();
    let info = SINKS
        .iter()
        .find(|info| ending.eq_ignore_ascii_case(info.ending));
    (info.ok_or_else(|| unknown_ending(path))?.create)(path)
}

/// Makes the result of the [rows](crate::rows_path) that a run has left which died, and removes them; returns their number.
///
/// # Errors
///
/// [`RecordError::NotConverted`], errors of the name, and [`RecordError::UnknownEnding`] for a result that is not made of such rows.
pub fn finish_rows(rows: &PartFile) -> Result<u64, RecordError> {
    #[cfg(feature = "parquet")]
    if let Some(form) = ColumnarForm::of(rows.shown()) {
        return columnar_sink::finish(rows, form);
    }
    Err(unknown_ending(rows.shown()))
}

/// No sink writes files of this name.
pub(crate) fn unknown_ending(path: &Path) -> RecordError {
    let endings: Vec<_> = SINKS
        .iter()
        .map(|info| format!(".{}", info.ending))
        .collect();
    RecordError::UnknownEnding {
        path: path.to_owned(),
        endings: endings.join(" or "),
    }
}
