//! Comma-separated values, a piece of the file at a time.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::{Block, Contents, Form, Stream};
use crate::csv_reader::{
    NOT_TEXT, builders, check_time, is_of_ecos, not_a_number, read_names, read_row,
};
use crate::csv_rows::{Dialect, Rows, Wrong, count_lines};
use crate::heading::{Heading, TimeColumn, place_of_time};
use crate::read_error::{CsvError, ReadTableError};
use crate::sink::{Column, ColumnType};
use crate::table::Values;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;
/// The mark of the byte order, which may come first.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Longest row: longer ones come from files that are not tables, which would fill the memory.
const LONGEST_ROW: usize = 64 << 20;

pub(super) fn not_a_file(path: &Path) -> ReadTableError {
    let message = "this is not an ordinary file; results are read from files, more than once";
    let source = io::Error::new(io::ErrorKind::InvalidInput, message);
    io_error(path, source)
}

fn io_error(path: &Path, source: io::Error) -> ReadTableError {
    let path = path.to_owned();
    CsvError::Io { path, source }.into()
}

fn content(path: &Path, (line, message): Wrong) -> ReadTableError {
    let path = path.to_owned();
    let error = CsvError::Content {
        path,
        line,
        message,
    };
    error.into()
}

/// A CSV file: its columns, and their cells in each row.
struct CsvFile {
    path: PathBuf,
    /// Names as the file has them, to see whether it has changed.
    header: Vec<Heading>,
    dialect: Dialect,
    of_time: usize,
    /// The columns but the time, each with its cell.
    columns: Vec<(usize, Column)>,
}

pub(super) fn open(path: &Path, time_column: Option<&str>) -> Result<Contents, ReadTableError> {
    let dialect = dialect(path, time_column)?;
    let mut pieces = Pieces::open(path, dialect)?;
    pieces.next()?;
    let first = read_first(&pieces, time_column).map_err(|wrong| content(path, wrong))?;
    let (time, file) = first;
    Ok(Contents {
        columns: file
            .columns
            .iter()
            .map(|(_, column)| column.clone())
            .collect(),
        metadata: Vec::new(),
        time,
        rows: None,
        form: Box::new(file),
    })
}

/// The dialect, by the first piece.
fn dialect(path: &Path, time_column: Option<&str>) -> Result<Dialect, ReadTableError> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(|source| io_error(path, source))?;
    let read = file.take(PIECE as u64).read_to_end(&mut head);
    read.map_err(|source| io_error(path, source))?;
    let head = head.strip_prefix(MARK).unwrap_or(&head);
    let text = head.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    Ok(Dialect::of(text, time_column))
}

/// The columns, with their kinds by the rows of the first piece.
fn read_first(pieces: &Pieces, time_column: Option<&str>) -> Result<(TimeColumn, CsvFile), Wrong> {
    let mut dialect = pieces.dialect;
    let mut rows = Rows::new(pieces.text()?, dialect.separator);
    let header = read_names(&mut rows)?;
    let time = place_of_time(&header, time_column).map_err(|message| (rows.line, message))?;
    let mut builders = builders(&header);
    while rows.next()? {
        rows.check_length(header.len(), pieces.is_end)
            .and_then(|()| read_row(&rows, &mut builders, &mut dialect))
            .map_err(|message| (rows.line, message))?;
    }
    let is_time_quoted = header[time.place].is_quoted || builders[time.place].is_quoted;
    let columns = builders.into_iter().enumerate().map(|(cell, builder)| {
        let series = builder.finish(is_time_quoted);
        let kind = match series.values {
            Values::Numbers(_) => ColumnType::Real,
            Values::Text(_) => ColumnType::String,
        };
        let unit = series.unit;
        (
            cell,
            Column {
                unit,
                ..Column::new(series.name, kind)
            },
        )
    });
    let columns = columns.filter(|(cell, _)| *cell != time.place);
    let file = CsvFile {
        path: pieces.path.clone(),
        of_time: time.place,
        columns: columns.skip(usize::from(is_of_ecos(&header))).collect(),
        dialect: pieces.dialect,
        header,
    };
    Ok((time, file))
}

impl Form for CsvFile {
    fn stream(&self, columns: &[usize]) -> Result<Box<dyn Stream>, ReadTableError> {
        let chosen = columns.iter().map(|column| self.columns[*column].1.clone());
        let mut targets: Vec<Vec<usize>> = vec![Vec::new(); self.header.len()];
        for (target, column) in columns.iter().enumerate() {
            targets[self.columns[*column].0].push(target);
        }
        Ok(Box::new(CsvStream {
            pieces: Pieces::open(&self.path, self.dialect)?,
            header: self.header.clone(),
            of_time: self.of_time,
            chosen: chosen.collect(),
            targets,
            last: None,
            has_begun: false,
        }))
    }
}

struct CsvStream {
    pieces: Pieces,
    header: Vec<Heading>,
    of_time: usize,
    chosen: Vec<Column>,
    /// By cell, the columns of the block that it goes to.
    targets: Vec<Vec<usize>>,
    last: Option<f64>,
    has_begun: bool,
}

impl Stream for CsvStream {
    fn fill(&mut self, block: &mut Block) -> Result<bool, ReadTableError> {
        block.columns.clear();
        block
            .columns
            .extend(self.chosen.iter().map(|column| Values::none(column.kind)));
        while block.time.is_empty() {
            if !self.pieces.next()? {
                return Ok(false);
            }
            self.read(block).map_err(|(line, message)| {
                content(&self.pieces.path, (self.pieces.lines + line, message))
            })?;
        }
        Ok(true)
    }
}

impl CsvStream {
    /// Reads the rows of a piece.
    fn read(&mut self, block: &mut Block) -> Result<(), Wrong> {
        // The decimal mark stays from piece to piece.
        let mut dialect = self.pieces.dialect;
        let mut rows = Rows::new(self.pieces.text()?, dialect.separator);
        if !std::mem::replace(&mut self.has_begun, true) && read_names(&mut rows)? != self.header {
            let message = "the columns have changed since the file was opened";
            return Err((1, message.to_owned()));
        }
        while rows.next()? {
            let fail = |message| (rows.line, message);
            rows.check_length(self.header.len(), self.pieces.is_end)
                .map_err(fail)?;
            for (place, (cell, is_quoted)) in rows.cells().take(self.header.len()).enumerate() {
                if place == self.of_time {
                    let now = dialect.number(cell).unwrap_or(f64::NAN);
                    check_time(now, self.last.as_ref()).map_err(fail)?;
                    self.last = Some(now);
                    block.time.push(now);
                }
                for target in &self.targets[place] {
                    let name = &self.chosen[*target].name;
                    push(
                        &mut block.columns[*target],
                        name,
                        (cell, is_quoted),
                        &mut dialect,
                    )
                    .map_err(fail)?;
                }
            }
        }
        self.pieces.dialect = dialect;
        Ok(())
    }
}

/// A text in quotes in a column whose first rows were numbers does not count as a number: it may be a column of texts that
/// begins with texts that look like numbers.
fn push(
    values: &mut Values,
    name: &str,
    (cell, is_quoted): (&str, bool),
    dialect: &mut Dialect,
) -> Result<(), String> {
    match values {
        Values::Text(texts) => texts.push(cell.to_owned()),
        Values::Numbers(numbers) => match dialect.number(cell) {
            Some(number) => numbers.push(number),
            None if is_quoted => numbers.push(f64::NAN),
            None => return Err(not_a_number(name, cell)),
        },
    }
    Ok(())
}

/// Pieces of a file that end with a row.
struct Pieces {
    path: PathBuf,
    dialect: Dialect,
    file: File,
    bytes: Vec<u8>,
    /// Bytes that have been searched for the ends of rows.
    searched: usize,
    place: Place,
    /// Length of the piece.
    length: usize,
    /// Length of the mark of the byte order.
    mark: usize,
    /// Number of lines before the piece.
    lines: usize,
    /// Whether the piece is the last.
    is_end: bool,
}

/// The place of a byte in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the start of a cell.
    Start,
    /// In a cell without quotes.
    Bare,
    /// Between quotes.
    Quoted,
    /// After a quote between quotes: the last one, or the first of two.
    Closing,
}

impl Pieces {
    fn open(path: &Path, dialect: Dialect) -> Result<Self, ReadTableError> {
        Ok(Self {
            path: path.to_owned(),
            dialect,
            file: File::open(path).map_err(|source| io_error(path, source))?,
            bytes: Vec::new(),
            searched: 0,
            place: Place::Start,
            length: 0,
            mark: 0,
            lines: 0,
            is_end: false,
        })
    }

    /// Goes to the next piece; false after the last.
    fn next(&mut self) -> Result<bool, ReadTableError> {
        self.lines += count_lines(&self.bytes[..self.length]);
        self.bytes.drain(..self.length);
        self.searched -= self.length;
        let is_first = self.length == 0;
        self.length = 0;
        if self.is_end {
            return Ok(false);
        }
        while self.length == 0 {
            let mut next = (&self.file).take(PIECE as u64);
            let read = next.read_to_end(&mut self.bytes);
            let read = read.map_err(|source| io_error(&self.path, source))?;
            self.search();
            if read < PIECE {
                self.is_end = true;
                self.length = self.bytes.len();
                break;
            }
            if self.length == 0 && self.bytes.len() > LONGEST_ROW {
                let message = "no row ends within 64 MiB; a double quote may not be closed";
                return Err(content(&self.path, (self.lines + 1, message.to_owned())));
            }
        }
        self.mark = usize::from(is_first && self.bytes.starts_with(MARK)) * MARK.len();
        // An empty file has a first piece, in which the names are missing.
        Ok(self.length > 0 || is_first)
    }

    /// Finds the end of the last row that is whole.
    fn search(&mut self) {
        for (index, byte) in self.bytes.iter().enumerate().skip(self.searched) {
            self.place = match (self.place, byte) {
                (Place::Quoted, b'"') => Place::Closing,
                (Place::Quoted, _) => Place::Quoted,
                (Place::Closing, b'"') => Place::Quoted,
                (Place::Start, b'"') => Place::Quoted,
                (_, byte) if *byte == self.dialect.separator => Place::Start,
                (Place::Start, b' ' | b'\t') => Place::Start,
                (_, b'\n' | b'\r') => {
                    self.length = index + 1;
                    Place::Start
                }
                _ => Place::Bare,
            };
        }
        self.searched = self.bytes.len();
    }

    fn text(&self) -> Result<&str, Wrong> {
        let bytes = &self.bytes[self.mark.min(self.length)..self.length];
        std::str::from_utf8(bytes).map_err(|error| {
            let before = &bytes[..error.valid_up_to()];
            (1 + count_lines(before), NOT_TEXT.to_owned())
        })
    }
}
