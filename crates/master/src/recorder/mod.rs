//! A recorder: an observer that hands the rows of a run to a sink. The run shows it each communication point; it changes nothing of the run.

mod columns;
mod names;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::path::Path;

use gyrator_record::{Column, CsvSink, MemoryRows, QueuedSink, RecordError, RowSink, create_sink};

use crate::graph::Graph;
use crate::observer::{Observer, ObserverError, StopRequest, View, Watch};
use crate::report::Report;
use crate::unit::Value;
use columns::{Columns, RecordedRow, cell};

/// The columns and rows that a [`Recorder`] records. The default is every output, every value of the power bonds and
/// every signal of the step control, at every communication point.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Selection {
    /// Simulated time between rows, s, as a whole number of macro-steps; every communication point if `None`. The
    /// last point has a row in any case.
    pub interval: Option<f64>,
    /// Patterns of `component.variable` and `bond.NAME.VALUE`; `*` stands for any letters and `?` for one: outputs,
    /// inputs, local variables, parameters. Every output if empty.
    pub variables: Vec<String>,
    /// The only component, whose name is left out of the columns, unless another column has the name that is left.
    pub single: Option<String>,
    /// Real variables of components only: nothing of bonds, of the step control or of other types.
    pub reals_only: bool,
}

impl Selection {
    /// Whether each pattern fits something that a run of this system with fixed macro-steps offers.
    ///
    /// # Errors
    /// The first pattern that fits nothing.
    pub fn check(&self, graph: &Graph) -> Result<(), UnknownVariable> {
        Columns::of(self, graph, &[]).map(|_| ())
    }
}

/// A pattern of a [`Selection`] that fits nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no variable {pattern} to record; {}", advice(.closest.as_deref()))]
#[non_exhaustive]
pub struct UnknownVariable {
    /// The pattern.
    pub pattern: String,
    /// The name that is nearest to it.
    pub closest: Option<String>,
}

fn advice(closest: Option<&str>) -> String {
    match closest {
        Some(near) => format!("did you mean `{near}`?"),
        None => "names are `component.variable` and `bond.NAME.VALUE`".to_owned(),
    }
}

/// Records a run, as its observer:
///
/// ```
/// # use gyrator::{ClosureUnit, Recorder, RunOptions, System};
/// # let folder = std::env::temp_dir().join("gyrator-recorder-example");
/// # std::fs::create_dir_all(&folder)?;
/// # let file = folder.join("out.csv");
/// # let mut system = System::new(0.1);
/// # system.add("ramp", ClosureUnit::new(&[], &[("y", 0.0)], |call| {
/// #     call.outputs[0] = call.time + call.step;
/// # }));
/// # system.stop_time(1.0);
/// let mut run = system.start(&RunOptions::default())?;
/// let (recorder, rows) = Recorder::memory();
/// run.observe(recorder.variables(["ramp.*"]))?;
/// run.observe(Recorder::csv(&file)?.interval(0.5))?;
/// run.run()?;
/// let recorded = rows.take();
/// assert_eq!(recorded.time.len(), 11);
/// assert_eq!(recorded.reals("ramp.y").and_then(<[f64]>::last), Some(&1.0));
/// assert_eq!(std::fs::read_to_string(&file)?, "time,ramp.y\n0.0,0.0\n0.5,0.5\n1.0,1.0\n");
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recorder {
    sink: Box<dyn RowSink>,
    selection: Selection,
    columns: Option<Columns>,
    /// Communication points from one row to the next.
    every: u64,
    /// The last point, if it has no row yet.
    pending: Option<RecordedRow>,
    inputs: Option<InputValues>,
}

/// The value that an input, `component.variable`, gets from a time on.
type InputValues = Box<dyn Fn(&str, f64) -> Option<Value> + Send>;

impl Recorder {
    /// Hands the rows to a sink.
    pub fn new(sink: impl RowSink + 'static) -> Self {
        Self::of(Box::new(sink))
    }

    fn of(sink: Box<dyn RowSink>) -> Self {
        Self {
            sink,
            selection: Selection::default(),
            columns: None,
            every: 1,
            pending: None,
            inputs: None,
        }
    }

    /// Keeps the rows in memory; the second value has them.
    pub fn memory() -> (Self, MemoryRows) {
        let rows = MemoryRows::default();
        (Self::new(rows.clone()), rows)
    }

    /// Lets a thread of its own write the rows, so that no step waits for a file: for runs in
    /// [real time](crate::real_time::RealTime). Rows that come faster than they can be written are left out; a warning of
    /// `tracing` says at the end how many.
    #[must_use]
    pub fn queued(mut self) -> Self {
        self.sink = Box::new(QueuedSink::new(self.sink));
        self
    }

    /// Writes a CSV file. Rows reach it in blocks; the file gets its name when the run ends.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn csv(path: impl AsRef<Path>) -> Result<Self, RecordError> {
        CsvSink::create(path.as_ref()).map(Self::new)
    }

    /// Writes a Parquet file; until the run ends, its rows are also in a file beside it with `.part` after the name.
    ///
    /// # Errors
    /// A file that cannot be made.
    #[cfg(feature = "parquet")]
    pub fn parquet(path: impl AsRef<Path>) -> Result<Self, RecordError> {
        gyrator_record::ColumnarSink::create(path.as_ref(), &gyrator_record::PARQUET).map(Self::new)
    }

    /// Writes a file in the form that its file extension selects: `.csv`, and `.parquet` with the feature `parquet`.
    ///
    /// # Errors
    /// An ending without a form; a file that cannot be made.
    pub fn file(path: impl AsRef<Path>) -> Result<Self, RecordError> {
        create_sink(path.as_ref()).map(Self::of)
    }

    /// Records what these patterns fit; see [`Selection::variables`].
    #[must_use]
    pub fn variables<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.selection.variables = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Records a row every `seconds` of simulated time; see [`Selection::interval`].
    #[must_use]
    pub fn interval(mut self, seconds: f64) -> Self {
        self.selection.interval = Some(seconds);
        self
    }

    /// Says which values the program would set inputs to from a time in s on: the last row has them for the time of the
    /// end, after which nothing sets them. `None` for all other inputs, which keep the value of the last step there.
    #[must_use]
    pub fn inputs(mut self, values: impl Fn(&str, f64) -> Option<Value> + Send + 'static) -> Self {
        self.inputs = Some(Box::new(values));
        self
    }

    /// Records these columns and rows.
    #[must_use]
    pub fn selection(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// Chooses the columns for the run that has this view. [`Run::observe`](crate::Run::observe) does it if it was not
    /// done before.
    ///
    /// # Errors
    /// The first pattern that fits nothing.
    pub fn choose(&mut self, view: &View<'_>) -> Result<(), UnknownVariable> {
        let control: Vec<&str> = view.control.iter().map(|(name, _)| *name).collect();
        self.columns = Some(Columns::of(&self.selection, view.graph, &control)?);
        self.every = self.selection.interval.map_or(1, |interval| {
            ((interval / view.graph.macro_step()).round() as u64).max(1)
        });
        Ok(())
    }

    /// The columns in the order of the cells, once they are chosen.
    pub fn columns(&self) -> &[Column] {
        self.columns.as_ref().map_or(&[], |columns| &columns.list)
    }

    /// The columns of variables that have a longer name than usual, once they are chosen. The usual name then belongs
    /// to another variable, or to a column such as the time, an error bar, a value of a bond or a signal of the step
    /// control.
    pub fn renamed(&self) -> &[String] {
        self.columns
            .as_ref()
            .map_or(&[], |columns| &columns.renamed)
    }

    /// Parameters that are recorded once, as they are shown and by their own name, once they are chosen.
    pub fn parameters(&self) -> &[(String, String)] {
        self.columns
            .as_ref()
            .map_or(&[], |columns| &columns.parameters)
    }

    /// Writes a row, or keeps it: in case that it is the last one, or until the values of its inputs are
    /// known.
    fn record(&mut self, view: &View<'_>) -> Result<(), RecordError> {
        let Some(columns) = &self.columns else {
            return Ok(());
        };
        let selected = &columns.selected;
        let mut row = self.pending.take().unwrap_or_default();
        if selected.has_inputs && row.is_filled {
            selected.complete(&mut row, view);
            if row.is_due {
                write(&mut *self.sink, &row)?;
            }
        }
        selected.fill(&mut row, view);
        row.is_due = view.steps.is_multiple_of(self.every);
        row.is_written = row.is_due && !selected.has_inputs;
        if row.is_written {
            write(&mut *self.sink, &row)?;
        }
        self.pending = Some(row);
        Ok(())
    }
}

fn write(sink: &mut dyn RowSink, row: &RecordedRow) -> Result<(), RecordError> {
    if row.others.is_empty() {
        return sink.real_row(row.time, &row.reals);
    }
    sink.mixed_row(row.time, &row.reals, &mut row.others.iter().map(cell))
}

impl Observer for Recorder {
    fn activity(&self) -> &'static str {
        "record"
    }

    fn watches(&mut self, view: &View<'_>) -> Result<Vec<Watch>, ObserverError> {
        if self.columns.is_none() {
            self.choose(view)?;
        }
        Ok(self.columns.as_ref().map_or(Vec::new(), Columns::watches))
    }

    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        if let Some(columns) = &self.columns {
            let values = &view.watched[columns.selected.watched()..];
            let values = values.iter().map(|watched| cell(&watched.value));
            let names = columns.parameters.iter().map(|(shown, _)| shown.as_str());
            self.sink.parameters(&names.zip(values).collect::<Vec<_>>());
            self.sink.begin(&columns.list)?;
        }
        self.record(view)?;
        Ok(ControlFlow::Continue(()))
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        self.record(view)?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &Report) -> Result<(), ObserverError> {
        let mut last = self.pending.take().filter(|row| !row.is_written);
        if let (Some(row), Some(columns), Some(values)) = (&mut last, &self.columns, &self.inputs) {
            columns.selected.set_inputs(row, values);
        }
        let written = last.map_or(Ok(()), |row| write(&mut *self.sink, &row));
        let finished = self.sink.finish();
        if let Some(warning) = self.sink.pop_warning() {
            tracing::warn!("{warning}");
        }
        written?;
        Ok(finished?)
    }
}
