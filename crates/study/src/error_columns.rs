//! Error bars of the runs of a study: companions of a run, made after it, and the columns of the signals.

use gyrator::{Run, View};
use gyrator_assess::{Assessment, ErrorBar, NoRows, assess};
use gyrator_record::{ColumnType, MemorySink, RowSink as _, Table};
use gyrator_system::SystemFile;

use crate::cell::{Cell, Column, ColumnKind};
use crate::probe::Probe;

/// The relative error for which a macro-step is given: the one below which a verdict is `small`.
const WANTED: f64 = gyrator::Verdict::SMALL;

/// The columns of a variable with this unit.
pub(crate) fn columns(variable: &str, unit: Option<&str>) -> [Column; 4] {
    let column = |name: &str, kind, unit: Option<&str>| Column {
        unit: unit.map(str::to_owned),
        ..Column::new(format!("{name}.{variable}"), kind)
    };
    [
        column("error", ColumnKind::Real, unit),
        column("max_error", ColumnKind::Real, unit),
        column("step_for", ColumnKind::Real, Some("s")),
        column("error_verdict", ColumnKind::Text, None),
    ]
}

/// The cells of a variable; all empty if it has no error bar.
pub(crate) fn cells(bar: Option<&ErrorBar>) -> [Cell; 4] {
    let Some(bar) = bar else {
        return [const { Cell::Empty }; 4];
    };
    [
        bar.error.into(),
        bar.max_error.into(),
        bar.step_for.into(),
        Cell::Text(bar.verdict.word().to_owned()),
    ]
}

/// The signals of a run at every communication point.
pub(crate) struct Rows {
    probes: Vec<Probe>,
    sink: MemorySink,
}

impl Rows {
    /// Of these variables of a run.
    ///
    /// # Errors
    /// A variable that the system lacks.
    pub(crate) fn new(variables: &[String], run: &Run) -> Result<Self, String> {
        let probe = |name: &String| Probe::find(name, run.graph()).map(|(probe, _)| probe);
        let probes = variables.iter().map(probe).collect::<Result<_, _>>()?;
        let column = |name: &String| gyrator_record::Column::new(name, ColumnType::Real);
        let columns: Vec<_> = variables.iter().map(column).collect();
        let mut sink = MemorySink::new();
        sink.begin(&columns).map_err(|error| error.to_string())?;
        Ok(Self { probes, sink })
    }

    pub(crate) fn record(&mut self, view: &View<'_>) {
        let values: Vec<f64> = self.probes.iter().map(|probe| probe.value(view)).collect();
        // Memory takes every row.
        let _ = self.sink.real_row(view.time, &values);
    }

    pub(crate) fn into_table(self) -> Table {
        self.sink.into_table()
    }
}

/// Estimates the errors of `variables` of a run of `system`. `companion` makes a run of the system at so many times the
/// macro-step.
pub(crate) fn error_bars(
    system: &SystemFile,
    run: Rows,
    variables: &[String],
    companion: impl FnMut(f64) -> Result<Table, NoRows>,
) -> Assessment {
    let experiment = &system.experiment;
    let control = experiment.step_control.as_ref();
    let is_fixed = control.is_none_or(|control| control.name.value == "fixed");
    let step_size = experiment.step_size.as_ref().map(|step| step.value);
    match step_size.filter(|_| is_fixed) {
        Some(step_size) => assess(&run.into_table(), step_size, variables, WANTED, companion),
        None => Assessment::none(variables, "error bars compare runs with fixed macro-steps"),
    }
}
