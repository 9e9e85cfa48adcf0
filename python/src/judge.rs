//! Checks of results.

use std::borrow::Cow;

use gyrator::graph::Graph;
use gyrator::system_file::{Experiment, Problems, Spanned};
use gyrator_assess::Judging;
use gyrator_assess::checks::{self, Rows, RunEnd};
use pyo3::prelude::*;

use crate::column::Values;
use crate::error;
use crate::table::Table;

/// Judges the checks of a text in TOML on a result, of which `table` has the rows and `summary` the end, as JSON; a
/// line for each that does not hold.
#[pyfunction]
pub(crate) fn judge(
    py: Python<'_>,
    table: Option<&Table>,
    checks: String,
    path: &str,
    summary: &str,
) -> PyResult<Vec<String>> {
    let invalid = |text: String| error::invalid(py, text);
    let run: RunEnd = serde_json::from_str(summary)
        .map_err(|failed| invalid(format!("the summary of the result: {failed}")))?;
    let checks = checks::parse(checks, path).map_err(|found| invalid(words(&found, path)))?;
    let rows = table.map(rows).unwrap_or_default();
    let findings = py.detach(|| checks.judge(&rows, &run));
    let findings = findings.map_err(|found| invalid(words(&found, path)))?;
    let broken = findings.iter().filter(|finding| !finding.holds());
    Ok(broken.map(ToString::to_string).collect())
}

/// Finds what checks are about in a system: those of a file, or of a list of its tables.
pub(crate) fn judging(
    py: Python<'_>,
    checks: &Bound<'_, PyAny>,
    graph: &Graph,
    experiment: &Experiment,
) -> PyResult<Judging> {
    let module = py.import("gyrator._assertions")?;
    let text = module.getattr("text_of_checks")?.call1((checks,))?;
    let (text, path): (String, String) = text.extract()?;
    let seconds = |time: &Option<Spanned<f64>>| time.as_ref().map(|time| time.value);
    let start = seconds(&experiment.start_time).unwrap_or(0.0);
    let judging = checks::parse(text, &path)
        .and_then(|checks| Judging::new(&checks, graph, start, seconds(&experiment.stop_time)));
    judging.map_err(|found| error::invalid(py, words(&found, &path)))
}

/// Problems in words. Those of code have no place in a file.
fn words(problems: &Problems, path: &str) -> String {
    if !path.is_empty() {
        return problems.to_string();
    }
    let texts = problems.list.iter().map(|problem| match &problem.help {
        Some(help) => format!("{}; {help}", problem.message),
        None => problem.message.clone(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn rows(table: &Table) -> Rows<'_> {
    let columns = table.columns();
    let Some((time, others)) = columns.split_first() else {
        return Rows::default();
    };
    let Values::Real(times) = &time.values else {
        return Rows::default();
    };
    let mut rows = Rows::new(times);
    for column in others {
        let values = match &column.values {
            Values::Real(values) => Some(Cow::Borrowed(&**values)),
            Values::Integer(values) => Some(values.iter().map(|value| f64::from(*value)).collect()),
            Values::Boolean(values) => Some(values.iter().map(|value| f64::from(*value)).collect()),
            Values::Text(_) => None,
        };
        rows.push(&column.name, values);
    }
    rows
}
