//! Tables as streams of the Arrow C interface, in the capsule that other libraries take
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::column::Column;

/// The columns as a stream of one batch.
pub(crate) fn capsule<'py>(
    py: Python<'py>,
    columns: &[&Column],
) -> PyResult<Bound<'py, PyCapsule>> {
    let batch = batch(columns).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let schema = batch.schema();
    let reader = RecordBatchIterator::new([Ok(batch)], schema);
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

fn batch(columns: &[&Column]) -> Result<RecordBatch, ArrowError> {
    let field = |column: &&Column| Field::new(&column.name, column.values.data_type(), false);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.iter().map(|column| column.values.arrow());
    RecordBatch::try_new(Arc::new(schema), arrays.collect())
}
