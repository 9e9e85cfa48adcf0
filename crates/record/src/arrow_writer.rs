//! Tables as files of Arrow's IPC format.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::columnar::{self, Cells, ColumnarWriter};
use crate::sink::{Column, ColumnType};

/// Writes a table as a file of Arrow's IPC format, which is Feather of version 2: a column a column, not compressed,
/// with the metadata of [`ParquetWriter`](crate::ParquetWriter).
pub(crate) struct ArrowWriter<W: Write> {
    writer: FileWriter<BufWriter<W>>,
    schema: Arc<Schema>,
}

impl<W: Write> ArrowWriter<W> {
    pub(crate) fn new(
        output: W,
        columns: &[Column],
        further: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let fields: Vec<Field> = columns
            .iter()
            .map(|column| Field::new(&column.name, data_type(column.kind), true))
            .collect();
        let metadata: BTreeMap<String, String> =
            columnar::metadata(columns, further).into_iter().collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let writer = FileWriter::try_new_buffered(output, &schema).map_err(io_error)?;
        Ok(Self { writer, schema })
    }
}

impl<W: Write> ColumnarWriter for ArrowWriter<W> {
    fn write(&mut self, columns: &[Cells]) -> io::Result<()> {
        let arrays = columns.iter().map(array).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
        batch
            .and_then(|batch| self.writer.write(&batch))
            .map_err(io_error)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.finish().map_err(io_error)?;
        self.writer.get_mut().flush()
    }
}

fn data_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Real => DataType::Float64,
        ColumnType::Integer | ColumnType::Enumeration => DataType::Int64,
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::String => DataType::Utf8,
    }
}

fn array(cells: &Cells) -> ArrayRef {
    match cells {
        Cells::Real(values) => Arc::new(Float64Array::from_iter(values.iter().copied())),
        Cells::Integer(values) => Arc::new(Int64Array::from_iter(values.iter().copied())),
        Cells::Boolean(values) => Arc::new(BooleanArray::from_iter(values.iter().copied())),
        Cells::Text(values) => {
            Arc::new(StringArray::from_iter(values.iter().map(Option::as_deref)))
        }
    }
}

fn io_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}
