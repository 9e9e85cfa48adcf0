//! Tables as files of Arrow's IPC format.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::NullBuffer;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::columnar::{self, CellValues, Cells, ColumnarWriter, TableHead};
use crate::sink::ColumnType;

/// Writes a table as a file of Arrow's IPC format, which is Feather of version 2: a column a column, not compressed,
/// with the metadata of [`ParquetWriter`](crate::ParquetWriter).
pub(crate) struct ArrowWriter<W: Write> {
    writer: FileWriter<BufWriter<W>>,
    schema: Arc<Schema>,
}

impl<W: Write> ArrowWriter<W> {
    pub(crate) fn new(output: W, head: TableHead<'_>) -> io::Result<Self> {
        let fields = head.columns.iter();
        let fields: Vec<Field> = fields
            .map(|column| Field::new(&column.name, data_type(column.kind), true))
            .collect();
        let metadata: BTreeMap<String, String> = columnar::metadata(head.columns, head.metadata)
            .into_iter()
            .collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let writer = FileWriter::try_new_buffered(output, &schema).map_err(io_error)?;
        Ok(Self { writer, schema })
    }
}

impl<W: Write + Send> ColumnarWriter for ArrowWriter<W> {
    fn write(&mut self, columns: &[Cells]) -> io::Result<()> {
        let arrays = columns.iter().map(array).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
        batch
            .and_then(|batch| self.writer.write(&batch))
            .map_err(io_error)
    }

    fn finish_with(mut self: Box<Self>, _: &BTreeMap<String, String>) -> io::Result<()> {
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
    let missing = cells.is_missing();
    let is_there = |row: usize| !missing.get(row).copied().unwrap_or(false);
    let validity = (!missing.is_empty()).then(|| (0..cells.len()).map(is_there).collect());
    let nulls = validity.map(|there: Vec<bool>| NullBuffer::from(there));
    match cells.values() {
        CellValues::Real(values) => Arc::new(Float64Array::new(values.clone().into(), nulls)),
        CellValues::Integer(values) => Arc::new(Int64Array::new(values.clone().into(), nulls)),
        CellValues::Boolean(values) => Arc::new(BooleanArray::new(values.clone().into(), nulls)),
        CellValues::Text(values) => {
            let texts = values.iter().enumerate();
            let texts = texts.map(|(row, text)| is_there(row).then_some(text));
            Arc::new(StringArray::from_iter(texts))
        }
    }
}

fn io_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}
