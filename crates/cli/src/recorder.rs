//! Writes the results of a run, row by row, so that a readable part is always on disk.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gyrator::record::{Selection, UnknownVariable};
use gyrator::{Recorder, Run};
use gyrator_record::{Cell, Column, ColumnType, QueuedSink, RecordError, RowSink, rows_path};
use gyrator_worker::surroundings;

use crate::failure::Failure;
use crate::numbers::count;
use crate::result_output::ResultOutput;
use crate::screen;

/// How long a row may wait before other programs can read it.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);

/// The result file, as the run, the interrupt handler and the flushing thread share it.
#[derive(Clone)]
pub(crate) struct ResultFile {
    shared: Arc<Mutex<Shared>>,
    /// Empty if the rows go to no file of their own.
    path: Arc<Path>,
}

struct Shared {
    sink: Box<dyn RowSink>,
    /// An error of the flushing thread, which the next row reports.
    failure: Option<RecordError>,
    /// A row could not be written, which was reported.
    has_failed: bool,
    /// Why the file is not what it should be in the end.
    trouble: Option<String>,
    columns: usize,
    /// Columns that are not of reals, with the words for their types.
    types: BTreeMap<String, &'static str>,
    /// Units of the columns that have one.
    units: BTreeMap<String, String>,
    /// Columns or metadata follow when the run has ended: it does not end the file.
    awaits_more: bool,
}

impl ResultFile {
    /// Creates the file, in the form that its file extension selects. `is_queued`: a thread of its own writes the
    /// rows.
    pub(crate) fn create(path: &Path, is_queued: bool) -> Result<Self, RecordError> {
        let mut sink = surroundings::in_own(|| ResultOutput::sink(path))?;
        if is_queued {
            sink = Box::new(QueuedSink::new(sink));
        }
        let file = Self {
            path: Arc::from(path),
            ..Self::of(sink)
        };
        let keeps_metadata = file.lock().sink.keeps_metadata();
        file.lock().awaits_more = keeps_metadata;
        Ok(file)
    }

    /// The file of a sink.
    pub(crate) fn of(sink: Box<dyn RowSink>) -> Self {
        let shared = Shared {
            sink,
            failure: None,
            has_failed: false,
            trouble: None,
            columns: 0,
            types: BTreeMap::new(),
            units: BTreeMap::new(),
            awaits_more: false,
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
            path: Arc::from(Path::new("")),
        }
    }

    /// Keeps the end of the run from ending the file: [`conclude`](Self::conclude) does.
    pub(crate) fn await_columns(&self) {
        self.lock().awaits_more = true;
    }

    /// Whether the result has a place for the summary.
    pub(crate) fn keeps_metadata(&self) -> bool {
        self.lock().sink.keeps_metadata()
    }

    /// Adds columns of reals to the rows, one list for each. False if the file takes none.
    pub(crate) fn add_columns(
        &self,
        columns: &[Column],
        values: &[&[f64]],
    ) -> Result<bool, RecordError> {
        let mut shared = self.lock();
        let added = surroundings::in_own(|| shared.sink.add_columns(columns, values));
        if matches!(added, Ok(true)) {
            shared.columns += columns.len();
        }
        shared.has_failed |= added.is_err();
        added
    }

    /// Ends the file of a run that has ended, if the run did not. The file gets the summary of the run if it has a place
    /// for it.
    pub(crate) fn conclude(&self, summary: &str) -> Result<(), RecordError> {
        let mut shared = self.lock();
        if !std::mem::take(&mut shared.awaits_more) {
            return Ok(());
        }
        let kept = shared.sink.metadata("gyrator.summary", summary);
        shared.has_failed |= kept.is_err();
        kept.and(Self::end_of(shared))
    }

    /// Number of rows, and of columns with the time.
    pub(crate) fn size(&self) -> (u64, usize) {
        let shared = self.lock();
        (shared.sink.rows(), shared.columns)
    }

    /// Types of the columns that are not of reals.
    pub(crate) fn types(&self) -> BTreeMap<String, &'static str> {
        self.lock().types.clone()
    }

    /// Units of the columns that have one.
    pub(crate) fn units(&self) -> BTreeMap<String, String> {
        self.lock().units.clone()
    }

    /// Why the file is not what it should be, when it has ended.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    /// Ends the file of a run that is abandoned. Another thread that writes it, or makes a Parquet file of its rows,
    /// has a while to get done.
    ///
    /// # Errors
    /// One sentence with the places of the rows.
    pub(crate) fn abandon(&self) -> Result<(), String> {
        const PAUSE: Duration = Duration::from_millis(1);
        let begin = Instant::now();
        loop {
            if let Some(shared) = self.try_lock() {
                return Self::end_of(shared).map_err(|error| error.to_string());
            }
            if begin.elapsed() > gyrator_worker::GRACE {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        let (path, rows) = (self.path.display(), rows_path(&self.path));
        let rows = rows.display();
        Err(format!(
            "{path} was still being written and is not ended: its rows are in {rows} or {path}"
        ))
    }

    /// Ends the file of a run that an FMU has ended with the process, and says so.
    pub(crate) fn keep(&self) {
        let text = match self.abandon() {
            // The standard output, or no file at all.
            Ok(()) if [Path::new("-"), Path::new("")].contains(&&*self.path) => return,
            Ok(()) => format!(
                "{} kept in {}",
                count(self.size().0, "row"),
                self.path.display()
            ),
            Err(error) => format!("error: {error}"),
        };
        screen::message(&format!("{text}\n"));
    }

    /// Ends the file. A further call looks whether it still has its name.
    pub(crate) fn finish(&self) -> Result<(), RecordError> {
        Self::end_of(self.lock())
    }

    /// Ends the file at the end of a run, unless more follows.
    fn finish_run(&self) -> Result<(), RecordError> {
        let mut shared = self.lock();
        if !shared.awaits_more {
            return Self::end_of(shared);
        }
        match shared.failure.take() {
            Some(failure) => Err(failure),
            None => shared.sink.flush(),
        }
    }

    fn end_of(mut shared: MutexGuard<'_, Shared>) -> Result<(), RecordError> {
        let earlier = shared.failure.take();
        // A file gets its name only now, and a Parquet file is made.
        let finished = surroundings::in_own(|| shared.sink.finish());
        if let Some(warning) = shared.sink.pop_warning() {
            screen::message(&format!("warning: {warning}\n"));
        }
        let outcome = match earlier {
            Some(failure) => Err(failure),
            None => finished,
        };
        let again =
            |error: &&RecordError| shared.has_failed && matches!(error, RecordError::Write { .. });
        let trouble = outcome.as_ref().err().filter(|error| !again(error));
        let trouble = trouble.map(ToString::to_string);
        shared.trouble = trouble;
        outcome
    }

    /// Makes what is recorded readable for other programs. The next row reports an error of it.
    /// Waits for no thread that is writing: a pipe may take nothing any more.
    pub(crate) fn flush(&self) {
        let Some(mut shared) = self.try_lock() else {
            return;
        };
        if shared.failure.is_none() {
            shared.failure = shared.sink.flush().err();
        }
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Shared>> {
        match self.shared.try_lock() {
            Ok(shared) => Some(shared),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A recorder that hands its rows to the file, once its columns are chosen.
pub(crate) fn recorder(
    selection: Selection,
    run: &Run,
    file: ResultFile,
) -> Result<Recorder, Failure> {
    let flusher = None;
    let mut recorder = Recorder::new(FlushedFile { file, flusher }).selection(selection);
    let chosen = recorder.choose(&run.view());
    chosen.map_err(|unknown| no_variable(&unknown))?;
    Ok(recorder)
}

/// A variable to be recorded that is not there.
pub(crate) fn no_variable(unknown: &UnknownVariable) -> Failure {
    let advice = match &unknown.closest {
        Some(near) => format!("did you mean `{near}`?"),
        None => "variables of the FMUs and `bond.…` can be recorded; `gyrator inspect` lists the variables of an FMU"
            .to_owned(),
    };
    let text = format!(
        "--output-variable {}: there is no such variable",
        unknown.pattern
    );
    Failure::usage(text).help(advice)
}

/// A note on columns of variables that have a longer name than usual.
pub(crate) fn renamed(recorder: &Recorder) -> Option<String> {
    let names = recorder.renamed();
    let what = match names {
        [] => return None,
        [only] => format!("the column `{only}` is"),
        [first, second] => format!("the columns `{first}` and `{second}` are"),
        [first, rest @ ..] => format!("the columns `{first}` and {} more are", rest.len()),
    };
    let how = match names.iter().any(|name| name.starts_with("variable.")) {
        true => "`variable.` in front",
        false => "the name of the component",
    };
    Some(format!(
        "{what} recorded with {how}: the bare name is that of another column, such as `time`, an error bar or a value of a bond"
    ))
}

/// Words for the types of the columns that are not of reals.
fn types(columns: &[Column]) -> BTreeMap<String, &'static str> {
    let word = |kind| match kind {
        ColumnType::Real => None,
        ColumnType::Integer => Some("integer"),
        ColumnType::Boolean => Some("boolean"),
        ColumnType::String => Some("string"),
        ColumnType::Enumeration => Some("enumeration"),
    };
    let typed = |column: &Column| Some((column.name.clone(), word(column.kind)?));
    columns.iter().filter_map(typed).collect()
}

/// The file as the sink of a run, flushed while the run goes on.
struct FlushedFile {
    file: ResultFile,
    flusher: Option<Flusher>,
}

impl FlushedFile {
    fn write(
        &self,
        write: impl FnOnce(&mut dyn RowSink) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let mut shared = self.file.lock();
        let written = match shared.failure.take() {
            Some(failure) => Err(failure),
            None => write(&mut *shared.sink),
        };
        shared.has_failed |= written.is_err();
        written
    }
}

impl RowSink for FlushedFile {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        self.write(|sink| sink.begin(columns))?;
        let mut shared = self.file.lock();
        shared.columns = columns.len() + 1;
        shared.types = types(columns);
        let unit = |column: &Column| Some((column.name.clone(), column.unit.clone()?));
        shared.units = columns.iter().filter_map(unit).collect();
        if !shared.sink.flushes_itself() {
            self.flusher = Some(Flusher::start(self.file.clone()));
        }
        Ok(())
    }

    fn parameters(&mut self, parameters: &[(&str, Cell<'_>)]) {
        self.file.lock().sink.parameters(parameters);
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        self.write(|sink| sink.row(time, cells))
    }

    fn real_row(&mut self, time: f64, values: &[f64]) -> Result<(), RecordError> {
        self.write(|sink| sink.real_row(time, values))
    }

    fn mixed_row(
        &mut self,
        time: f64,
        reals: &[f64],
        others: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        self.write(|sink| sink.mixed_row(time, reals, others))
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        self.write(|sink| sink.flush())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        drop(self.flusher.take());
        self.file.finish_run()
    }

    fn rows(&self) -> u64 {
        self.file.lock().sink.rows()
    }
}

/// A thread that flushes the result while the run goes on, also while an FMU does not return.
struct Flusher {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    fn start(file: ResultFile) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        let work = move || {
            while stopped.recv_timeout(FLUSH_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                file.flush();
            }
        };
        let thread = std::thread::Builder::new().spawn(work);
        let thread = thread.inspect_err(|error| {
            screen::message(&format!(
                "warning: rows can be read by other programs only when the run has ended: {error}\n"
            ));
        });
        Self {
            stop: Some(stop),
            thread: thread.ok(),
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
