//! Reads the rows of a result while a run writes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use gyrator_record::DoublesHeader;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::column::{Column, Values};
use crate::table::{Table, kind};

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 20;

/// Follows the file of doubles or the CSV file that a run writes: each call of `read` takes the whole rows that have come since.
#[pyclass(frozen, module = "gyrator._gyrator")]
pub(crate) struct Follower {
    path: PathBuf,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    file: Option<File>,
    /// Bytes after the last whole row.
    rest: Vec<u8>,
    columns: Vec<Growing>,
    /// Bytes of a row, in a file of doubles.
    row: Option<usize>,
    /// The file is not what it was: it is read again in the end.
    is_changed: bool,
}

struct Growing {
    name: String,
    cells: Cells,
}

enum Cells {
    /// Before the first row.
    None,
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

#[pymethods]
impl Follower {
    /// Follows `path`, which is called so when the run has ended.
    #[new]
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            rows: Mutex::default(),
        }
    }

    /// Takes the rows that are there.
    fn read(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.take())
    }

    /// Takes the last rows of the run, which has ended, and gives all of them, with types of the columns that are
    /// not of reals; `None` where there is no result.
    fn finish(&self, py: Python<'_>, types: BTreeMap<String, String>) -> PyResult<Option<Table>> {
        py.detach(|| self.end(&types))
    }
}

impl Follower {
    fn take(&self) -> PyResult<()> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.is_changed {
            return Ok(());
        }
        if rows.file.is_none() {
            let mut part = self.path.clone().into_os_string();
            part.push(".part");
            let found = File::open(part).or_else(|_| File::open(&self.path));
            match found {
                Ok(file) => rows.file = Some(file),
                Err(_) => return Ok(()),
            }
        }
        if rows.take().is_err() {
            rows.is_changed = true;
        }
        Ok(())
    }

    fn end(&self, types: &BTreeMap<String, String>) -> PyResult<Option<Table>> {
        self.take()?;
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(last) = File::open(&self.path) {
            let is_other = match &rows.file {
                Some(file) => identity(file)? != identity(&last)?,
                None => true,
            };
            if is_other || rows.is_changed {
                *rows = Rows {
                    file: Some(last),
                    ..Rows::default()
                };
                rows.take()?;
            }
        }
        let Rows { file, columns, .. } = std::mem::take(&mut *rows);
        if file.is_none() || columns.is_empty() {
            return Ok(None);
        }
        let columns = columns.into_iter().map(|column| Column {
            values: match column.cells {
                Cells::None => Values::of_numbers(Vec::new(), kind(types, &column.name)),
                Cells::Numbers(numbers) => Values::of_numbers(numbers, kind(types, &column.name)),
                Cells::Texts(texts) => Values::Text(Arc::new(texts)),
            },
            name: column.name,
        });
        Ok(Some(Table::new(columns.collect())))
    }
}

fn identity(file: &File) -> PyResult<(u64, u64)> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

impl Rows {
    fn take(&mut self) -> PyResult<()> {
        loop {
            let Some(file) = &mut self.file else {
                return Ok(());
            };
            let read = file.take(BLOCK as u64).read_to_end(&mut self.rest);
            let read = read.map_err(|error| PyOSError::new_err(error.to_string()))?;
            if read == 0 {
                return Ok(());
            }
            self.take_whole()?;
        }
    }

    /// Takes the whole rows of the bytes that have come.
    fn take_whole(&mut self) -> PyResult<()> {
        if self.columns.is_empty() && DoublesHeader::is_at(&self.rest) {
            let Some(header) = DoublesHeader::parse(&self.rest) else {
                return Ok(());
            };
            self.row = Some(header.row_length());
            self.rest.drain(..header.length);
            let names = header.names.into_iter();
            self.columns.extend(names.map(|name| Growing {
                name,
                cells: Cells::Numbers(Vec::new()),
            }));
        }
        let whole = if let Some(row) = self.row {
            let whole = self.rest.len() - self.rest.len() % row;
            take_doubles(&self.rest[..whole], row, &mut self.columns);
            whole
        } else {
            let whole = end_of_rows(&self.rest);
            parse(&self.rest[..whole], &mut self.columns)?;
            whole
        };
        self.rest.drain(..whole);
        Ok(())
    }
}

/// Takes whole rows of doubles, of so many bytes each.
fn take_doubles(bytes: &[u8], row: usize, columns: &mut [Growing]) {
    for (place, column) in (0..).step_by(size_of::<f64>()).zip(columns) {
        if let Cells::Numbers(numbers) = &mut column.cells {
            numbers.extend(bytes.chunks_exact(row).map(|row| {
                let cell = row[place..].first_chunk();
                cell.map_or(f64::NAN, |cell| f64::from_le_bytes(*cell))
            }));
        }
    }
}

/// The end of the last whole row: a line feed between quotes is part of a text.
fn end_of_rows(bytes: &[u8]) -> usize {
    if !bytes.contains(&b'"') {
        return bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |place| place + 1);
    }
    let (mut end, mut is_quoted) = (0, false);
    for (place, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => end = place + 1,
            _ => {}
        }
    }
    end
}

fn parse(bytes: &[u8], columns: &mut Vec<Growing>) -> PyResult<()> {
    let wrong = |text: &str| PyValueError::new_err(format!("the rows of the run: {text}"));
    // Most results have numbers only, whose lines need no reader of quotes.
    if !columns.is_empty() && !bytes.contains(&b'"') {
        return parse_numbers(bytes, columns).ok_or_else(|| wrong("a cell is no number"));
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(bytes);
    let mut row = csv::ByteRecord::new();
    // The reader shows no quotes, but texts alone begin with one.
    let mut start = 0;
    while reader
        .read_byte_record(&mut row)
        .map_err(|error| wrong(&error.to_string()))?
    {
        if columns.is_empty() {
            columns.extend(row.iter().map(|cell| Growing {
                name: String::from_utf8_lossy(cell).into_owned(),
                cells: Cells::None,
            }));
        } else if row.len() == columns.len() {
            let line = &bytes[start..];
            for (index, (column, cell)) in columns.iter_mut().zip(&row).enumerate() {
                let is_text = matches!(column.cells, Cells::None).then(|| is_quoted(line, index));
                let pushed = column.push(cell, is_text.unwrap_or(false));
                pushed.ok_or_else(|| wrong("a cell is no number"))?;
            }
        } else {
            return Err(wrong("a row has not as many cells as there are columns"));
        }
        start = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
    }
    Ok(())
}

/// Takes whole rows of numbers; `None` where they are none.
fn parse_numbers(bytes: &[u8], columns: &mut [Growing]) -> Option<()> {
    for line in std::str::from_utf8(bytes).ok()?.lines() {
        let mut cells = line.split(',');
        for column in columns.iter_mut() {
            column.push(cells.next()?.as_bytes(), false)?;
        }
        if cells.next().is_some() {
            return None;
        }
    }
    Some(())
}

/// Whether a cell of the row that begins here is quoted.
fn is_quoted(line: &[u8], index: usize) -> bool {
    let (mut cell, mut is_inside, mut is_first) = (0, false, true);
    for byte in line {
        if cell == index && is_first {
            return *byte == b'"';
        }
        is_first = false;
        match byte {
            b'"' => is_inside = !is_inside,
            b',' if !is_inside => (cell, is_first) = (cell + 1, true),
            b'\n' if !is_inside => return false,
            _ => {}
        }
    }
    false
}

impl Growing {
    /// Appends a cell; the first one says whether the column is of texts.
    fn push(&mut self, cell: &[u8], is_text: bool) -> Option<()> {
        if matches!(self.cells, Cells::None) {
            self.cells = match is_text {
                true => Cells::Texts(Vec::new()),
                false => Cells::Numbers(Vec::new()),
            };
        }
        match &mut self.cells {
            Cells::None => {}
            Cells::Numbers(numbers) => {
                numbers.push(std::str::from_utf8(cell).ok()?.parse().ok()?);
            }
            Cells::Texts(texts) => texts.push(String::from_utf8_lossy(cell).into_owned()),
        }
        Some(())
    }
}
