//! Tables as Parquet files.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::columnar::{self, Cells, ColumnarWriter};
use crate::sink::{Column, ColumnType};

/// Writes a table as a Parquet file: a column a column, Snappy compression. The units are in the
/// file's metadata as `gyrator.units`, a JSON object by column; the names of the power bonds whose
/// columns begin with `bond.<name>.` as `gyrator.bonds`, a JSON list; further texts stand by their keys.
///
/// A Parquet file can be read once it is finished, not before.
pub struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn new(output: W, columns: &[Column]) -> io::Result<Self> {
        Self::with_metadata(output, columns, &BTreeMap::new())
    }

    /// Begins a file with further metadata: keys and texts.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn with_metadata(
        output: W,
        columns: &[Column],
        further: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let fields: Result<Vec<_>, ParquetError> = columns.iter().map(field).collect();
        let schema = Type::group_type_builder("table").with_fields(fields.map_err(io_error)?);
        let schema = schema.build().map_err(io_error)?;
        let metadata = columnar::metadata(columns, further).into_iter();
        let metadata = metadata
            .map(|(key, text)| KeyValue::new(key, text))
            .collect();
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("gyrator ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(None)
            .set_key_value_metadata(Some(metadata));
        for column in columns {
            // Texts repeat; numbers seldom do.
            let path = ColumnPath::new(vec![column.name.clone()]);
            let is_text = column.kind == ColumnType::String;
            properties = properties.set_column_dictionary_enabled(path, is_text);
        }
        let writer =
            SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties.build()));
        Ok(Self {
            writer: writer.map_err(io_error)?,
        })
    }

    /// Appends rows: as many values of each column. They are a group of their own, which should
    /// hold many rows.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn write(&mut self, columns: &[Cells]) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(io_error)?;
        for cells in columns {
            let Some(column) = group.next_column().map_err(io_error)? else {
                break;
            };
            match cells {
                Cells::Real(values) => write::<DoubleType>(column, values.iter().copied()),
                Cells::Integer(values) => write::<Int64Type>(column, values.iter().copied()),
                Cells::Boolean(values) => write::<BoolType>(column, values.iter().copied()),
                Cells::Text(values) => {
                    let bytes = |text: &String| ByteArray::from(text.as_str());
                    let texts = values.iter().map(|text| text.as_ref().map(bytes));
                    write::<ByteArrayType>(column, texts)
                }
            }
            .map_err(io_error)?;
        }
        group.close().map_err(io_error)?;
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn finish(self) -> io::Result<W> {
        self.writer.into_inner().map_err(io_error)
    }
}

impl<W: Write + Send> ColumnarWriter for ParquetWriter<W> {
    fn write(&mut self, columns: &[Cells]) -> io::Result<()> {
        Self::write(self, columns)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        Self::finish(*self).map(|_| ())
    }
}

fn write<T: DataType>(
    mut column: SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    column
        .typed::<T>()
        .write_batch(&values, Some(&levels), None)?;
    column.close()
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.kind {
        ColumnType::Real => (PhysicalType::DOUBLE, None),
        ColumnType::Integer | ColumnType::Enumeration => (PhysicalType::INT64, None),
        ColumnType::Boolean => (PhysicalType::BOOLEAN, None),
        ColumnType::String => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(field))
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
