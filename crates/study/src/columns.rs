//! The columns of the table of a study, and their units.

use gyrator::graph::Graph;
use gyrator::system::FmuCache;
use gyrator_system::toml_file::parse_with;
use gyrator_system::{SystemFile, did_you_mean};

use crate::bond_columns;
use crate::cases::Cases;
use crate::cell::{Column, ColumnKind};
use crate::error::StudyError;
use crate::error_columns;
use crate::metrics::Metric;
use crate::probe::Probe;
use crate::study_file::StudyFile;
use crate::tally::{MESSAGE, STOP_REASON, VERDICT};

/// The units of the metrics and of the estimated errors, from the first system of the list that can be described.
pub(crate) fn units(
    file: &StudyFile,
    system: &SystemFile,
    cases: &Cases,
    cache: &FmuCache,
) -> Result<Vec<Option<String>>, StudyError> {
    /// A study all of whose first systems are invalid has other problems than these.
    const TRIED: usize = 100;
    let mut not_opened = None;
    for row in 0..cases.len().min(TRIED) {
        let settings = cases.settings_of(row);
        let source = &system.source;
        let Ok((described, _)) = parse_with(source.own_text(), &source.path, &settings) else {
            continue;
        };
        let system = match cache.system(described) {
            Ok(system) => system,
            Err(error) => {
                not_opened.get_or_insert(error);
                continue;
            }
        };
        let Ok(graph) = gyrator::system::resolved_graph(&system) else {
            continue;
        };
        let unit = |metric: &Metric| {
            let found = Probe::find(&metric.variable, &graph);
            found.map(|(_, unit)| unit).map_err(StudyError::Metric)
        };
        check_bonds(file.bonds.as_deref().unwrap_or_default(), &graph)?;
        let metrics = file.metrics.iter().map(unit);
        let errors = file.error_bars.iter();
        let errors = errors.map(|name| unit_of_error(name, &graph));
        return metrics.chain(errors).collect();
    }
    match not_opened {
        Some(error) => Err(error.into()),
        None => Ok(vec![None; file.metrics.len() + file.error_bars.len()]),
    }
}

/// The unit of a variable whose error is estimated, which is a real output.
fn unit_of_error(name: &str, graph: &Graph) -> Result<Option<String>, StudyError> {
    match Probe::find(name, graph) {
        Ok((Probe::Real(_), unit)) => Ok(unit),
        Ok(_) => Err(StudyError::Metric(format!(
            "`error_bars`: `{name}` is not a real output"
        ))),
        Err(message) => Err(StudyError::Metric(message)),
    }
}

/// Refuses the name of a bond that the system lacks.
fn check_bonds(names: &[String], graph: &Graph) -> Result<(), StudyError> {
    let is_missing = |name: &&String| !graph.bond_names().any(|bond| bond == *name);
    let Some(name) = names.iter().find(is_missing) else {
        return Ok(());
    };
    let near = did_you_mean(name, graph.bond_names());
    let near = near.map_or_else(String::new, |near| format!(": {near}"));
    let message = format!("`energies`: the system has no bond `{name}`{near}");
    Err(StudyError::Metric(message))
}

/// The columns of the table.
pub(crate) fn columns(
    file: &StudyFile,
    cases: &Cases,
    bonds: &[String],
    units: &[Option<String>],
) -> Vec<Column> {
    let column = |name: &str, kind, unit: Option<&str>| Column {
        unit: unit.map(str::to_owned),
        ..Column::new(name, kind)
    };
    let mut columns = cases.columns();
    columns.push(column(STOP_REASON, ColumnKind::Text, None));
    columns.push(column(MESSAGE, ColumnKind::Text, None));
    columns.push(column("stop_time", ColumnKind::Real, Some("s")));
    columns.push(column("steps", ColumnKind::Integer, None));
    columns.push(column(VERDICT, ColumnKind::Text, None));
    let metrics = file.metrics.iter().zip(units);
    columns.extend(metrics.map(|(metric, unit)| metric.table_column(unit.clone())));
    let errors = file.error_bars.iter().zip(&units[file.metrics.len()..]);
    columns.extend(
        errors.flat_map(|(variable, unit)| error_columns::columns(variable, unit.as_deref())),
    );
    columns.extend(bonds.iter().flat_map(|bond| bond_columns::columns(bond)));
    if file.wall_time {
        columns.push(column("wall_time", ColumnKind::Real, Some("s")));
    }
    columns
}
