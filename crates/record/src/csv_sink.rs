//! Rows in a file, one after the other: as comma-separated values, or as doubles.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::part_file::PartFile;
use crate::row_buffer::RowBuffer;
use crate::row_encoding::{Encoding, first_line};
use crate::row_text::{Texts, push_name};
use crate::sink::{Cell, Column, RecordError, RowSink};

/// Bytes that are collected before they go to the operating system.
const BLOCK: usize = 256 * 1024;

/// Destination of a [`CsvSink`].
pub trait Output: Write + Send {
    /// Removes the bytes written after the first `length` bytes. Does nothing if bytes cannot
    /// be removed.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes sure that all bytes are stored.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn sync(&mut self) -> io::Result<()>;

    /// Keeps a whole row that will be written with a later block, if rows may survive the
    /// process. False without room for it: then its block is written at once.
    #[inline]
    fn stage(&mut self, row: &[u8]) -> bool {
        let _ = row;
        true
    }

    /// Whether nothing can be written any more, and another process writes the rows that were staged
    /// and gives the file its name.
    fn is_taken_over(&self) -> bool {
        false
    }
}

impl Output for File {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    /// Some file systems report only now that their space is used up.
    fn sync(&mut self) -> io::Result<()> {
        match self.sync_data() {
            // Pipes and terminals have no storage.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        }
    }
}

impl Output for io::Stdout {
    fn truncate(&mut self, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()
    }
}

impl Output for Vec<u8> {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        Vec::truncate(self, usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes `time` and the columns as comma-separated values: RFC 4180 quoting (but lines end in a
/// line feed), and doubles with the fewest digits that read back as the same double.
///
/// `NaN`, `inf` and `-inf` are written so; booleans are 0 and 1, enumerations their number, as the
/// rules of the FMI cross-check ask for. Names are quoted if they must be, strings always.
/// [`as_doubles`](Self::as_doubles) writes the numbers as the memory has them instead.
/// Rows are handed over in large blocks. If a block fails, the output is cut after its last
/// whole row. A file that the sink has created is a [`PartFile`] and gets its name in the end, also
/// after a failure. Dropping the sink does all that and ignores errors.
#[derive(Debug)]
pub struct CsvSink<W: Output = File> {
    output: W,
    path: PathBuf,
    /// The file, if the sink has created it.
    part: Option<PartFile>,
    has_begun: bool,
    encoding: Encoding,
    columns: usize,
    buffer: RowBuffer,
    /// Length of the buffer that ends with a whole row.
    complete: usize,
    /// Bytes that the output took.
    written: u64,
    rows: u64,
    failed: bool,
    is_finished: bool,
}

impl CsvSink {
    /// Creates a file, replacing an older one.
    ///
    /// # Errors
    ///
    /// As [`PartFile::create`].
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        Self::create_with(path, |file| file)
    }
}

impl<W: Output> CsvSink<W> {
    /// Creates a file, replacing an older one, and writes to the result of `wrap` for it.
    ///
    /// # Errors
    ///
    /// As [`PartFile::create`].
    pub fn create_with(path: &Path, wrap: impl FnOnce(File) -> W) -> Result<Self, RecordError> {
        let part = PartFile::create(path)?;
        let file = part.file().try_clone();
        let file = file.map_err(|source| RecordError::Create {
            path: path.to_owned(),
            reason: source.to_string(),
            source,
        })?;
        let mut sink = Self::new(wrap(file), path);
        sink.part = Some(part);
        Ok(sink)
    }

    /// Writes to an open output; `path` names it in errors.
    pub fn new(output: W, path: impl Into<PathBuf>) -> Self {
        Self {
            output,
            path: path.into(),
            part: None,
            has_begun: false,
            encoding: Encoding::Text(Texts::new(0)),
            columns: 0,
            buffer: RowBuffer::with_capacity(BLOCK + BLOCK / 4),
            complete: 0,
            written: 0,
            rows: 0,
            failed: false,
            is_finished: false,
        }
    }

    /// Writes rows as little-endian doubles, after a zero byte and the line of names ([`DoublesHeader`](crate::DoublesHeader)):
    /// programs that read the rows while they come need not parse them. Rows with texts stay text.
    #[must_use]
    pub fn as_doubles(mut self) -> Self {
        self.encoding = Encoding::Doubles;
        self
    }

    /// Writes rows in the form in which they wait to become columns.
    #[cfg(feature = "parquet")]
    pub(crate) fn for_columns(output: W, path: impl Into<PathBuf>) -> Self {
        let mut sink = Self::new(output, path);
        sink.encoding = Encoding::Spool(crate::spool::SpoolRows::default());
        sink
    }

    /// Keeps a text in the header, if the form has a place for it.
    #[cfg(feature = "parquet")]
    pub(crate) fn keep(&mut self, key: &str, text: String) {
        if let Encoding::Spool(rows) = &mut self.encoding {
            rows.metadata.push((key.to_owned(), text));
        }
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn output(&mut self) -> &mut W {
        &mut self.output
    }

    /// Whether the output has taken anything.
    #[cfg(feature = "parquet")]
    pub(crate) fn has_written(&self) -> bool {
        self.written > 0
    }

    /// Whether the columns are known.
    #[cfg(feature = "parquet")]
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Appends a row, takes it back if it does not fit, and hands a full block over.
    #[inline]
    fn push_row(
        &mut self,
        time: f64,
        reals: &[f64],
        others: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        self.check_usable()?;
        // A row whose cells panicked.
        self.buffer.truncate(self.complete);
        let buffer = &mut self.buffer;
        let found = self.encoding.push_row(buffer, time, reals, others);
        self.end_row(found)
    }

    /// Takes back a row that does not fit; else hands a full block over.
    #[inline]
    fn end_row(&mut self, found: usize) -> Result<(), RecordError> {
        if found != self.columns {
            self.buffer.truncate(self.complete);
            return Err(RecordError::WrongRow {
                expected: self.columns,
                found,
            });
        }
        let is_staged = self.output.stage(&self.buffer.as_slice()[self.complete..]);
        self.complete = self.buffer.len();
        self.rows += 1;
        if is_staged && self.complete < BLOCK {
            Ok(())
        } else {
            self.hand_over()
        }
    }

    /// Gives the collected rows to the output.
    fn hand_over(&mut self) -> Result<(), RecordError> {
        let mut taken = 0;
        while taken < self.complete {
            match self
                .output
                .write(&self.buffer.as_slice()[taken..self.complete])
            {
                Ok(0) => return Err(self.fail(taken, io::ErrorKind::WriteZero.into())),
                Ok(count) => taken += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail(taken, error)),
            }
        }
        self.written += self.complete as u64;
        self.buffer.remove_front(self.complete);
        self.complete = 0;
        Ok(())
    }

    /// Writes the rows of `before` with further cells at their ends, replacing the present ones.
    fn rewrite(
        &mut self,
        before: &[u8],
        columns: &[Column],
        values: &[&[f64]],
    ) -> Result<(), RecordError> {
        self.empty()?;
        let earlier = self.columns;
        self.columns += columns.len();
        let (names, mut place) = first_line(before);
        self.buffer.extend_from_slice(&before[..names]);
        for column in columns {
            self.buffer.push(b',');
            push_name(&mut self.buffer, &column.name);
        }
        self.buffer.push(b'\n');
        self.hand_over_header()?;
        let mut row = 0;
        while place < before.len() {
            let rest = &before[place..];
            let (cells, length) = self.encoding.first_row(rest, earlier);
            self.buffer.extend_from_slice(&rest[..cells]);
            let more = values.iter().map(|values| values[row]);
            self.encoding.push_more(&mut self.buffer, more);
            // The cells were counted when the row was written.
            self.end_row(self.columns)?;
            (place, row) = (place + length, row + 1);
        }
        self.flush()
    }

    fn hand_over_header(&mut self) -> Result<(), RecordError> {
        self.complete = self.buffer.len();
        self.hand_over()
    }

    fn empty(&mut self) -> Result<(), RecordError> {
        self.buffer.clear();
        (self.complete, self.written, self.rows) = (0, 0, 0);
        let emptied = self.output.truncate(0);
        emptied.map_err(|error| self.error(error))
    }

    /// Writes the rows as they were: they had room before.
    fn put_back(&mut self, before: &[u8], rows: u64) {
        let emptied = self.empty();
        self.buffer.extend_from_slice(before);
        self.complete = self.buffer.len();
        if emptied.and_then(|()| self.hand_over()).is_ok() {
            (self.rows, self.failed) = (rows, false);
        }
    }

    /// Cuts the output after its last whole row; it has taken `taken` bytes of the buffer.
    fn fail(&mut self, taken: usize, source: io::Error) -> RecordError {
        self.failed = true;
        if self.output.is_taken_over() {
            return self.error(source);
        }
        let whole_rows = |bytes: &[u8]| match &self.encoding {
            // A header is handed over by itself, and its length says nothing.
            Encoding::Text(_) => self.encoding.whole_rows(bytes, self.columns),
            _ if self.written == 0 => (0, 0),
            encoding => encoding.whole_rows(bytes, self.columns),
        };
        let (rows, _) = whole_rows(&self.buffer.as_slice()[..self.complete]);
        let (kept_rows, kept_bytes) = whole_rows(&self.buffer.as_slice()[..taken]);
        self.rows = self.rows.saturating_sub(rows - kept_rows);
        self.written += kept_bytes;
        // If this fails as well, the last row is cut short, and readers say so.
        let _ = self.output.truncate(self.written);
        self.error(source)
    }

    /// Gives the file its name, whatever was written; it says more that writing has failed.
    fn publish(&mut self, written: Result<(), RecordError>) -> Result<(), RecordError> {
        let is_taken_over = self.output.is_taken_over();
        let Some(part) = self.part.as_mut().filter(|_| !is_taken_over) else {
            return written;
        };
        let published = part.publish(written.is_ok().then_some(self.written));
        // Its error says whether any rows are left, and in which file.
        published.and(written)
    }

    fn error(&self, source: io::Error) -> RecordError {
        let path = self.path.clone();
        if self.output.is_taken_over() {
            return RecordError::Closed { path };
        }
        RecordError::Write {
            path,
            rows: self.rows,
            source,
        }
    }

    fn check_usable(&self) -> Result<(), RecordError> {
        if self.failed {
            return Err(self.error(io::Error::other("an earlier write failed")));
        }
        Ok(())
    }
}

impl<W: Output> RowSink for CsvSink<W> {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        self.check_usable()?;
        self.has_begun = true;
        self.columns = columns.len();
        self.encoding.begin(columns);
        self.encoding.push_header(&mut self.buffer, columns);
        // At once, so that a full disk shows before the first step.
        self.hand_over_header()
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        // One more shows that there are too many.
        let mut cells = cells.take(self.columns + 1);
        self.push_row(time, &[], &mut cells)
    }

    fn real_row(&mut self, time: f64, values: &[f64]) -> Result<(), RecordError> {
        self.push_row(time, values, &mut std::iter::empty())
    }

    fn mixed_row(
        &mut self,
        time: f64,
        reals: &[f64],
        others: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        let most = self.columns.saturating_sub(reals.len()) + 1;
        self.push_row(time, reals, &mut others.take(most))
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        self.check_usable()?;
        self.hand_over()?;
        self.output.flush().map_err(|error| self.error(error))
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        self.is_finished = true;
        let flushed = self.flush();
        let synced = self.output.sync();
        let written = flushed.and_then(|()| synced.map_err(|error| self.error(error)));
        self.publish(written)
    }

    fn add_columns(&mut self, columns: &[Column], values: &[&[f64]]) -> Result<bool, RecordError> {
        self.flush()?;
        let Some(file) = self.part.as_ref().filter(|part| part.is_plain()) else {
            return Ok(false);
        };
        let rows = usize::try_from(self.rows).unwrap_or(usize::MAX);
        if let Some(values) = values.iter().find(|values| values.len() != rows) {
            return Err(RecordError::WrongRow {
                expected: rows,
                found: values.len(),
            });
        }
        let before = file.contents(self.written);
        let before = before.map_err(|error| self.error(error))?;
        let earlier_columns = self.columns;
        let written = self.rewrite(&before, columns, values);
        if written.is_err() {
            self.put_back(&before, rows as u64);
            self.columns = earlier_columns;
        }
        written.map(|()| true)
    }

    fn rows(&self) -> u64 {
        self.rows
    }
}

impl<W: Output> Drop for CsvSink<W> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        // The caller can no longer receive an error here; `finish` reports it.
        let written = match self.failed {
            true => self.check_usable(),
            false => self.hand_over(),
        };
        if self.has_begun {
            let _ = self.output.sync();
            let _ = self.publish(written);
        } else if let Some(part) = &self.part {
            part.discard();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_reuse_the_buffer() {
        let mut sink = CsvSink::new(Vec::new(), "memory");
        let columns: Vec<_> = (0..200)
            .map(|index| Column::new(index.to_string(), crate::ColumnType::Real))
            .collect();
        sink.begin(&columns).unwrap();
        let capacity = sink.buffer.capacity();
        let values: Vec<_> = (0..200)
            .map(|index| f64::from(index).exp() * -1e-150)
            .collect();
        for step in 0..500 {
            sink.real_row(f64::from(step), &values).unwrap();
        }
        assert!(sink.written > 4 * BLOCK as u64);
        assert_eq!(sink.buffer.capacity(), capacity);
    }
}
