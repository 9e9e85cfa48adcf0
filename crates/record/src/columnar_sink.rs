//! Rows of a run for a file of columns: written to `NAME.part` at once, and turned into columns in `NAME.new` by a
//! thread.
//!
//! A Parquet file is read from its end, which is written last: a process that is killed would leave nothing. So rows
//! go to `NAME.part` as they are, in binary, each with its length and a check (CRC-32), through the sink of CSV
//! files. That sink is safe in crashes: rows that are not written yet are in memory that the parent has, and a
//! full disk cuts the file after a whole row. A thread is handed the same bytes and turns them into columns. The
//! thread, the parent of a worker that has died and `gyrator convert` read these bytes by one function, from a queue
//! or from a file. Arrow has its metadata at its beginning and waits for the summary: it is made of the file in the
//! end. So is a Parquet file to which columns were added, or which had no thread.
//!
//! The recorder of a run calls it. It never reads a row back during the run. Figures and what was dropped:
//! docs/dev/speed.md.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek as _, Write};
use std::path::{Path, PathBuf};

use crate::columnar_form::ColumnarForm;
use crate::csv_sink::{CsvSink, Output};
use crate::group_writer::{AddedColumns, GroupWriter, write_groups};
use crate::part_file::{PartFile, rows_path};
use crate::result_file::ResultFile;
use crate::sink::{Cell, Column, RecordError, RowSink};
use crate::spool_reader::{SpoolError, SpoolReader};

/// Writes `time` and the columns to a file that is [written by columns](ColumnarForm).
///
/// Such a file cannot be read before its end is written. Until then the rows are also in `NAME.part`, whole row by whole row. Meanwhile
/// a thread writes the columns to `NAME.new`, if the form allows it. [`finish`](RowSink::finish) ends
/// that file, gives it its name, and removes the other one. If the run dies, [`finish_rows`](crate::finish_rows) does it in another process.
#[derive(Debug)]
pub struct ColumnarSink<W: Output = File> {
    form: &'static ColumnarForm,
    path: PathBuf,
    part: PartFile,
    rows: CsvSink<Both<W>>,
    /// The file that the thread writes.
    new: Option<PartFile>,
    added: AddedColumns,
    is_finished: bool,
    warning: Option<String>,
    metadata: BTreeMap<String, String>,
}

/// The file of rows, and the thread that has its bytes as well.
#[derive(Debug)]
struct Both<W> {
    output: W,
    thread: Option<GroupWriter>,
}

impl<W: Output> Write for Both<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.output.write(bytes)?;
        if let Some(thread) = &mut self.thread {
            thread.push(&bytes[..count]);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl<W: Output> Output for Both<W> {
    /// After an error: the thread leaves a row out that is not whole.
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.output.truncate(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.output.sync()
    }

    fn stage(&mut self, row: &[u8]) -> bool {
        self.output.stage(row)
    }

    fn is_taken_over(&self) -> bool {
        self.output.is_taken_over()
    }
}

impl ColumnarSink {
    /// Creates the file of rows. An older result of its name
    /// is removed: it must not be mistaken for the result of a run that dies.
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
        let part = PartFile::create(path)?;
        let create = |source: io::Error| RecordError::Create {
            path: path.to_owned(),
            reason: source.to_string(),
            source,
        };
        let output = Both {
            output: wrap(part.file().try_clone().map_err(create)?),
            thread: None,
        };
        Ok(Self {
            form,
            path: path.to_owned(),
            rows: CsvSink::for_columns(output, path),
            // With the rights that are given to files now: FMUs change them.
            new: form
                .takes_metadata_last()
                .then(|| part.second())
                .and_then(Result::ok),
            part,
            added: AddedColumns::default(),
            is_finished: false,
            warning: None,
            metadata: BTreeMap::new(),
        })
    }

    /// Lets a thread write the columns from the first row on. Without one they are written in the end.
    fn start_thread(&mut self) {
        let file = self.new.as_ref().map(|new| new.file().try_clone());
        let thread = file.map(|file| GroupWriter::start(self.form, file?));
        self.rows.output().thread = thread.and_then(Result::ok);
    }

    /// An error of the thread, which ends the run. None if an FMU has closed the file of columns: the rows say so if their file
    /// is closed as well; otherwise the columns are written in the end.
    fn check_thread(&mut self) -> Result<(), RecordError> {
        let thread = &self.rows.output().thread;
        if !thread.as_ref().is_some_and(GroupWriter::has_failed) {
            return Ok(());
        }
        let thread = self.rows.output().thread.take();
        if !self.new.as_ref().is_some_and(PartFile::is_open) {
            return Ok(());
        }
        let outcome = thread.map(GroupWriter::finish);
        let error = match outcome {
            Some(Err(error)) => error.into(),
            _ => io::Error::other("the columns cannot be written"),
        };
        self.new.iter().for_each(PartFile::discard);
        self.new = None;
        Err(self.not_written(error))
    }

    fn not_written(&self, source: io::Error) -> RecordError {
        RecordError::Write {
            path: self.path.clone(),
            rows: self.rows.rows(),
            source,
        }
    }

    /// Makes the file of columns, gives it its name, and removes the rows.
    fn make(&mut self) -> Result<(), RecordError> {
        let thread = self.rows.output().thread.take();
        let by_thread = thread.zip(self.new.take()).and_then(|(thread, new)| {
            let rows = finish_thread(thread, &new, &self.metadata).ok()?;
            Some((new, rows))
        });
        let written = match by_thread {
            Some(written) if self.added.columns.is_empty() => Ok(written),
            // Columns were added, the thread is missing or has failed, or the form has its metadata at the beginning.
            _ => write_anew(&self.part, self.form, &self.added, &self.metadata),
        };
        let expected = self.rows.rows();
        let complete = written.and_then(|(new, rows)| match rows == expected {
            true => Ok(new),
            false => {
                new.discard();
                let text = format!(
                    "its rows were changed by an FMU or another program: {rows} of {expected} can be read"
                );
                Err(io::Error::other(text))
            }
        });
        let new = complete.map_err(|source| RecordError::NotConverted {
            path: self.path.clone(),
            rows_path: rows_path(&self.path),
            source,
        })?;
        self.warning = publish(new, &self.part)?;
        Ok(())
    }
}

/// Ends the file that a thread has written; returns the number of rows.
fn finish_thread(
    thread: GroupWriter,
    new: &PartFile,
    metadata: &BTreeMap<String, String>,
) -> io::Result<u64> {
    let written = thread.finish().map_err(io::Error::from);
    let written = written.and_then(|(writer, rows)| {
        writer.finish_with(metadata)?;
        Ok(rows)
    });
    written.inspect_err(|_| new.discard())
}

/// Writes a file of columns of the rows in a file; returns it and the number of rows.
fn write_anew(
    part: &PartFile,
    form: &ColumnarForm,
    added: &AddedColumns,
    metadata: &BTreeMap<String, String>,
) -> io::Result<(PartFile, u64)> {
    let mut file = part.file();
    file.rewind()?;
    let reader = SpoolReader::new(file)?;
    let new = part.second()?;
    // As the thread does: the bytes are the same.
    let nothing = BTreeMap::new();
    let (first, last) = match form.takes_metadata_last() {
        true => (&nothing, metadata),
        false => (metadata, &nothing),
    };
    let written = write_groups(reader, form, new.file(), added, first);
    let written = written.map_err(io::Error::from).and_then(|(writer, rows)| {
        writer.finish_with(last)?;
        Ok(rows)
    });
    match written {
        Ok(rows) => Ok((new, rows)),
        Err(error) => {
            new.discard();
            Err(error)
        }
    }
}

/// Gives the file of columns its name, and removes the file of rows; returns a warning if that stays.
fn publish(mut new: PartFile, part: &PartFile) -> Result<Option<String>, RecordError> {
    // Some file systems report only now that their space is used up.
    let synced = new.file().sync_data();
    let length = new.file().metadata().map(|file| file.len()).ok();
    synced.map_err(|source| {
        new.discard();
        new.not_converted(source)
    })?;
    let published = new.publish(length);
    let warning = match &published {
        Ok(()) | Err(RecordError::Displaced { .. }) => part.remove(),
        Err(_) => {
            // The rows are in the other file.
            new.discard();
            None
        }
    };
    published.map(|()| warning)
}

/// As [`finish_rows`](crate::finish_rows), for a result of this form.
pub(crate) fn finish(part: &PartFile, form: &ColumnarForm) -> Result<u64, RecordError> {
    if let Some(rows) = rows_of_result(part) {
        part.second().iter().for_each(PartFile::discard);
        part.remove();
        return Ok(rows);
    }
    let (added, metadata) = (AddedColumns::default(), BTreeMap::new());
    let written = write_anew(part, form, &added, &metadata);
    let (new, rows) = written.map_err(|source| part.not_converted(source))?;
    // A file of rows that stays is one that `gyrator convert` reads.
    publish(new, part)?;
    Ok(rows)
}

/// The number of rows if the result has its name already: the process that has died was about to remove the rows. A file of another
/// program has other columns or other times.
fn rows_of_result(part: &PartFile) -> Option<u64> {
    let times = |file: &ResultFile| {
        let (mut times, mut blocks) = (Vec::new(), file.blocks(&[]).ok()?);
        while let Some(block) = blocks.next_block().ok()? {
            times.extend(block.time.iter().map(|time| time.to_bits()));
        }
        Some(times)
    };
    let result = ResultFile::open(part.name()).ok()?;
    let rows = ResultFile::open(&rows_path(part.name())).ok()?;
    // Error bars are further columns of the result.
    let mut columns = rows.columns().iter();
    let is_known = columns.all(|column| result.column(&column.name).is_some());
    let times_of_rows = times(&rows)?;
    let is_made = is_known && part.is_unnamed() && times(&result)? == times_of_rows;
    is_made.then_some(times_of_rows.len() as u64)
}

impl From<SpoolError> for io::Error {
    fn from(error: SpoolError) -> Self {
        match error {
            SpoolError::Io(error) => error,
            SpoolError::Content(text) => Self::new(io::ErrorKind::InvalidData, text),
        }
    }
}

impl<W: Output> RowSink for ColumnarSink<W> {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        self.start_thread();
        self.rows.begin(columns)?;
        let thread = self.rows.output().thread.as_ref();
        thread.into_iter().for_each(GroupWriter::await_memory);
        Ok(())
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
            self.rows.keep("gyrator.parameters", values.to_string());
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
        self.check_thread()?;
        self.rows.row(time, cells)
    }

    fn real_row(&mut self, time: f64, values: &[f64]) -> Result<(), RecordError> {
        self.check_thread()?;
        self.rows.real_row(time, values)
    }

    fn mixed_row(
        &mut self,
        time: f64,
        reals: &[f64],
        others: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        self.check_thread()?;
        self.rows.mixed_row(time, reals, others)
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        self.rows.flush()
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if std::mem::replace(&mut self.is_finished, true) {
            return Ok(());
        }
        let flushed = self.rows.flush();
        if !self.rows.has_written() {
            // Not even the header.
            drop(self.rows.output().thread.take());
            self.new.iter().for_each(PartFile::discard);
            self.part.discard();
            return flushed;
        }
        // From now on they outlast a power loss, which the result does not yet. If this fails, the result may do.
        let _ = self.rows.output().sync();
        self.part.sync_name();
        // The rows that were not written are still in the memory that another process has.
        if self.rows.output().is_taken_over() {
            return flushed;
        }
        // If rows are missing, the result has the rows that are kept.
        let made = self.make();
        made.and(flushed)
    }

    fn pop_warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    fn add_columns(&mut self, columns: &[Column], values: &[&[f64]]) -> Result<bool, RecordError> {
        let rows = usize::try_from(self.rows.rows()).unwrap_or(usize::MAX);
        if let Some(values) = values.iter().find(|values| values.len() != rows) {
            return Err(RecordError::WrongRow {
                expected: rows,
                found: values.len(),
            });
        }
        self.added.columns.extend_from_slice(columns);
        let values = values.iter().map(|values| values.to_vec());
        self.added.values.extend(values);
        Ok(true)
    }

    fn rows(&self) -> u64 {
        self.rows.rows()
    }
}

impl<W: Output> Drop for ColumnarSink<W> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        if self.rows.has_begun() {
            // The caller can no longer receive an error here; `finish` reports it.
            let _ = self.finish();
        } else {
            self.new.iter().for_each(PartFile::discard);
            self.part.discard();
        }
    }
}
