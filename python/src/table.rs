//! A result in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_buffer::Buffer;
use gyrator_record as record;
use gyrator_record::{Cell, CsvSink, RecordError, RowSink as _};
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::column::{Column, Type, Values};
use crate::stream;

/// Columns of equal length; the first is the time, s.
#[pyclass(frozen, module = "gyrator._gyrator")]
pub(crate) struct Table {
    columns: Vec<Column>,
}

/// Memory that numpy reads in place, by its array interface of version 3.
#[pyclass(frozen, module = "gyrator._gyrator")]
pub(crate) struct Memory {
    buffer: Buffer,
    length: usize,
    /// The type of a value, as numpy writes it.
    of: &'static str,
}

#[pymethods]
impl Memory {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.length,))?;
        interface.set_item("typestr", self.of)?;
        let is_read_only = true;
        interface.set_item("data", (self.buffer.as_ptr() as usize, is_read_only))?;
        Ok(interface)
    }
}

impl Table {
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns }
    }

    /// The columns; the first is the time.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn write_rows(&self, path: &Path) -> Result<(), RecordError> {
        let mut sink = CsvSink::create(path)?.as_doubles();
        let Some((time, columns)) = self.columns.split_first() else {
            return sink.finish();
        };
        let described = columns.iter();
        let described = described.map(|column| record::Column::new(&column.name, column.kind()));
        sink.begin(&described.collect::<Vec<_>>())?;
        for row in 0..self.__len__() {
            let time = match time.cell(row) {
                Cell::Real(time) => time,
                _ => f64::NAN,
            };
            sink.row(time, &mut columns.iter().map(|column| column.cell(row)))?;
        }
        sink.finish()
    }

    fn column(&self, name: &str) -> PyResult<&Column> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|c| c.name.as_str()).collect()
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        let length = |values: &Values| match values {
            Values::Real(values) => values.len(),
            Values::Integer(values) => values.len(),
            Values::Boolean(values) => values.len(),
            Values::Text(texts) => texts.len(),
        };
        self.columns.first().map_or(0, |time| length(&time.values))
    }

    /// The memory of a column of numbers or booleans, or the list of its texts.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let (buffer, length, of) = match &self.column(name)?.values {
            Values::Real(values) => (values.inner(), values.len(), "<f8"),
            Values::Integer(values) => (values.inner(), values.len(), "<i4"),
            Values::Boolean(values) => (values.inner(), values.len(), "|b1"),
            Values::Text(texts) => return Ok(PyList::new(py, texts.iter())?.into_any()),
        };
        let buffer = buffer.clone();
        let memory = Memory { buffer, length, of };
        Ok(Bound::new(py, memory)?.into_any())
    }

    /// Writes a file of doubles, of text where there are columns of texts.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| self.write_rows(&path));
        written.map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// The columns as a stream of Arrow.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore what is requested.
        drop(requested_schema);
        let columns: Vec<&Column> = self.columns.iter().collect();
        stream::capsule(py, &columns)
    }
}

/// Reads a result file of any form, with types of the columns that are not of reals.
#[pyfunction]
pub(crate) fn read_table(
    py: Python<'_>,
    path: PathBuf,
    types: BTreeMap<String, String>,
) -> PyResult<Table> {
    let table = py.detach(|| record::read_table(&path));
    let table = table.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut columns = vec![Column {
        name: "time".to_owned(),
        values: Values::Real(table.time.into()),
    }];
    columns.extend(table.series.into_iter().map(|series| Column {
        values: match series.values {
            record::Values::Numbers(numbers) => {
                Values::of_numbers(numbers, kind(&types, &series.name))
            }
            record::Values::Text(texts) => Values::Text(Arc::new(texts)),
        },
        name: series.name,
    }));
    Ok(Table::new(columns))
}

pub(crate) fn kind(types: &BTreeMap<String, String>, name: &str) -> Option<Type> {
    types.get(name).and_then(|word| Type::of(word))
}
