//! The table of a study, made of one journal or of the journals of its parts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use gyrator_record::write_whole;
#[cfg(feature = "parquet")]
use gyrator_record::{Cells, ColumnType, ColumnarForm, TableHead};

#[cfg(feature = "parquet")]
use crate::cell::ColumnKind;
use crate::cell::{Cell, Column, csv_line};
use crate::journal::{Header, JournalContents, JournalError, RowText, read_journal};

/// Why a table was not written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file cannot be written.
    #[error("cannot write the table {}: {source}", path.display())]
    Write {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Tables are not written to files of this name.
    #[error("no table format for {}: the name must end in {}", path.display(), endings())]
    UnknownEnding {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Journals of different studies.
    #[error("{} and {} belong to different studies", first.display(), second.display())]
    DifferentStudies {
        /// One of them.
        first: PathBuf,
        /// Another.
        second: PathBuf,
    },
    /// Rows that no journal has.
    #[error(
        "{missing} of {rows} rows are missing, the first one is that of row {first}: run the parts to their end, or ask for the rows there are"
    )]
    Missing {
        /// Number of missing rows.
        missing: usize,
        /// Number of rows of the study.
        rows: usize,
        /// Number of the first missing row in the table, from 1.
        first: usize,
    },
    /// There is nothing to merge.
    #[error("no journals are given")]
    Nothing,
}

/// A form of tables.
enum Form {
    Csv,
    #[cfg(feature = "parquet")]
    Columnar(&'static ColumnarForm),
}

fn endings() -> &'static str {
    if cfg!(feature = "parquet") {
        ".csv, .parquet, .arrow or .feather"
    } else {
        ".csv"
    }
}

fn form(path: &Path) -> Result<Form, TableError> {
    let ending = path.extension().unwrap_or_default();
    if ending.eq_ignore_ascii_case("csv") {
        return Ok(Form::Csv);
    }
    #[cfg(feature = "parquet")]
    if let Some(form) = ColumnarForm::of(path) {
        return Ok(Form::Columnar(form));
    }
    Err(TableError::UnknownEnding {
        path: path.to_owned(),
    })
}

/// Looks whether there is a table format of this name.
///
/// # Errors
///
/// [`TableError::UnknownEnding`].
pub fn check_ending(path: &Path) -> Result<(), TableError> {
    form(path).map(|_| ())
}

/// Writes rows in the order of the list of cases, as CSV, Parquet or Arrow IPC, as the file extension says.
/// The file is replaced when it is complete.
///
/// # Errors
///
/// [`TableError::Write`] or [`TableError::UnknownEnding`].
pub fn write_table(
    path: &Path,
    columns: &[Column],
    rows: &BTreeMap<usize, RowText>,
) -> Result<(), TableError> {
    let form = form(path)?;
    let write = |file: &mut File| match form {
        Form::Csv => write_csv(file, columns, rows),
        #[cfg(feature = "parquet")]
        Form::Columnar(form) => write_columnar(form, file, columns, rows),
    };
    write_whole(path, write).map_err(|source| TableError::Write {
        path: path.to_owned(),
        source,
    })
}

fn write_csv(
    file: &mut File,
    columns: &[Column],
    rows: &BTreeMap<usize, RowText>,
) -> io::Result<()> {
    let mut output = BufWriter::new(file);
    let names = columns.iter().map(|column| Cell::Text(column.name.clone()));
    output.write_all(csv_line(&names.collect::<Vec<_>>()).as_bytes())?;
    for row in rows.values() {
        writeln!(output, "{row}")?;
    }
    output.flush()
}

#[cfg(feature = "parquet")]
fn write_columnar(
    form: &ColumnarForm,
    file: &mut File,
    columns: &[Column],
    rows: &BTreeMap<usize, RowText>,
) -> io::Result<()> {
    /// Rows of a group: the same whatever the origin of its parts.
    const GROUP: usize = 1 << 16;
    let recorded: Vec<gyrator_record::Column> = columns.iter().map(recorded).collect();
    let head = TableHead {
        columns: &recorded,
        metadata: &BTreeMap::new(),
        is_complete: false,
    };
    let mut writer = form.begin(file, head)?;
    let rows: Vec<&RowText> = rows.values().collect();
    for group in rows.chunks(GROUP) {
        let mut cells: Vec<Cells> = recorded.iter().map(|c| Cells::new(c.kind)).collect();
        for row in group {
            let mut reader = csv::ReaderBuilder::new()
                .has_headers(false)
                .from_reader(row.as_bytes());
            let mut record = csv::StringRecord::new();
            reader.read_record(&mut record)?;
            for (cells, text) in cells.iter_mut().zip(&record) {
                if !cells.push_text(text) {
                    return Err(io::Error::other(format!("`{text}` has become no number")));
                }
            }
        }
        writer.write(&cells)?;
    }
    writer.finish()
}

#[cfg(feature = "parquet")]
fn recorded(column: &Column) -> gyrator_record::Column {
    gyrator_record::Column {
        name: column.name.clone(),
        kind: match column.kind {
            ColumnKind::Integer => ColumnType::Integer,
            ColumnKind::Real => ColumnType::Real,
            ColumnKind::Text => ColumnType::String,
        },
        unit: column.unit.clone(),
    }
}

/// Reads the journals of the parts of a study, and puts their rows together.
///
/// # Errors
///
/// [`TableError`] if a journal cannot be read, if they belong to different studies, or, unless
/// `allow_missing`, if rows are missing.
pub fn merge(
    journals: &[PathBuf],
    allow_missing: bool,
) -> Result<(Header, BTreeMap<usize, RowText>), TableError> {
    let mut merged: Option<(Header, BTreeMap<usize, RowText>)> = None;
    for path in journals {
        let JournalContents { header, rows, .. } = read_journal(path)?;
        match &mut merged {
            None => merged = Some((header, rows)),
            Some((first, all)) => {
                if first.identity != header.identity || first.columns != header.columns {
                    return Err(TableError::DifferentStudies {
                        first: journals[0].clone(),
                        second: path.clone(),
                    });
                }
                all.extend(rows);
            }
        }
    }
    let (header, rows) = merged.ok_or(TableError::Nothing)?;
    let missing = header.rows.saturating_sub(rows.len());
    if missing > 0 && !allow_missing {
        let first = (0..header.rows).find(|row| !rows.contains_key(row));
        return Err(TableError::Missing {
            missing,
            rows: header.rows,
            first: first.map_or(0, |row| row + 1),
        });
    }
    Ok((header, rows))
}
