//! The seam between a run and the form in which its rows are kept.

use std::io;
use std::path::{Path, PathBuf};

/// The type of a column, as FMI 2.0.5 section 2.2.7 names the types of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Floating-point number.
    Real,
    /// Whole number.
    Integer,
    /// True or false; recorded as 1 or 0.
    Boolean,
    /// Text.
    String,
    /// Number of an enumeration's item.
    Enumeration,
}

/// Contents of one column. The time is a column of its own that is never listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name, usually `component.variable`.
    pub name: String,
    /// Type of the values.
    pub kind: ColumnType,
    /// Unit of the values as the model description names it; kept by sinks that can.
    pub unit: Option<String>,
}

impl Column {
    /// A column without a unit.
    pub fn new(name: impl Into<String>, kind: ColumnType) -> Self {
        Self {
            name: name.into(),
            kind,
            unit: None,
        }
    }
}

/// One value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Of a [`ColumnType::Real`] column.
    Real(f64),
    /// Of a [`ColumnType::Integer`] or [`ColumnType::Enumeration`] column.
    Integer(i64),
    /// Of a [`ColumnType::Boolean`] column.
    Boolean(bool),
    /// Of a [`ColumnType::String`] column.
    String(&'a str),
}

impl Cell<'_> {
    /// As a number; a text is none.
    pub(crate) fn as_real(self) -> f64 {
        match self {
            Self::Real(number) => number,
            Self::Integer(number) => number as f64,
            Self::Boolean(boolean) => f64::from(u8::from(boolean)),
            Self::String(_) => f64::NAN,
        }
    }

    /// As a whole number.
    #[cfg(feature = "parquet")]
    pub(crate) fn as_integer(self) -> i64 {
        match self {
            Self::Integer(number) => number,
            other => other.as_real() as i64,
        }
    }
}

/// The target of the rows of a run: [`begin`](Self::begin) once, then rows, then
/// [`finish`](Self::finish). Rows allocate nothing after warm-up, unless the sink is in memory.
///
/// After an error that is not [`RecordError::WrongRow`] the sink accepts no more rows; those
/// counted by [`rows`](Self::rows) are kept in a form that can be read.
pub trait RowSink: Send {
    /// Says which columns follow the time.
    ///
    /// # Errors
    ///
    /// [`RecordError::Write`] if the columns could not be written.
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError>;

    /// Keeps values that do not change, such as parameters, beside the rows, if the form has a place
    /// for them. Called before [`begin`](Self::begin).
    fn parameters(&mut self, parameters: &[(&str, Cell<'_>)]) {
        let _ = parameters;
    }

    /// Keeps a text under a key beside the rows, replacing an earlier one of this key, if the form
    /// [has a place](Self::keeps_metadata) for it. Called before [`finish`](Self::finish).
    ///
    /// # Errors
    ///
    /// An error of earlier rows that was not reported yet.
    fn metadata(&mut self, key: &str, text: &str) -> Result<(), RecordError> {
        let _ = (key, text);
        Ok(())
    }

    /// Whether the result has a place for [`metadata`](Self::metadata).
    fn keeps_metadata(&self) -> bool {
        false
    }

    /// Appends a row with one cell a column; `time` in s. Cells are drawn from an iterator, so that a
    /// caller with values in several stores builds no list of borrowed cells for each row.
    ///
    /// # Errors
    ///
    /// [`RecordError::WrongRow`] if the number of cells is not the number of columns (the row is
    /// left out), else [`RecordError::Write`].
    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError>;

    /// Appends a row in which every cell is a [`Cell::Real`]; `time` in s.
    ///
    /// # Errors
    ///
    /// As [`RowSink::row`].
    fn real_row(&mut self, time: f64, values: &[f64]) -> Result<(), RecordError> {
        self.row(time, &mut values.iter().copied().map(Cell::Real))
    }

    /// Appends a row of reals first, then of any cells; `time` in s.
    ///
    /// # Errors
    ///
    /// As [`RowSink::row`].
    fn mixed_row(
        &mut self,
        time: f64,
        reals: &[f64],
        others: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        let reals = reals.iter().copied().map(Cell::Real);
        self.row(time, &mut reals.chain(others))
    }

    /// Hands all rows to the operating system, so that other programs can read them.
    ///
    /// # Errors
    ///
    /// [`RecordError::Write`] if they could not be written.
    fn flush(&mut self) -> Result<(), RecordError>;

    /// Whether rows become readable for other programs without [`flush`](Self::flush).
    fn flushes_itself(&self) -> bool {
        false
    }

    /// Ends the result, makes sure that it is stored, and gives it its name, also if an earlier
    /// row could not be written. A further call looks whether a file still has its name.
    ///
    /// # Errors
    ///
    /// [`RecordError::Write`] if rows are missing, [`RecordError::Displaced`],
    /// [`RecordError::Changed`] or [`RecordError::NotNamed`] if something else has interfered.
    fn finish(&mut self) -> Result<(), RecordError>;

    /// Returns a warning about a result that is whole, such as a further file that stays beside it: each only once.
    fn pop_warning(&mut self) -> Option<String> {
        None
    }

    /// Adds columns of reals to the rows that were accepted, after their other columns, before
    /// [`finish`](Self::finish): a list of one value a row for each. The cells that the rows have already stay as they are, bit
    /// for bit. False if rows cannot be changed any more, as in a pipe.
    ///
    /// # Errors
    ///
    /// [`RecordError::WrongRow`] if a list does not have a value for each row; [`RecordError::Write`] if the
    /// longer rows could not be written. The rows are then as they were, if possible.
    fn add_columns(&mut self, columns: &[Column], values: &[&[f64]]) -> Result<bool, RecordError> {
        let _ = (columns, values);
        Ok(false)
    }

    /// Number of rows accepted; after an error, of rows that are kept.
    fn rows(&self) -> u64;
}

/// Why a result was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be made.
    #[error("cannot create the result file {}: {reason}", path.display())]
    Create {
        /// The path as it was given.
        path: PathBuf,
        /// The obstacle.
        reason: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another run writes it.
    #[error(
        "cannot create the result file {}: another run is writing it; choose another name, or wait \
         for its end",
        path.display()
    )]
    InUse {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The file is shorter or longer than the bytes written.
    #[error(
        "the result file {} was changed by an FMU or another program: it has {found} bytes, and \
         {written} were written; {}",
        path.display(),
        if found < written { "rows are missing in it" } else { "not all of it is of this run" }
    )]
    Changed {
        /// The path as it was given.
        path: PathBuf,
        /// Bytes of the file.
        found: u64,
        /// Bytes that were written.
        written: u64,
    },
    /// The file was deleted or replaced, and its rows were written again.
    #[error(
        "the result file {} was deleted or replaced by an FMU or another program; all rows are \
         written again, to {}",
        path.display(),
        place.display()
    )]
    Displaced {
        /// The path as it was given.
        path: PathBuf,
        /// The file that has the rows.
        place: PathBuf,
    },
    /// The file cannot be given its name.
    #[error("cannot give the result file {} its name: {source}; {place}", path.display())]
    NotNamed {
        /// The path as it was given.
        path: PathBuf,
        /// The place of the rows, in words.
        place: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file cannot be written any further, for example because the disk is full.
    #[error("cannot write the result file {}: {source}; {rows} rows are kept", path.display())]
    Write {
        /// The path as it was given.
        path: PathBuf,
        /// Number of rows that can be read.
        rows: u64,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Nothing can be written to the file any more; another process completes it.
    #[error("the result file {} was closed by an FMU", path.display())]
    Closed {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The rows are recorded, but not in the form that was asked for.
    #[error(
        "cannot write the result file {}: {source}; all rows are kept in {}, of which `gyrator convert` makes it",
        path.display(),
        rows_path.display()
    )]
    NotConverted {
        /// The path as it was given.
        path: PathBuf,
        /// The file that has the rows.
        rows_path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A row came that does not fit the columns.
    #[error("a row has {found} cells for {expected} columns")]
    WrongRow {
        /// Number of columns.
        expected: usize,
        /// Number of cells; counting stops one past the columns.
        found: usize,
    },
    /// No sink writes files of this name.
    #[error("no result format for {}: the name must end in {}{}", path.display(), endings, readers(path))]
    UnknownEnding {
        /// The path as it was given.
        path: PathBuf,
        /// Endings that it may have, for people.
        endings: String,
    },
}

/// Programs that read the forms of this crate, for endings of forms that it does not write. No kept crate
/// writes MAT files of version 4 or, without a C library, HDF5 (docs/dev/libraries.md).
fn readers(path: &Path) -> &'static str {
    let ending = path.extension().unwrap_or_default();
    let is = |other: &str| ending.eq_ignore_ascii_case(other);
    if is("mat") {
        "; OpenModelica and MATLAB read CSV, MATLAB also Parquet (parquetread)"
    } else if is("h5") || is("hdf5") {
        "; pandas and MATLAB read Parquet (read_parquet, parquetread)"
    } else {
        ""
    }
}
