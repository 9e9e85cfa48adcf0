//! A result of one form as one of another.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::columnar::{CellValues, Cells, TableHead, group_rows, with_time};
use crate::columnar_form::ColumnarForm;
use crate::csv_sink::CsvSink;
use crate::part_file::write_whole;
use crate::read_error::ReadTableError;
use crate::result_file::ResultFile;
use crate::sink::{Cell, Column, ColumnType, RecordError, RowSink};
use crate::sinks::{is_doubles, unknown_ending};
use crate::table::Values;

/// Beyond it, doubles are not all whole numbers (2⁵³).
const MOST: f64 = 9_007_199_254_740_992.0;

/// Why a result has no other form.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// The result cannot be read.
    #[error(transparent)]
    Read(#[from] ReadTableError),
    /// The other one cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// No form has this name.
    #[error(transparent)]
    Form(#[from] RecordError),
    /// The times would have the name of another column.
    #[error(
        "the new file would have two columns `time`: the times, and another one of that name; rename that one"
    )]
    Times,
    /// A value would not be the same.
    #[error("`{column}` has a value that would not be the same: {value}")]
    Value {
        /// Name of the column.
        column: String,
        /// The value.
        value: String,
    },
}

/// Writes all rows of a result to `output`, in the form that its file extension selects, and returns their number.
/// Values stay the same, bit for bit. So do units and other metadata of Arrow and Parquet files, except those that `further` replaces.
/// A file of columns has one block of rows in memory; an older file is replaced when the new one is whole.
///
/// # Errors
///
/// [`ConversionError`]; then no new file is left.
pub fn convert(
    input: &ResultFile,
    columns: &[Column],
    further: &BTreeMap<String, String>,
    output: &Path,
) -> Result<u64, ConversionError> {
    let form = ColumnarForm::of(output);
    let ending = output.extension().unwrap_or_default();
    if form.is_none() && !ending.eq_ignore_ascii_case("csv") && !is_doubles(output) {
        return Err(unknown_ending(output).into());
    }
    if columns.iter().any(|column| column.name == "time") {
        return Err(ConversionError::Times);
    }
    let mut metadata: BTreeMap<String, String> = (input.all_metadata())
        .filter(|(key, _)| !["gyrator.units", "gyrator.bonds", "ARROW:schema"].contains(key))
        .map(|(key, text)| (key.to_owned(), text.to_owned()))
        .collect();
    metadata.extend(further.clone());
    let mut failure = None;
    let mut rows = 0;
    let written = write_whole(output, |file| {
        let outcome = match form {
            Some(form) => write_columns(input, columns, form, file, &metadata),
            None => copy_rows(input, columns, file.try_clone()?, output),
        };
        rows = outcome.map_err(|error| match error {
            Failed::Write(error) => error,
            Failed::Other(error) => {
                failure = Some(error);
                io::ErrorKind::InvalidData.into()
            }
        })?;
        Ok(())
    });
    match (written, failure) {
        (_, Some(failure)) => Err(failure),
        (Err(source), None) => Err(ConversionError::Write {
            path: output.to_owned(),
            source,
        }),
        (Ok(()), None) => Ok(rows),
    }
}

/// Writing failed, or something else.
enum Failed {
    Write(io::Error),
    Other(ConversionError),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl From<ReadTableError> for Failed {
    fn from(error: ReadTableError) -> Self {
        Self::Other(error.into())
    }
}

impl From<RecordError> for Failed {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Write { source, .. } => Self::Write(source),
            other => Self::Other(other.into()),
        }
    }
}

/// Writes a file of columns; returns the number of rows.
fn write_columns(
    input: &ResultFile,
    columns: &[Column],
    form: &ColumnarForm,
    file: &mut File,
    metadata: &BTreeMap<String, String>,
) -> Result<u64, Failed> {
    let head = TableHead {
        columns: &with_time(columns),
        metadata,
        is_complete: false,
    };
    let mut writer = form.begin(file, head)?;
    let rows = copy(input, columns, |cells| Ok(writer.write(cells)?))?;
    writer.finish()?;
    Ok(rows)
}

/// Copies columns in blocks; returns the number of rows.
fn copy(
    input: &ResultFile,
    columns: &[Column],
    mut write: impl FnMut(&[Cells]) -> Result<(), Failed>,
) -> Result<u64, Failed> {
    let empty = || -> Vec<Cells> {
        let time = std::iter::once(Cells::new(ColumnType::Real));
        time.chain(columns.iter().map(|column| Cells::new(column.kind)))
            .collect()
    };
    let places: Vec<usize> = (0..columns.len()).collect();
    let mut blocks = input.blocks(&places)?;
    let group = group_rows(columns.len() + 1);
    let (mut cells, mut waiting, mut rows) = (empty(), 0, 0);
    while let Some(block) = blocks.next_block()? {
        if let CellValues::Real(times) = cells[0].values_mut() {
            times.extend(&block.time);
        }
        for ((column, values), cells) in columns.iter().zip(&block.columns).zip(&mut cells[1..]) {
            append(column, values, cells)?;
        }
        waiting += block.time.len();
        rows += block.time.len() as u64;
        if waiting >= group {
            write(&cells)?;
            cells.iter_mut().for_each(Cells::clear);
            waiting = 0;
        }
    }
    if waiting > 0 {
        write(&cells)?;
    }
    Ok(rows)
}

/// Copies rows as comma-separated values or doubles; returns their number.
fn copy_rows(
    input: &ResultFile,
    columns: &[Column],
    file: File,
    output: &Path,
) -> Result<u64, Failed> {
    let mut sink = CsvSink::new(file, output);
    if is_doubles(output) {
        sink = sink.as_doubles();
    }
    sink.begin(columns)?;
    let places: Vec<usize> = (0..columns.len()).collect();
    let mut blocks = input.blocks(&places)?;
    while let Some(block) = blocks.next_block()? {
        for row in 0..block.time.len() {
            let cell = |(column, values)| cell(column, values, row);
            let cells: Result<Vec<Cell<'_>>, _> =
                columns.iter().zip(&block.columns).map(cell).collect();
            sink.row(block.time[row], &mut cells?.into_iter())?;
        }
    }
    sink.finish()?;
    Ok(sink.rows())
}

/// A missing whole number or truth value is NaN, as in a file of comma-separated values that is read.
fn cell<'a>(column: &Column, values: &'a Values, row: usize) -> Result<Cell<'a>, Failed> {
    Ok(match values {
        Values::Text(texts) => Cell::String(&texts[row]),
        Values::Numbers(numbers) => match column.kind {
            ColumnType::Integer | ColumnType::Enumeration => {
                whole(column, numbers[row])?.map_or(Cell::Real(f64::NAN), Cell::Integer)
            }
            ColumnType::Boolean => match truth(column, numbers[row])? {
                Some(truth) => Cell::Boolean(truth),
                None => Cell::Real(f64::NAN),
            },
            _ => Cell::Real(numbers[row]),
        },
    })
}

fn append(column: &Column, values: &Values, cells: &mut Cells) -> Result<(), Failed> {
    match values {
        Values::Text(texts) => match cells.values_mut() {
            CellValues::Text(all) => all.extend(texts.iter().cloned()),
            _ => return Err(lossy(column, texts.first().map_or("text", |text| text))),
        },
        Values::Numbers(numbers) => {
            if let CellValues::Real(all) = cells.values_mut() {
                all.extend(numbers);
                return Ok(());
            }
            for number in numbers {
                append_number(column, *number, cells)?;
            }
        }
    }
    Ok(())
}

/// Appends a number to a column of another type.
fn append_number(column: &Column, number: f64, cells: &mut Cells) -> Result<(), Failed> {
    if number.is_nan() {
        cells.push_missing();
        return Ok(());
    }
    let cell = match cells.values() {
        CellValues::Integer(_) => whole(column, number)?.map(Cell::Integer),
        CellValues::Boolean(_) => truth(column, number)?.map(Cell::Boolean),
        CellValues::Real(_) | CellValues::Text(_) => None,
    };
    match cell.is_some_and(|cell| cells.push(cell)) {
        true => Ok(()),
        false => Err(lossy(column, "a number")),
    }
}

/// `None` without a value.
fn whole(column: &Column, number: f64) -> Result<Option<i64>, Failed> {
    if number.is_nan() {
        return Ok(None);
    }
    if number.fract() != 0.0 || number.abs() >= MOST {
        return Err(lossy(column, number));
    }
    Ok(Some(number as i64))
}

fn truth(column: &Column, number: f64) -> Result<Option<bool>, Failed> {
    match number {
        0.0 => Ok(Some(false)),
        1.0 => Ok(Some(true)),
        number if number.is_nan() => Ok(None),
        number => Err(lossy(column, number)),
    }
}

fn lossy(column: &Column, value: impl ToString) -> Failed {
    Failed::Other(ConversionError::Value {
        column: column.name.clone(),
        value: value.to_string(),
    })
}
