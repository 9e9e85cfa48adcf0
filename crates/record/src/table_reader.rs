//! Reading a table in the format given by the extension of its file.

use std::path::Path;

use crate::csv_reader::{NOT_TEXT, read_csv_with, read_names};
use crate::csv_rows::{Dialect, Rows, Wrong, count_lines};
use crate::read_error::{CsvError, ReadTableError};
use crate::result_file::{self, ResultFile, check_ending, is_columnar};
use crate::table::{Series, Table, Values};

/// Reads a result: a Parquet file or one of Arrow's IPC format (`.arrow`, `.feather`) or of doubles (`.rows`) if its name ends so, else
/// comma-separated values ([`read_csv`](crate::read_csv)).
///
/// # Errors
///
/// [`ReadTableError`]; for every file of these forms if the feature `parquet` is off.
pub fn read_table(path: &Path) -> Result<Table, ReadTableError> {
    read_table_with(path, None)
}

/// As [`read_table`], with the name of the column of the times, which may have its unit in brackets.
///
/// # Errors
///
/// As [`read_table`].
pub fn read_table_with(path: &Path, time_column: Option<&str>) -> Result<Table, ReadTableError> {
    if is_columnar(path) {
        ResultFile::open_with(path, time_column)?.table()
    } else {
        check_ending(path)?;
        Ok(read_csv_with(path, time_column)?)
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
    check_ending(path)?;
    let bytes = std::fs::read(path).map_err(|source| CsvError::Io {
        path: path.to_owned(),
        source,
    })?;
    let columns = columns_of_text(&bytes).map_err(|(line, message)| CsvError::Content {
        path: path.to_owned(),
        line,
        message,
    });
    Ok(columns?)
}

fn columns_of_text(bytes: &[u8]) -> Result<Vec<Series>, Wrong> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        (1 + count_lines(before), NOT_TEXT.to_owned())
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let separator = Dialect::of(text, None).separator;
    let mut rows = Rows::new(text, separator);
    let names = read_names(&mut rows)?;
    if separator != b',' {
        // If commas are not between the columns, they may be in the numbers.
        let written = if separator == b';' { ";" } else { "\\t" };
        let message = format!(
            "commas must separate the columns; `tr ',{written}' '.,' < FILE > NEW.csv` writes them"
        );
        return Err((rows.line, message));
    }
    let mut columns: Vec<Vec<String>> = vec![Vec::new(); names.len()];
    while rows.next()? {
        rows.check_length(names.len(), true)
            .map_err(|message| (rows.line, message))?;
        for (column, (cell, _)) in columns.iter_mut().zip(rows.cells()) {
            column.push(cell.to_owned());
        }
    }
    let series = names.into_iter().zip(columns).map(|(name, texts)| Series {
        name: name.text,
        unit: None,
        values: Values::Text(texts),
    });
    Ok(series.collect())
}
