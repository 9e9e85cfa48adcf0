//! Writes the results of a run, row by row, so that a readable part is always on disk.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use gyrator::{Observer, ObserverError, Report, Run, StopRequest, Value, VariableType, View};
use gyrator_record::{Cell, Column, RecordError, RowSink};
use gyrator_worker::surroundings;
use wildmatch::WildMatch;

use crate::failure::Failure;
use crate::result_output::ResultOutput;

/// How long a row may wait before other programs can read it.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);

/// Columns of each bond, after `bond.<name>.`, with its unit.
const BOND_COLUMNS: [(&str, &str); 7] = [
    ("residual_power", "W"),
    ("residual_energy", "J"),
    ("transferred_energy", "J"),
    ("correction_power", "W"),
    ("stale_energy", "J"),
    ("net_energy_error", "J"),
    ("alarm", "1"),
];

/// Selection of the recorded columns and rows.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    /// Simulated time between rows, s; every communication point where `None`.
    pub(crate) interval: Option<f64>,
    /// Patterns of columns to record; all where empty.
    pub(crate) variables: Vec<String>,
    /// The only component, whose name is left out of the columns.
    pub(crate) single: Option<String>,
}

/// The result file, as the run, the interrupt handler and the flushing thread share it.
#[derive(Clone)]
pub(crate) struct ResultFile(Arc<Mutex<Shared>>);

struct Shared {
    sink: Box<dyn RowSink>,
    /// An error of the flushing thread, which the next row reports.
    failure: Option<RecordError>,
    /// A row could not be written, which was reported.
    has_failed: bool,
    /// Why the file is not what it should be in the end.
    trouble: Option<String>,
    columns: usize,
}

impl ResultFile {
    /// Creates the file, in the form that the ending of its name asks for.
    pub(crate) fn create(path: &Path) -> Result<Self, RecordError> {
        let sink = surroundings::in_own(|| ResultOutput::sink(path))?;
        Ok(Self(Arc::new(Mutex::new(Shared {
            sink,
            failure: None,
            has_failed: false,
            trouble: None,
            columns: 0,
        }))))
    }

    /// Number of rows, and of columns with the time.
    pub(crate) fn size(&self) -> (u64, usize) {
        let shared = self.lock();
        (shared.sink.rows(), shared.columns)
    }

    /// Why the file is not what it should be, when it has ended.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    /// Ends the file of a run that is abandoned, unless another thread is writing it.
    pub(crate) fn abandon(&self) -> Result<(), RecordError> {
        self.try_lock().map_or(Ok(()), Self::end_of)
    }

    /// Ends the file. A further call looks whether it still has its name.
    pub(crate) fn finish(&self) -> Result<(), RecordError> {
        Self::end_of(self.lock())
    }

    fn end_of(mut shared: MutexGuard<'_, Shared>) -> Result<(), RecordError> {
        let earlier = shared.failure.take();
        // A file gets its name only now, and a Parquet file is made.
        let finished = surroundings::in_own(|| shared.sink.finish());
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
        match self.0.try_lock() {
            Ok(shared) => Some(shared),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records a run as its observer.
pub(crate) struct Recorder {
    file: ResultFile,
    columns: Vec<Column>,
    selected: Selected,
    /// Communication points from one row to the next.
    every: u64,
    /// The last point, if it has no row yet.
    pending: Option<RecordedRow>,
    flusher: Option<Flusher>,
}

/// The columns of a row, as places in a view.
#[derive(Default)]
struct Selected {
    reals: Vec<usize>,
    signals: Vec<usize>,
    /// Bond, and place in [`BOND_COLUMNS`].
    bonds: Vec<(usize, usize)>,
    /// Places among the values of the step control.
    control: Vec<usize>,
}

#[derive(Default)]
struct RecordedRow {
    time: f64,
    reals: Vec<f64>,
    signals: Vec<Value>,
}

impl Recorder {
    /// Chooses the columns of a run.
    pub(crate) fn new(recording: &Recording, run: &Run, file: ResultFile) -> Result<Self, Failure> {
        let graph = run.graph();
        let mut selected = Selected::default();
        let columns = selected.choose(run, recording)?;
        let every = recording.interval.map_or(1, |interval| {
            ((interval / graph.macro_step()).round() as u64).max(1)
        });
        Ok(Self {
            file,
            columns,
            selected,
            every,
            pending: None,
            flusher: None,
        })
    }

    /// Writes a row, or keeps it in case that it is the last one.
    fn record(&mut self, view: &View<'_>) -> Result<(), RecordError> {
        let mut row = self.pending.take().unwrap_or_default();
        self.selected.fill(&mut row, view);
        if view.steps.is_multiple_of(self.every) {
            write_row(&self.file, &row)?;
            row.time = f64::NAN;
        }
        self.pending = Some(row);
        Ok(())
    }
}

impl Selected {
    fn fill(&self, row: &mut RecordedRow, view: &View<'_>) {
        row.time = view.time;
        row.reals.clear();
        row.reals
            .extend(self.reals.iter().map(|place| view.reals[*place]));
        for (bond, column) in &self.bonds {
            let energy = view.ledger.bond(*bond).copied().unwrap_or_default();
            let audit = view.audit.bond(*bond).copied().unwrap_or_default();
            row.reals.push(match column {
                0 => energy.residual_power,
                1 => energy.residual_energy,
                2 => energy.transferred_energy,
                3 => energy.correction_power,
                4 => audit.stale_energy,
                5 => audit.stale_energy + energy.correction_energy,
                _ => f64::from(u8::from(view.alarms.is_raised(*bond))),
            });
        }
        let control = self.control.iter().map(|place| view.control[*place].1);
        row.reals.extend(control);
        row.signals
            .resize(self.signals.len(), Value::Boolean(false));
        for (kept, place) in row.signals.iter_mut().zip(&self.signals) {
            kept.clone_from(&view.signals[*place]);
        }
    }

    /// Chooses what the patterns of `recording` name; the columns in the order of the rows' cells.
    fn choose(&mut self, run: &Run, recording: &Recording) -> Result<Vec<Column>, Failure> {
        let graph = run.graph();
        let mut choice = Choice::new(recording);
        for (place, variable) in graph.real_outputs().into_iter().enumerate() {
            if choice.selects(&variable.name, VariableType::Real, variable.unit) {
                self.reals.push(place);
            }
        }
        for (bond, name) in graph.bond_names().enumerate() {
            for (column, (suffix, unit)) in BOND_COLUMNS.iter().enumerate() {
                let name = format!("bond.{name}.{suffix}");
                if choice.selects(&name, VariableType::Real, Some((*unit).to_owned())) {
                    self.bonds.push((bond, column));
                }
            }
        }
        for (place, (name, _)) in run.control_signals().iter().enumerate() {
            let unit = (*name == "step_size").then(|| "s".to_owned());
            if choice.selects(name, VariableType::Real, unit) {
                self.control.push(place);
            }
        }
        for (place, variable) in graph.signals().into_iter().enumerate() {
            if choice.selects(&variable.name, variable.kind, variable.unit) {
                self.signals.push(place);
            }
        }
        choice.columns()
    }
}

/// The columns chosen so far, and which patterns have not met any.
struct Choice {
    patterns: Vec<(WildMatch, bool)>,
    prefix: Option<String>,
    columns: Vec<Column>,
    names: Vec<String>,
}

impl Choice {
    fn new(recording: &Recording) -> Self {
        let patterns = recording.variables.iter();
        Self {
            patterns: patterns
                .map(|pattern| (WildMatch::new(pattern), false))
                .collect(),
            prefix: recording.single.as_ref().map(|single| format!("{single}.")),
            columns: Vec::new(),
            names: Vec::new(),
        }
    }

    fn selects(&mut self, name: &str, kind: VariableType, unit: Option<String>) -> bool {
        let name = match &self.prefix {
            Some(prefix) => name.strip_prefix(prefix).unwrap_or(name),
            None => name,
        };
        let mut taken = self.patterns.is_empty();
        for (pattern, met) in &mut self.patterns {
            if pattern.matches(name) {
                (taken, *met) = (true, true);
            }
        }
        self.names.push(name.to_owned());
        if taken {
            let mut column = Column::new(name, recorded_kind(kind));
            column.unit = unit;
            self.columns.push(column);
        }
        taken
    }

    /// The columns, or what the first pattern that met none should be.
    fn columns(self) -> Result<Vec<Column>, Failure> {
        let Some((pattern, _)) = self.patterns.iter().find(|(_, met)| !met) else {
            return Ok(self.columns);
        };
        let pattern = pattern.to_string();
        let names = self.names.iter().map(String::as_str);
        let advice = match gyrator_system::closest(&pattern, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "outputs and `bond.…` can be recorded; `gyrator inspect` lists the outputs of an FMU".to_owned(),
        };
        Err(Failure::usage(format!(
            "--output-variable {pattern}: there is no such output"
        ))
        .help(advice))
    }
}

fn recorded_kind(kind: VariableType) -> gyrator_record::ColumnType {
    match kind {
        VariableType::Real => gyrator_record::ColumnType::Real,
        VariableType::Integer => gyrator_record::ColumnType::Integer,
        VariableType::Enumeration => gyrator_record::ColumnType::Enumeration,
        VariableType::Boolean => gyrator_record::ColumnType::Boolean,
        VariableType::String => gyrator_record::ColumnType::String,
    }
}

fn write_row(file: &ResultFile, row: &RecordedRow) -> Result<(), RecordError> {
    let mut shared = file.lock();
    let written = shared.write_row(row);
    shared.has_failed |= written.is_err();
    written
}

impl Shared {
    fn write_row(&mut self, row: &RecordedRow) -> Result<(), RecordError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if row.signals.is_empty() {
            return self.sink.real_row(row.time, &row.reals);
        }
        let reals = row.reals.iter().map(|value| Cell::Real(*value));
        let signals = row.signals.iter().map(|value| match value {
            Value::Real(value) => Cell::Real(*value),
            Value::Integer(value) => Cell::Integer(i64::from(*value)),
            Value::Boolean(value) => Cell::Boolean(*value),
            Value::String(value) => Cell::String(value),
        });
        self.sink.row(row.time, &mut reals.chain(signals))
    }
}

impl Observer for Recorder {
    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        {
            let mut shared = self.file.lock();
            let begun = shared.sink.begin(&self.columns);
            shared.has_failed |= begun.is_err();
            begun?;
            shared.columns = self.columns.len() + 1;
        }
        self.record(view)?;
        self.flusher = Some(Flusher::start(self.file.clone()));
        Ok(ControlFlow::Continue(()))
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        self.record(view)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &Report) -> Result<(), ObserverError> {
        drop(self.flusher.take());
        let last = self.pending.take().filter(|row| !row.time.is_nan());
        let written = last.map_or(Ok(()), |row| write_row(&self.file, &row));
        let finished = self.file.finish();
        written?;
        Ok(finished?)
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
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(FLUSH_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                file.flush();
            }
        });
        Self {
            stop: Some(stop),
            thread: Some(thread),
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
