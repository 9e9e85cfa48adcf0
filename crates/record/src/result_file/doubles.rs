//! Files of doubles: rows of one length after a line of names.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::{Block, Contents, Form, ResultFile, Stream, csv};
use crate::heading::place_of_time;
use crate::read_error::ReadTableError;
use crate::row_encoding::DoublesHeader;
use crate::sink::{Column, ColumnType};
use crate::table::{Series, Values};

/// Bytes that are read at a time, about.
const PIECE: usize = 1 << 20;

struct DoublesFile {
    path: PathBuf,
    header: DoublesHeader,
    rows: u64,
}

pub(super) fn open(path: &Path, time_column: Option<&str>) -> Result<Contents, ReadTableError> {
    let fail = |error: std::io::Error| ReadTableError::content(path, error.to_string());
    let file = File::open(path).map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    let mut reader = BufReader::new(file);
    // Rows with texts are text.
    if !DoublesHeader::is_at(reader.fill_buf().map_err(fail)?) {
        return csv::open(path, time_column);
    }
    let header = DoublesHeader::read(&mut reader).map_err(fail)?;
    let wrong = |text: &str| ReadTableError::content(path, text.to_owned());
    let header =
        header.ok_or_else(|| wrong("its line of names is cut short, or makes no sense"))?;
    if header.names[0] != "time" {
        return Err(wrong("its first column is not `time`"));
    }
    let time = place_of_time(&header.names[..1], time_column);
    let time = time.map_err(|message| ReadTableError::content(path, message))?;
    let names = header.names.iter().skip(1);
    let rows = length.saturating_sub(header.length as u64) / header.row_length() as u64;
    Ok(Contents {
        columns: names
            .map(|name| Column::new(name, ColumnType::Real))
            .collect(),
        metadata: Vec::new(),
        time,
        rows: Some(rows),
        form: Box::new(DoublesFile {
            path: path.to_owned(),
            rows,
            header,
        }),
    })
}

/// All columns, the time first.
pub(super) fn columns(path: &Path) -> Result<Vec<Series>, ReadTableError> {
    let table = ResultFile::open(path)?.table()?;
    let time = Series {
        name: "time".to_owned(),
        unit: None,
        values: Values::Numbers(table.time),
    };
    Ok(std::iter::once(time).chain(table.series).collect())
}

impl Form for DoublesFile {
    fn stream(&self, columns: &[usize]) -> Result<Box<dyn Stream>, ReadTableError> {
        let fail = |error: std::io::Error| ReadTableError::content(&self.path, error.to_string());
        let mut file = File::open(&self.path).map_err(fail)?;
        let begin = SeekFrom::Start(self.header.length as u64);
        file.seek(begin).map_err(fail)?;
        Ok(Box::new(DoublesStream {
            path: self.path.clone(),
            file,
            row: self.header.row_length(),
            left: self.rows,
            cells: columns.iter().map(|column| column + 1).collect(),
            bytes: Vec::new(),
        }))
    }
}

struct DoublesStream {
    path: PathBuf,
    file: File,
    /// Bytes of a row.
    row: usize,
    /// Rows that follow.
    left: u64,
    /// Places of the columns in a row.
    cells: Vec<usize>,
    bytes: Vec<u8>,
}

impl Stream for DoublesStream {
    fn fill(&mut self, block: &mut Block) -> Result<bool, ReadTableError> {
        let rows = (PIECE / self.row).max(1).min(self.left as usize);
        self.left -= rows as u64;
        self.bytes.resize(rows * self.row, 0);
        let read = self.file.read_exact(&mut self.bytes);
        read.map_err(|error| ReadTableError::content(&self.path, error.to_string()))?;
        let column = |cell: &usize| cells(&self.bytes, self.row, *cell).collect();
        block.time.extend(cells(&self.bytes, self.row, 0));
        block.columns.clear();
        let columns = self.cells.iter().map(column);
        block.columns.extend(columns.map(Values::Numbers));
        Ok(rows > 0)
    }
}

/// The numbers of a column in whole rows of this many bytes.
fn cells(rows: &[u8], row: usize, cell: usize) -> impl Iterator<Item = f64> {
    let place = cell * size_of::<f64>();
    rows.chunks_exact(row).map(move |row| {
        let bytes = row[place..].first_chunk();
        bytes.map_or(f64::NAN, |bytes| f64::from_le_bytes(*bytes))
    })
}
