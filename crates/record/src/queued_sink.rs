//! Rows written by a thread of their own, so that the thread of a run never waits for a file.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rtrb::{Consumer, Producer, RingBuffer};

use crate::sink::{Cell, Column, RecordError, RowSink};

/// Longest time that a row waits for the writing thread, which looks for rows by itself: to wake it would be a call of
/// the operating system.
const PAUSE: Duration = Duration::from_millis(1);

/// How long a row may wait before other programs can read it.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);

/// Bytes of the queue: one second of rows of 1000 reals every 0.5 ms.
const BYTES: usize = 1 << 24;

/// Rows that the queue holds at least, if rows are long.
const ROWS: usize = 256;

/// Bytes of a row before its cells: its length, its form and the time.
const HEAD: usize = size_of::<u32>() + 1 + size_of::<f64>();

/// The form of a row with reals only: nothing but their bits.
const REALS: u8 = b'r';

/// The form of a row of any cells: each after the byte of its type.
const CELLS: u8 = b'c';

/// Hands rows to a thread that writes them into another sink.
///
/// A row neither waits nor locks, and allocates nothing after warm-up. If the thread is so slow that the queue is
/// full, rows are left out; [`pop_warning`](RowSink::pop_warning) says how many. An error of the sink
/// comes with one of the next rows, or at the end.
pub struct QueuedSink {
    /// `None` while the thread has it.
    sink: Option<Box<dyn RowSink>>,
    writer: Option<Writer>,
    columns: usize,
    rows: u64,
    lost: u64,
    keeps_metadata: bool,
    /// A row in its form in the queue.
    row: Vec<u8>,
}

struct Writer {
    queue: Producer<u8>,
    signs: Arc<Signs>,
    thread: JoinHandle<Written>,
}

/// The sink, and its first error.
type Written = (Box<dyn RowSink>, Result<(), RecordError>);

#[derive(Default)]
struct Signs {
    /// No more rows come.
    is_ended: AtomicBool,
    /// Rows are to be readable for other programs.
    wants_flush: AtomicBool,
    has_failed: AtomicBool,
}

impl QueuedSink {
    /// A queue before `sink`.
    pub fn new(sink: Box<dyn RowSink>) -> Self {
        Self {
            keeps_metadata: sink.keeps_metadata(),
            sink: Some(sink),
            writer: None,
            columns: 0,
            rows: 0,
            lost: 0,
            row: Vec::new(),
        }
    }

    fn expect(&self, found: usize) -> Result<(), RecordError> {
        let expected = self.columns;
        if found == expected {
            return Ok(());
        }
        Err(RecordError::WrongRow {
            expected,
            found: found.min(expected + 1),
        })
    }

    /// Begins a row.
    fn row_of(&mut self, form: u8, time: f64) {
        self.row.clear();
        self.row.extend([0; size_of::<u32>()]);
        self.row.push(form);
        self.row.extend(time.to_le_bytes());
    }

    /// Puts the row into the queue.
    fn push(&mut self) -> Result<(), RecordError> {
        let length = self.row.len() - size_of::<u32>();
        // A row of 4 GiB finds no room either.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.row[..size_of::<u32>()].copy_from_slice(&length.to_le_bytes());
        let Some(writer) = &mut self.writer else {
            return Err(gone());
        };
        if writer.signs.has_failed.load(Ordering::Relaxed) {
            return self.end().map(|_| ());
        }
        match writer.queue.push_entire_slice(&self.row) {
            Ok(()) => self.rows += 1,
            Err(_) => self.lost += 1,
        }
        Ok(())
    }

    /// Waits until all rows are written, and takes the sink back.
    fn end(&mut self) -> Result<&mut dyn RowSink, RecordError> {
        let mut outcome = Ok(());
        if let Some(Writer { signs, thread, .. }) = self.writer.take() {
            signs.is_ended.store(true, Ordering::Release);
            thread.thread().unpark();
            let (sink, written) = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            self.sink = Some(sink);
            outcome = written;
        }
        outcome?;
        self.sink
            .as_deref_mut()
            .map_or_else(|| Err(gone()), |sink| Ok(sink as _))
    }
}

impl RowSink for QueuedSink {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        let mut sink = self.sink.take().ok_or_else(gone)?;
        self.columns = columns.len();
        let length = HEAD + columns.len() * (1 + size_of::<f64>());
        self.row = Vec::with_capacity(length);
        if let Err(error) = sink.begin(columns) {
            self.sink = Some(sink);
            return Err(error);
        }
        let (queue, rows) = RingBuffer::new(BYTES.max(ROWS * length));
        let signs = Arc::new(Signs::default());
        let shared = signs.clone();
        let thread = thread::Builder::new().name("results".to_owned());
        let thread = thread.spawn(move || write_all(sink, rows, &shared));
        let thread = thread.map_err(without_thread)?;
        self.writer = Some(Writer {
            queue,
            signs,
            thread,
        });
        Ok(())
    }

    fn parameters(&mut self, parameters: &[(&str, Cell<'_>)]) {
        if let Some(sink) = &mut self.sink {
            sink.parameters(parameters);
        }
    }

    fn metadata(&mut self, key: &str, text: &str) -> Result<(), RecordError> {
        self.end()?.metadata(key, text)
    }

    fn keeps_metadata(&self) -> bool {
        self.keeps_metadata
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        self.row_of(CELLS, time);
        let mut found = 0;
        for cell in cells.take(self.columns + 1) {
            encode(cell, &mut self.row);
            found += 1;
        }
        self.expect(found)?;
        self.push()
    }

    fn real_row(&mut self, time: f64, values: &[f64]) -> Result<(), RecordError> {
        self.expect(values.len())?;
        self.row_of(REALS, time);
        for value in values {
            self.row.extend(value.to_le_bytes());
        }
        self.push()
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        match (&self.writer, &mut self.sink) {
            (Some(writer), _) => {
                writer.signs.wants_flush.store(true, Ordering::Relaxed);
                Ok(())
            }
            (None, Some(sink)) => sink.flush(),
            (None, None) => Err(gone()),
        }
    }

    fn flushes_itself(&self) -> bool {
        true
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        let written = self.end().map(|_| ());
        let finished = self.sink.as_mut().map_or(Ok(()), |sink| sink.finish());
        written.and(finished)
    }

    fn pop_warning(&mut self) -> Option<String> {
        let warning = self.sink.as_mut().and_then(|sink| sink.pop_warning());
        let lost = std::mem::take(&mut self.lost);
        let lost = (lost > 0).then(|| {
            format!(
                "{lost} rows are missing in the result: they came faster than they could be written; record fewer \
                 variables, or at a longer interval"
            )
        });
        match (warning, lost) {
            (Some(warning), Some(lost)) => Some(format!("{warning}; {lost}")),
            (warning, lost) => warning.or(lost),
        }
    }

    fn add_columns(&mut self, columns: &[Column], values: &[&[f64]]) -> Result<bool, RecordError> {
        self.end()?.add_columns(columns, values)
    }

    fn rows(&self) -> u64 {
        self.sink.as_ref().map_or(self.rows, |sink| sink.rows())
    }
}

impl Drop for QueuedSink {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The thread could not be started; the sink went with it.
fn without_thread(source: io::Error) -> RecordError {
    RecordError::Write {
        path: "of this run".into(),
        rows: 0,
        source,
    }
}

fn gone() -> RecordError {
    without_thread(io::Error::other("there is no thread that writes it"))
}

/// The work of the thread.
fn write_all(mut sink: Box<dyn RowSink>, mut queue: Consumer<u8>, signs: &Signs) -> Written {
    let (mut row, mut reals) = (Vec::new(), Vec::new());
    let mut flushed = Instant::now();
    loop {
        // Before the last look at the queue.
        let is_ended = signs.is_ended.load(Ordering::Acquire);
        let mut outcome = Ok(());
        while outcome.is_ok() && next_row(&mut queue, &mut row) {
            outcome = write(&mut *sink, &row, &mut reals);
        }
        let is_wanted = signs.wants_flush.swap(false, Ordering::Relaxed);
        if outcome.is_ok() && (is_wanted || flushed.elapsed() > FLUSH_INTERVAL) {
            outcome = sink.flush();
            flushed = Instant::now();
        }
        if outcome.is_err() || is_ended {
            signs.has_failed.store(outcome.is_err(), Ordering::Relaxed);
            return (sink, outcome);
        }
        thread::park_timeout(PAUSE);
    }
}

/// Moves a row out of the queue, if it has one.
fn next_row(queue: &mut Consumer<u8>, row: &mut Vec<u8>) -> bool {
    let mut length = [0; size_of::<u32>()];
    if queue.pop_entire_slice(&mut length).is_err() {
        return false;
    }
    // The rest of a row comes with its length.
    row.resize(u32::from_le_bytes(length) as usize, 0);
    queue.pop_entire_slice(row).is_ok()
}

/// Writes a row of the queue. `reals` is memory for its cells.
fn write(sink: &mut dyn RowSink, row: &[u8], reals: &mut Vec<f64>) -> Result<(), RecordError> {
    let Some((&form, rest)) = row.split_first() else {
        return Ok(());
    };
    let Some((time, cells)) = rest.split_first_chunk() else {
        return Ok(());
    };
    let time = f64::from_le_bytes(*time);
    if form == CELLS {
        return sink.row(time, &mut Cells(cells));
    }
    let (cells, _) = cells.as_chunks();
    reals.clear();
    reals.extend(cells.iter().map(|bytes| f64::from_le_bytes(*bytes)));
    sink.real_row(time, reals)
}

fn encode(cell: Cell<'_>, row: &mut Vec<u8>) {
    match cell {
        Cell::Real(value) => {
            row.push(b'r');
            row.extend(value.to_le_bytes());
        }
        Cell::Integer(value) => {
            row.push(b'i');
            row.extend(value.to_le_bytes());
        }
        Cell::Boolean(value) => row.extend([b'b', u8::from(value)]),
        Cell::String(text) => {
            row.push(b's');
            row.extend((text.len() as u64).to_le_bytes());
            row.extend(text.as_bytes());
        }
    }
}

/// The cells of a row in the queue.
struct Cells<'a>(&'a [u8]);

impl<'a> Cells<'a> {
    fn number(&mut self) -> Option<[u8; 8]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    fn next(&mut self) -> Option<Cell<'a>> {
        let (&kind, rest) = self.0.split_first()?;
        self.0 = rest;
        match kind {
            b'r' => Some(Cell::Real(f64::from_le_bytes(self.number()?))),
            b'i' => Some(Cell::Integer(i64::from_le_bytes(self.number()?))),
            b'b' => {
                let (&value, rest) = self.0.split_first()?;
                self.0 = rest;
                Some(Cell::Boolean(value != 0))
            }
            _ => {
                let length = u64::from_le_bytes(self.number()?) as usize;
                let (text, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                std::str::from_utf8(text).ok().map(Cell::String)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::csv_sink::CsvSink;
    use crate::memory_sink::{MemoryRows, MemorySink};
    use crate::sink::ColumnType;

    const COLUMNS: [(&str, ColumnType); 4] = [
        ("r", ColumnType::Real),
        ("i", ColumnType::Integer),
        ("b", ColumnType::Boolean),
        ("s", ColumnType::String),
    ];

    fn columns() -> Vec<Column> {
        let columns = COLUMNS.iter();
        columns
            .map(|(name, kind)| Column::new(*name, *kind))
            .collect()
    }

    fn write_rows(sink: &mut dyn RowSink) {
        sink.begin(&columns()).unwrap();
        for row in 0..1000_i32 {
            let text = "ä".repeat(row as usize % 7);
            let cells = [
                Cell::Real(1.0 / f64::from(row)),
                Cell::Integer(i64::from(-row)),
                Cell::Boolean(row % 3 == 0),
                Cell::String(&text),
            ];
            sink.row(f64::from(row), &mut cells.into_iter()).unwrap();
        }
        sink.finish().unwrap();
    }

    #[test]
    fn rows_of_all_types_come_through_in_order() {
        let mut expected = MemorySink::new();
        write_rows(&mut expected);
        let rows = MemoryRows::default();
        let mut queued = QueuedSink::new(Box::new(rows.clone()));
        write_rows(&mut queued);
        assert_eq!(
            format!("{:?}", rows.take()),
            format!("{:?}", expected.recorded())
        );
        assert_eq!(queued.pop_warning(), None);
    }

    #[test]
    fn a_file_is_the_same_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let [direct, queued] = ["direct.csv", "queued.csv"].map(|name| folder.path().join(name));
        write_rows(&mut CsvSink::create(&direct).unwrap());
        let mut sink = QueuedSink::new(Box::new(CsvSink::create(&queued).unwrap()));
        write_rows(&mut sink);
        assert_eq!(sink.rows(), 1000);
        assert_eq!(
            std::fs::read(direct).unwrap(),
            std::fs::read(queued).unwrap()
        );
    }

    #[test]
    fn a_row_of_another_length_is_refused_at_once() {
        let mut sink = QueuedSink::new(Box::new(MemorySink::new()));
        sink.begin(&columns()).unwrap();
        let error = sink.real_row(0.0, &[1.0]).unwrap_err();
        assert_eq!(error.to_string(), "a row has 1 cells for 4 columns");
        assert_eq!(sink.rows(), 0);
    }

    /// A sink whose rows wait until the test lets them pass, and that fails then, if asked.
    struct Held(mpsc::Receiver<bool>, u64);

    impl RowSink for Held {
        fn begin(&mut self, _: &[Column]) -> Result<(), RecordError> {
            Ok(())
        }
        fn row(
            &mut self,
            _: f64,
            _: &mut dyn Iterator<Item = Cell<'_>>,
        ) -> Result<(), RecordError> {
            // The sender is gone when all may pass.
            if self.0.recv().unwrap_or(true) {
                self.1 += 1;
                return Ok(());
            }
            Err(RecordError::Write {
                path: "held".into(),
                rows: self.1,
                source: io::Error::other("full"),
            })
        }
        fn flush(&mut self) -> Result<(), RecordError> {
            Ok(())
        }
        fn finish(&mut self) -> Result<(), RecordError> {
            Ok(())
        }
        fn rows(&self) -> u64 {
            self.1
        }
    }

    #[test]
    fn rows_without_room_are_counted() {
        let (let_pass, held) = mpsc::channel();
        let mut sink = QueuedSink::new(Box::new(Held(held, 0)));
        let wide: Vec<Column> = (0..10_000)
            .map(|column| Column::new(format!("c{column}"), ColumnType::Real))
            .collect();
        sink.begin(&wide).unwrap();
        let row = vec![0.0; wide.len()];
        // 256 rows with their types have room; rows of reals are shorter by a ninth.
        for step in 0..300 {
            sink.real_row(f64::from(step), &row).unwrap();
        }
        drop(let_pass);
        sink.finish().unwrap();
        let lost = 300 - sink.rows();
        assert!((10..=12).contains(&lost), "{lost}");
        let warning = sink.pop_warning().unwrap();
        assert!(
            warning.starts_with(&format!("{lost} rows are missing")),
            "{warning}"
        );
    }

    #[test]
    fn an_error_comes_with_a_later_row() {
        let (let_pass, held) = mpsc::channel();
        let mut sink = QueuedSink::new(Box::new(Held(held, 0)));
        sink.begin(&[]).unwrap();
        let_pass.send(true).unwrap();
        let_pass.send(false).unwrap();
        let error = loop {
            if let Err(error) = sink.real_row(0.0, &[]) {
                break error;
            }
            std::thread::yield_now();
        };
        let text = "cannot write the result file held: full; 1 rows are kept";
        assert_eq!(error.to_string(), text);
        assert_eq!(sink.rows(), 1);
        sink.finish().unwrap();
    }
}
