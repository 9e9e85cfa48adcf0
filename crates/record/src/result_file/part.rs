//! Rows of a run that has not ended, or was killed, in the form in which it wrote them.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{Block, Contents, Form, Stream, doubles};
use crate::columnar::{CellValues, Cells, with_time};
use crate::heading::place_of_time;
use crate::read_error::ReadTableError;
use crate::sink::Column;
use crate::spool::{MAGIC, is_spool};
use crate::spool_reader::SpoolReader;
use crate::table::Values;

/// Rows of a block.
const ROWS: usize = 1 << 10;

struct PartFile {
    path: PathBuf,
    columns: Vec<Column>,
}

/// By its first bytes: rows that were to become columns, doubles, or comma-separated values.
pub(super) fn open(path: &Path, time_column: Option<&str>) -> Result<Contents, ReadTableError> {
    let fail = |error: std::io::Error| ReadTableError::content(path, error.to_string());
    let mut head = Vec::new();
    let file = File::open(path).map_err(fail)?;
    let read = file.take(MAGIC.len() as u64).read_to_end(&mut head);
    read.map_err(fail)?;
    if !is_spool(&head) {
        return doubles::open(path, time_column);
    }
    let reader = reader(path)?;
    let header = reader.header();
    let time = place_of_time(&["time"], time_column);
    let time = time.map_err(|message| ReadTableError::content(path, message))?;
    Ok(Contents {
        columns: header.columns.clone(),
        metadata: header.metadata.clone(),
        time,
        rows: None,
        form: Box::new(PartFile {
            path: path.to_owned(),
            columns: header.columns.clone(),
        }),
    })
}

fn reader(path: &Path) -> Result<SpoolReader<File>, ReadTableError> {
    let file = File::open(path);
    let file = file.map_err(|error| ReadTableError::content(path, error.to_string()))?;
    SpoolReader::new(file).map_err(|error| ReadTableError::content(path, error.to_string()))
}

impl Form for PartFile {
    fn stream(&self, columns: &[usize]) -> Result<Box<dyn Stream>, ReadTableError> {
        let reader = reader(&self.path)?;
        if reader.header().columns != self.columns {
            let message = "the file has changed since it was opened".to_owned();
            return Err(ReadTableError::content(&self.path, message));
        }
        let cells = with_time(&self.columns);
        let cells = cells.iter().map(|column| Cells::new(column.kind));
        Ok(Box::new(PartStream {
            path: self.path.clone(),
            reader,
            cells: cells.collect(),
            columns: columns.to_vec(),
        }))
    }
}

struct PartStream {
    path: PathBuf,
    reader: SpoolReader<File>,
    cells: Vec<Cells>,
    /// The columns that were asked for.
    columns: Vec<usize>,
}

impl Stream for PartStream {
    fn fill(&mut self, block: &mut Block) -> Result<bool, ReadTableError> {
        self.cells.iter_mut().for_each(Cells::clear);
        let read = self.reader.read(ROWS, &mut self.cells);
        let (rows, _) =
            read.map_err(|error| ReadTableError::content(&self.path, error.to_string()))?;
        if let Values::Numbers(times) = values(&self.cells[0]) {
            block.time = times;
        }
        let columns = self.columns.iter();
        block.columns = columns
            .map(|column| values(&self.cells[1 + column]))
            .collect();
        Ok(rows > 0)
    }
}

fn values(cells: &Cells) -> Values {
    match cells.values() {
        CellValues::Real(values) => Values::Numbers(values.clone()),
        CellValues::Integer(values) => {
            Values::Numbers(values.iter().map(|number| *number as f64).collect())
        }
        CellValues::Boolean(values) => {
            let number = |value: &bool| f64::from(u8::from(*value));
            Values::Numbers(values.iter().map(number).collect())
        }
        CellValues::Text(texts) => Values::Text(texts.clone()),
    }
}
