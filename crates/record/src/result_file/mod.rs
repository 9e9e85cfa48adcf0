//! Results of any size: chosen columns, block by block.

#[cfg(feature = "parquet")]
mod arrow;
#[cfg(feature = "parquet")]
mod arrow_and_parquet;
#[cfg(feature = "parquet")]
mod arrow_cells;
mod csv;
mod doubles;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_cells;
#[cfg(feature = "parquet")]
mod part;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::heading::TimeColumn;
use crate::read_error::ReadTableError;
use crate::row_encoding::DOUBLES;
use crate::sink::Column;
use crate::table::{Series, Table, Values};

/// A result file that is read in blocks of rows; one block is in memory at a time.
pub struct ResultFile {
    path: PathBuf,
    contents: Contents,
}

/// The facts of a file that are known before its rows are read.
struct Contents {
    /// All columns but the time.
    columns: Vec<Column>,
    metadata: Vec<(String, String)>,
    time: TimeColumn,
    rows: Option<u64>,
    form: Box<dyn Form>,
}

/// How rows are kept in a file.
trait Form: Send + Sync {
    /// Begins with the first row; `columns` are places in [`Contents::columns`].
    fn stream(&self, columns: &[usize]) -> Result<Box<dyn Stream>, ReadTableError>;

    /// As [`ResultFile::range`].
    fn range(&self, column: usize) -> Option<(f64, f64)> {
        let _ = column;
        None
    }
}

/// Rows one after the other.
trait Stream: Send {
    /// Puts the next rows into the empty block, at least one; false after the last row.
    fn fill(&mut self, block: &mut Block) -> Result<bool, ReadTableError>;
}

/// Opens a file; the text is the name of the column of the times, if it is given.
type Open = fn(&Path, Option<&str>) -> Result<Contents, ReadTableError>;

/// A form by the ending of a file's name.
struct FormInfo {
    ending: &'static str,
    /// The first bytes, and what people call it, if these tell it from others.
    magic: Option<(&'static [u8], &'static str)>,
    open: Open,
    /// All columns that can be read, whatever they are called.
    columns: fn(&Path) -> Result<Vec<Series>, ReadTableError>,
}

const PARQUET_MAGIC: Option<(&[u8], &str)> = Some((b"PAR1", "Parquet"));
const ARROW_MAGIC: Option<(&[u8], &str)> = Some((b"ARROW1", "Arrow IPC"));

/// Forms besides comma-separated values, which files of all other names are.
const FORMS: &[FormInfo] = &[
    FormInfo {
        ending: "parquet",
        magic: PARQUET_MAGIC,
        open: parquet::open,
        columns: parquet::columns,
    },
    FormInfo {
        ending: "arrow",
        magic: ARROW_MAGIC,
        open: arrow::open,
        columns: arrow::columns,
    },
    FormInfo {
        ending: "feather",
        magic: ARROW_MAGIC,
        open: arrow::open,
        columns: arrow::columns,
    },
    FormInfo {
        ending: DOUBLES,
        magic: None,
        open: doubles::open,
        columns: doubles::columns,
    },
    #[cfg(feature = "parquet")]
    FormInfo {
        ending: "part",
        magic: None,
        open: part::open,
        columns: doubles::columns,
    },
];

/// The form of a file; `None` for comma-separated values.
fn form_of(path: &Path) -> Option<&'static FormInfo> {
    let ending = path.extension()?;
    let mut forms = FORMS.iter();
    forms.find(|form| ending.eq_ignore_ascii_case(form.ending))
}

/// Refuses a file whose content is of another form than its name says.
///
/// # Errors
/// The form, and the ending that it should have.
pub(crate) fn check_ending(path: &Path) -> Result<(), ReadTableError> {
    const HEAD: u64 = 256;
    // Anything but a file may be readable only once.
    if !path.is_file() {
        return Ok(());
    }
    let mut head = Vec::new();
    let file = File::open(path).map(|file| file.take(HEAD));
    if file
        .and_then(|mut file| file.read_to_end(&mut head))
        .is_err()
    {
        // The reader says why.
        return Ok(());
    }
    let is_begin = |magic: &(&[u8], _)| head.starts_with(magic.0);
    let found = FORMS
        .iter()
        .find(|form| form.magic.as_ref().is_some_and(is_begin));
    let named = form_of(path).and_then(|form| form.magic);
    let (content, ending) = match (found, named) {
        // The first name of a line of text may begin like one of them.
        (Some(form), named) if form.magic != named && !is_text(&head) => {
            (form.magic.map_or("", |magic| magic.1), form.ending)
        }
        (None, Some(_)) if is_text(&head) => ("text", "csv"),
        _ => return Ok(()),
    };
    let message = format!("its content is {content}: give the file the extension .{ending}");
    Err(ReadTableError::content(path, message))
}

/// Whether the begin of a file is a line of text.
fn is_text(head: &[u8]) -> bool {
    let text = head.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let line = text.lines().next().unwrap_or_default();
    line.contains([',', ';', '\t']) && !line.contains(|c: char| c.is_control() && c != '\t')
}

/// Whether a file is of another form than comma-separated values, by its name.
pub(crate) fn is_columnar(path: &Path) -> bool {
    form_of(path).is_some()
}

/// All columns of a table that is none of comma-separated values, with a time or without one; `None` for those.
pub(crate) fn columns(path: &Path) -> Option<Result<Vec<Series>, ReadTableError>> {
    let checked = check_ending(path);
    form_of(path).map(|form| checked.and_then(|()| (form.columns)(path)))
}

/// The forms that a program without the feature `parquet` cannot read.
#[cfg(not(feature = "parquet"))]
mod parquet {
    use super::{Contents, Path, ReadTableError};
    pub(super) use crate::read_error::no_parquet as columns;

    pub(super) fn open(path: &Path, _: Option<&str>) -> Result<Contents, ReadTableError> {
        columns(path)
    }
}
#[cfg(not(feature = "parquet"))]
use parquet as arrow;

impl ResultFile {
    /// Opens a result: a Parquet file, a file of Arrow's IPC format (`.arrow`, `.feather`) or of doubles (`.rows`), or what a run has left
    /// (`.part`), if its name ends so. All others are comma-separated values, read as by
    /// [`read_csv`](crate::read_csv). Decimal numbers become the nearest doubles, durations seconds; times
    /// that are timestamps count from the first row. Whether a CSV column is text is decided by the first MiB of the file.
    ///
    /// # Errors
    ///
    /// [`ReadTableError`], also for a column of another type (a list, a date, bytes), and for two columns of one name;
    /// also if the path is not an ordinary file: results are read more than once.
    pub fn open(path: &Path) -> Result<Self, ReadTableError> {
        Self::open_with(path, None)
    }

    /// As [`open`](Self::open), with the name of the column of the times, which may have its unit in brackets.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: &Path, time_column: Option<&str>) -> Result<Self, ReadTableError> {
        let form = form_of(path);
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(csv::not_a_file(path));
        }
        check_ending(path)?;
        let contents = form.map_or(csv::open as Open, |form| form.open)(path, time_column)?;
        let mut seen = BTreeSet::new();
        let mut columns = contents.columns.iter();
        if let Some(column) = columns.find(|column| !seen.insert(&column.name)) {
            let message = format!("there are two columns `{}`", column.name);
            return Err(ReadTableError::content(path, message));
        }
        Ok(Self {
            path: path.to_owned(),
            contents,
        })
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All columns but the time, in the order of the file; units if the form keeps them.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.contents.columns
    }

    /// The place of a column in [`columns`](Self::columns).
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        let columns = &self.contents.columns;
        columns.iter().position(|column| column.name == name)
    }

    /// An entry of the file's metadata; none of a CSV file.
    #[must_use]
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let mut entries = self.contents.metadata.iter();
        let found = entries.find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }

    /// All entries of the file's metadata, in no particular order.
    pub fn all_metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.contents.metadata.iter();
        entries.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Every row, in memory.
    ///
    /// # Errors
    ///
    /// As [`blocks`](Self::blocks).
    pub fn table(&self) -> Result<Table, ReadTableError> {
        let places: Vec<usize> = (0..self.columns().len()).collect();
        let series = self.columns().iter().map(|column| Series {
            name: column.name.clone(),
            unit: column.unit.clone(),
            values: Values::none(column.kind),
        });
        let (mut time, mut series): (Vec<f64>, Vec<Series>) = (Vec::new(), series.collect());
        let mut blocks = self.blocks(&places)?;
        while let Some(block) = blocks.next_block()? {
            time.extend(&block.time);
            for (series, values) in series.iter_mut().zip(&block.columns) {
                if !series.values.append(values) {
                    let message = format!("`{}` has numbers and texts", series.name);
                    return Err(ReadTableError::content(&self.path, message));
                }
            }
        }
        Ok(Table { time, series })
    }

    /// Number of rows, if the form says it before they are read.
    #[must_use]
    pub fn rows(&self) -> Option<u64> {
        self.contents.rows
    }

    /// Least and greatest number of a column, if the form says it without its rows being read. It is a hint: the
    /// writer may have rounded it, and NaN is not in it.
    #[must_use]
    pub fn range(&self, column: usize) -> Option<(f64, f64)> {
        self.contents.form.range(column)
    }

    /// The rows from the first one on: the time and the columns at these places of [`columns`](Self::columns).
    ///
    /// # Errors
    ///
    /// [`ReadTableError`], also if the file has changed since it was opened.
    ///
    /// # Panics
    ///
    /// If a place has no column.
    pub fn blocks(&self, columns: &[usize]) -> Result<Blocks, ReadTableError> {
        let known = self.contents.columns.len();
        assert!(
            columns.iter().all(|column| *column < known),
            "a column is beyond the last"
        );
        Ok(Blocks {
            path: self.path.clone(),
            stream: self.contents.form.stream(columns)?,
            time: self.contents.time,
            block: Block::default(),
            rows: 0,
            last: f64::NEG_INFINITY,
        })
    }
}

/// Some rows, column by column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Block {
    /// Time of each row, s: finite, never decreasing, also from block to block.
    pub time: Vec<f64>,
    /// The values of each column that was asked for, in that order, as many as times. A missing number is NaN, a
    /// missing text is empty.
    pub columns: Vec<Values>,
}

/// The blocks of a result, one after the other.
pub struct Blocks {
    path: PathBuf,
    stream: Box<dyn Stream>,
    time: TimeColumn,
    block: Block,
    rows: u64,
    last: f64,
}

impl Blocks {
    /// The next rows, at least one; `None` after the last.
    ///
    /// # Errors
    ///
    /// [`ReadTableError`]; no more blocks follow.
    pub fn next_block(&mut self) -> Result<Option<&Block>, ReadTableError> {
        self.block.time.clear();
        if !self.stream.fill(&mut self.block)? {
            return Ok(None);
        }
        for time in &mut self.block.time {
            *time = self.time.seconds(*time);
            if !time.is_finite() || *time < self.last {
                let row = self.rows;
                let message = format!("row {row}: the times must be finite and not decrease");
                return Err(ReadTableError::content(&self.path, message));
            }
            (self.last, self.rows) = (*time, self.rows + 1);
        }
        Ok(Some(&self.block))
    }
}

impl std::fmt::Debug for ResultFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("ResultFile");
        debug.field("path", &self.path).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Blocks");
        debug.field("rows", &self.rows).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
