//! Tables of studies.

use std::path::PathBuf;
use std::sync::Arc;

use gyrator_study::{ColumnKind, merge};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::column::{Column, Type, Values};
use crate::table::Table;

/// The rows that a study has finished, in the order of its cases, from its journal.
#[pyfunction]
pub(crate) fn read_study(py: Python<'_>, journal: PathBuf) -> PyResult<Table> {
    let merged = py.detach(|| merge(&[journal], true));
    let (header, rows) = merged.map_err(|error| wrong(error.to_string()))?;
    let columns = header.columns.into_iter();
    let columns = columns.map(|column| (column.name, Some(column.kind)));
    table(columns.collect(), rows.values().map(String::as_str))
}

/// Reads the cases of a study, which is a text of comma-separated values; columns of numbers alone are numbers.
#[pyfunction]
pub(crate) fn read_cases(text: &str) -> PyResult<Table> {
    let (names, rows) = text.split_once('\n').unwrap_or((text, ""));
    let names = cells(names)?.into_iter().map(|name| (name, None));
    table(names.collect(), rows.lines())
}

fn wrong(text: String) -> PyErr {
    PyValueError::new_err(text)
}

fn cells(line: &str) -> PyResult<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(line.as_bytes());
    let mut row = csv::StringRecord::new();
    let read = reader.read_record(&mut row);
    read.map_err(|error| wrong(error.to_string()))?;
    Ok(row.iter().map(str::to_owned).collect())
}

fn table<'t>(
    columns: Vec<(String, Option<ColumnKind>)>,
    rows: impl Iterator<Item = &'t str>,
) -> PyResult<Table> {
    let mut texts = vec![Vec::new(); columns.len()];
    for row in rows {
        let cells = cells(row)?;
        if cells.len() != texts.len() {
            return Err(wrong(format!("a row has other columns: {row}")));
        }
        for (texts, cell) in texts.iter_mut().zip(cells) {
            texts.push(cell);
        }
    }
    let columns = columns.into_iter().zip(texts);
    let columns = columns.map(|((name, kind), texts)| Column {
        name,
        values: values(kind, texts),
    });
    Ok(Table::new(columns.collect()))
}

/// The cells of a column; an empty one of numbers is NaN.
fn values(kind: Option<ColumnKind>, texts: Vec<String>) -> Values {
    let numbers = || {
        let numbers = texts.iter().map(|text| match text.as_str() {
            "" => Some(f64::NAN),
            text => text.parse().ok(),
        });
        numbers.collect::<Option<Vec<f64>>>()
    };
    match (kind, numbers()) {
        (Some(ColumnKind::Real), Some(numbers)) => Values::of_numbers(numbers, None),
        (Some(ColumnKind::Integer) | None, Some(numbers)) => {
            Values::of_numbers(numbers, Some(Type::Integer))
        }
        _ => Values::Text(Arc::new(texts)),
    }
}
