//! Rows of a run as a Parquet file or one of Arrow's.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::columnar::{Cells, ColumnarForm, with_time};
use crate::csv_sink::{CsvSink, Output};
use crate::part_file::{rows_path, write_whole};
use crate::sink::{Cell, Column, RecordError, RowSink};

/// Cells that are turned from rows into columns at a time.
const BLOCK: usize = 1 << 20;

/// Writes `time` and the columns to a file that is [written by columns](ColumnarForm).
///
/// Such a file cannot be read before its end is written. Until then the rows are in a CSV file
/// with `.csv.part` after its name, where other programs can read them. It becomes `.csv` if the run
/// dies. [`finish`](RowSink::finish) turns the rows into the other form and removes the other one.
#[derive(Debug)]
pub struct ColumnarSink<W: Output = File> {
    form: &'static ColumnarForm,
    path: PathBuf,
    rows_path: PathBuf,
    rows: CsvSink<W>,
    columns: Vec<Column>,
    is_finished: bool,
    warning: Option<String>,
    metadata: BTreeMap<String, String>,
}

impl ColumnarSink {
    /// Creates the file of rows; the file of this form itself is made in the end. An older one of its
    /// name is removed: it must not be mistaken for the result of a run that dies.
    ///
    /// # Errors
    ///
    /// As [`CsvSink::create`].
    pub fn create(path: &Path, form: &'static ColumnarForm) -> Result<Self, RecordError> {
        Self::create_with(path, form, |file| file)
    }
}

impl<W: Output> ColumnarSink<W> {
    /// As [`ColumnarSink::create`], writing rows to the result of `wrap` for the file.
    ///
    /// # Errors
    ///
    /// As [`CsvSink::create`].
    pub fn create_with(
        path: &Path,
        form: &'static ColumnarForm,
        wrap: impl FnOnce(File) -> W,
    ) -> Result<Self, RecordError> {
        let rows_path = rows_path(path);
        let rows = CsvSink::create_with(&rows_path, wrap)?;
        // A file that cannot be removed cannot be replaced either: `finish` reports it.
        let _ = std::fs::remove_file(path);
        Ok(Self {
            form,
            path: path.to_owned(),
            rows,
            rows_path,
            columns: Vec::new(),
            is_finished: false,
            warning: None,
            metadata: BTreeMap::new(),
        })
    }

    fn convert(&self) -> io::Result<()> {
        let columns = with_time(&self.columns);
        let mut rows = csv::Reader::from_path(&self.rows_path)?;
        write_whole(&self.path, |file| {
            let mut writer = self.form.begin(file, &columns, &self.metadata)?;
            let empty = || -> Vec<Cells> {
                columns
                    .iter()
                    .map(|column| Cells::new(column.kind))
                    .collect()
            };
            let (mut block, mut length) = (empty(), 0);
            let mut row = csv::StringRecord::new();
            while rows.read_record(&mut row)? {
                for (cells, text) in block.iter_mut().zip(&row) {
                    push(cells, text)?;
                }
                length += 1;
                if length * columns.len() >= BLOCK {
                    writer.write(&std::mem::replace(&mut block, empty()))?;
                    length = 0;
                }
            }
            if length > 0 {
                writer.write(&block)?;
            }
            writer.finish()
        })
    }
}

/// Removes the file of rows, all of which the result has; returns a warning if it stays.
fn remove_rows(path: &Path) -> Option<String> {
    let removed = std::fs::remove_file(path).or_else(|_| std::fs::remove_file(path));
    let error = removed.err()?;
    let path = path.display();
    Some(format!(
        "{path} cannot be removed: {error}; its rows are those of the result"
    ))
}

/// A recorded text is a value also where it is empty.
fn push(cells: &mut Cells, text: &str) -> io::Result<()> {
    if let Cells::Text(texts) = cells {
        texts.push(Some(text.to_owned()));
    } else if !cells.push_text(text) {
        return Err(io::Error::other(format!("`{text}` has become no number")));
    }
    Ok(())
}

impl<W: Output> RowSink for ColumnarSink<W> {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        self.columns = columns.to_vec();
        self.rows.begin(columns)
    }

    fn parameters(&mut self, parameters: &[(&str, Cell<'_>)]) {
        let pair = |(name, cell): &(&str, Cell<'_>)| {
            let value: serde_json::Value = match cell {
                Cell::Real(number) => (*number).into(),
                Cell::Integer(number) => (*number).into(),
                Cell::Boolean(boolean) => (*boolean).into(),
                Cell::String(text) => (*text).into(),
            };
            ((*name).to_owned(), value)
        };
        if !parameters.is_empty() {
            let values = serde_json::Value::Object(parameters.iter().map(pair).collect());
            let key = "gyrator.parameters".to_owned();
            self.metadata.insert(key, values.to_string());
        }
    }

    fn metadata(&mut self, key: &str, text: &str) -> Result<(), RecordError> {
        self.metadata.insert(key.to_owned(), text.to_owned());
        Ok(())
    }

    fn keeps_metadata(&self) -> bool {
        true
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        self.rows.row(time, cells)
    }

    fn real_row(&mut self, time: f64, values: &[f64]) -> Result<(), RecordError> {
        self.rows.real_row(time, values)
    }

    fn mixed_row(
        &mut self,
        time: f64,
        reals: &[f64],
        others: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        self.rows.mixed_row(time, reals, others)
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        self.rows.flush()
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if std::mem::replace(&mut self.is_finished, true) {
            return Ok(());
        }
        self.rows.finish()?;
        self.convert().map_err(|source| RecordError::NotConverted {
            path: self.path.clone(),
            rows_path: self.rows_path.clone(),
            source,
        })?;
        self.warning = remove_rows(&self.rows_path);
        Ok(())
    }

    fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    fn add_columns(&mut self, columns: &[Column], values: &[&[f64]]) -> Result<bool, RecordError> {
        let is_added = self.rows.add_columns(columns, values)?;
        if is_added {
            self.columns.extend_from_slice(columns);
        }
        Ok(is_added)
    }

    fn rows(&self) -> u64 {
        self.rows.rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r70_rows_that_cannot_be_removed_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let rows = folder.path().join("out.parquet.csv");
        // A folder in its place: even the administrator cannot remove it as a file.
        std::fs::create_dir(&rows).unwrap();
        let warning = remove_rows(&rows).unwrap();
        assert!(
            warning.contains("out.parquet.csv cannot be removed: "),
            "{warning}"
        );
        std::fs::remove_dir(&rows).unwrap();
        std::fs::write(&rows, "time\n").unwrap();
        assert_eq!(remove_rows(&rows), None);
        assert!(!rows.exists());
    }
}
