//! Rows as bytes: lines of text, or doubles of fixed length.

use std::io::{self, BufRead};

use crate::csv_reader::read_names;
use crate::csv_rows::Rows;
use crate::row_buffer::RowBuffer;
use crate::row_text::{Texts, push_name};
use crate::sink::{Cell, Column, ColumnType};
#[cfg(feature = "parquet")]
use crate::spool::{self, SpoolRows};
#[cfg(feature = "parquet")]
use crate::spool_reader::SpoolReader;

/// Ending of the names of files of doubles.
pub(crate) const DOUBLES: &str = "rows";

/// The first byte of a file of doubles; no text begins with it.
const MARK: u8 = 0;

/// Longest line of names that is read.
const LONGEST_NAMES: usize = 64 << 20;

/// How rows become bytes.
#[derive(Debug)]
pub(crate) enum Encoding {
    /// A line of comma-separated values each.
    Text(Texts),
    /// Little-endian doubles, after a line with the names. Whole numbers and booleans are also doubles.
    Doubles,
    /// Rows that become columns in the end.
    #[cfg(feature = "parquet")]
    Spool(SpoolRows),
}

impl Encoding {
    /// Learns the columns.
    pub(crate) fn begin(&mut self, columns: &[Column]) {
        match self {
            #[cfg(feature = "parquet")]
            Self::Spool(rows) => rows.begin(columns),
            // Doubles have no place for texts.
            Self::Doubles if !columns.iter().any(|c| c.kind == ColumnType::String) => {}
            Self::Doubles | Self::Text(_) => *self = Self::Text(Texts::new(columns.len())),
        }
    }

    /// Appends the header of the file: the line of names, or all facts of the columns.
    pub(crate) fn push_header(&self, buffer: &mut RowBuffer, columns: &[Column]) {
        match self {
            #[cfg(feature = "parquet")]
            Self::Spool(rows) => return rows.push_header(buffer, columns),
            Self::Doubles => buffer.push(MARK),
            Self::Text(_) => {}
        }
        buffer.extend_from_slice(b"time");
        for column in columns {
            buffer.push(b',');
            push_name(buffer, &column.name);
        }
        buffer.push(b'\n');
    }

    /// Appends a row: reals, then cells of any type; returns the number of cells after the time.
    #[inline]
    pub(crate) fn push_row(
        &mut self,
        buffer: &mut RowBuffer,
        time: f64,
        reals: &[f64],
        others: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> usize {
        match self {
            Self::Text(texts) => {
                texts.push_row(buffer, time, reals);
                let count = texts.push_cells(buffer, others);
                buffer.replace_last(b'\n');
                reals.len() + count
            }
            Self::Doubles => {
                buffer.push_doubles(&[time]);
                buffer.push_doubles(reals);
                let others = others.map(|cell| buffer.push_doubles(&[cell.as_real()]));
                reals.len() + others.count()
            }
            #[cfg(feature = "parquet")]
            Self::Spool(rows) => rows.push_row(buffer, time, reals, others),
        }
    }

    /// Appends cells to a row that has no end yet, and ends it.
    pub(crate) fn push_more(&mut self, buffer: &mut RowBuffer, reals: impl Iterator<Item = f64>) {
        match self {
            Self::Text(texts) => {
                buffer.push(b',');
                texts.push_cells(buffer, reals.map(Cell::Real));
                buffer.replace_last(b'\n');
            }
            Self::Doubles => reals.for_each(|number| buffer.push_doubles(&[number])),
            // Columns are added when its rows become columns.
            #[cfg(feature = "parquet")]
            Self::Spool(_) => {}
        }
    }

    /// Length of the first row, which has so many columns after the time, without its end and with it.
    pub(crate) fn first_row(&self, rows: &[u8], columns: usize) -> (usize, usize) {
        match self {
            Self::Text(_) => first_line(rows),
            Self::Doubles => {
                let length = row_length(columns + 1).min(rows.len());
                (length, length)
            }
            #[cfg(feature = "parquet")]
            Self::Spool(_) => (rows.len(), rows.len()),
        }
    }

    /// Number of whole rows at the beginning of a block, and their bytes; a line of names counts as a row.
    pub(crate) fn whole_rows(&self, block: &[u8], columns: usize) -> (u64, u64) {
        match self {
            Self::Text(_) => {
                let mut lines = Lines::default();
                block.iter().for_each(|byte| lines.push(*byte));
                (lines.count, lines.end)
            }
            Self::Doubles => {
                let length = row_length(columns + 1) as u64;
                let rows = block.len() as u64 / length;
                (rows, rows * length)
            }
            #[cfg(feature = "parquet")]
            Self::Spool(_) => spool::whole_rows(block),
        }
    }
}

/// Bytes of a row of doubles; `cells` includes the time.
fn row_length(cells: usize) -> usize {
    cells * size_of::<f64>()
}

/// Length of the first line, which may have line feeds in quotes, without its end and with it.
pub(crate) fn first_line(text: &[u8]) -> (usize, usize) {
    let mut lines = Lines::default();
    let end = text.iter().position(|byte| {
        lines.push(*byte);
        lines.count > 0
    });
    end.map_or((text.len(), text.len()), |end| (end, end + 1))
}

/// Counts lines as their bytes come: a line feed between quotes ends none.
#[derive(Default)]
struct Lines {
    count: u64,
    /// Bytes up to the end of the last whole line.
    end: u64,
    position: u64,
    is_quoted: bool,
}

impl Lines {
    fn push(&mut self, byte: u8) {
        self.position += 1;
        match byte {
            b'"' => self.is_quoted = !self.is_quoted,
            b'\n' if !self.is_quoted => (self.count, self.end) = (self.count + 1, self.position),
            _ => {}
        }
    }
}

/// The names at the beginning of a file of doubles. The file has a zero byte, a line with the names of the columns as in a
/// CSV file, and rows of little-endian doubles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoublesHeader {
    /// Names of the columns; the first is `time`.
    pub names: Vec<String>,
    /// Bytes before the first row.
    pub length: usize,
}

impl DoublesHeader {
    /// Bytes of a row.
    #[must_use]
    pub fn row_length(&self) -> usize {
        row_length(self.names.len())
    }

    /// The names, if all of them are there.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (&MARK, text) = bytes.split_first()? else {
            return None;
        };
        let (line, length) = first_line(text);
        let line = std::str::from_utf8(&text[..line]).ok()?;
        let names = read_names(&mut Rows::new(line, b',')).ok()?;
        (length > line.len()).then(|| Self {
            names: names.into_iter().map(|name| name.text).collect(),
            length: length + 1,
        })
    }

    /// Reads the names from the beginning of a file, and no further.
    ///
    /// # Errors
    ///
    /// The error of the reader. `None` if the names make no sense.
    pub fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let (mut bytes, mut lines) = (Vec::new(), Lines::default());
        while lines.count == 0 && bytes.len() < LONGEST_NAMES {
            let block = reader.fill_buf()?;
            if block.is_empty() {
                break;
            }
            let end = block.iter().position(|byte| {
                lines.push(*byte);
                lines.count > 0
            });
            let length = end.map_or(block.len(), |end| end + 1);
            bytes.extend_from_slice(&block[..length]);
            reader.consume(length);
        }
        Ok(Self::parse(&bytes))
    }

    /// Whether a file begins as one of doubles does.
    #[must_use]
    pub fn is_at(bytes: &[u8]) -> bool {
        bytes.first() == Some(&MARK)
    }
}

/// Counts the rows after the names in a file that a [`CsvSink`](crate::CsvSink) has written, up to its end or to an error.
/// Returns the number of whole rows, the bytes up to the end of the last one, and whether nothing follows it.
#[must_use]
pub fn count_rows(mut reader: impl BufRead) -> (u64, u64, bool) {
    #[cfg(feature = "parquet")]
    if reader.fill_buf().is_ok_and(spool::is_spool) {
        return SpoolReader::new(reader).map_or((0, 0, false), SpoolReader::count);
    }
    if !reader.fill_buf().is_ok_and(DoublesHeader::is_at) {
        let mut lines = Lines::default();
        each_block(&mut reader, |block| {
            block.iter().for_each(|byte| lines.push(*byte));
        });
        let is_whole = lines.end == lines.position;
        return (lines.count.saturating_sub(1), lines.end, is_whole);
    }
    let Ok(Some(header)) = DoublesHeader::read(&mut reader) else {
        return (0, 0, false);
    };
    let (mut length, row) = (0, header.row_length() as u64);
    each_block(&mut reader, |block| length += block.len() as u64);
    let (rows, end) = (length / row, length - length % row);
    (rows, header.length as u64 + end, end == length)
}

fn each_block(reader: &mut impl BufRead, mut see: impl FnMut(&[u8])) {
    while let Ok(block) = reader.fill_buf()
        && !block.is_empty()
    {
        see(block);
        let length = block.len();
        reader.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rows_of_both_encodings_are_counted() {
        let count = |bytes: &[u8]| {
            // Blocks end anywhere.
            let reader = std::io::BufReader::with_capacity(3, bytes);
            count_rows(reader)
        };
        assert_eq!(count(b""), (0, 0, true));
        assert_eq!(count(b"time,a\n0,1\n0.5,\"x\n"), (1, 11, false));
        let names = b"\0time,\"a\n,\"\"\"\n";
        let length = names.len() as u64;
        let cut = &names[..9];
        assert_eq!(count(cut), (0, 0, false), "names that are cut short");
        let mut file = names.to_vec();
        assert_eq!(count(&file), (0, length, true));
        // Bytes that are line feeds and quotes in text.
        file.extend_from_slice(&[b'\n'; 16]);
        assert_eq!(count(&file), (1, length + 16, true));
        file.extend_from_slice(&[b'"'; 15]);
        assert_eq!(count(&file), (1, length + 16, false));
        let header = DoublesHeader::parse(&file).unwrap();
        assert_eq!(header.names, ["time", "a\n,\""]);
        assert_eq!((header.length as u64, header.row_length()), (length, 16));
        assert_eq!(DoublesHeader::parse(&names[..12]), None);
        assert_eq!(DoublesHeader::parse(b"time,a\n"), None);
    }
}
