//! Tables as Parquet files.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::columnar::{self, CellValues, Cells, ColumnarWriter, TableHead};
use crate::real_pages::RealPages;
use crate::sink::{Column, ColumnType};

/// Bytes that are collected before they go to the operating system.
const BLOCK: usize = 256 * 1024;

/// Writes a table as a Parquet file: a column a column, reals as streams of their first bytes, of their second bytes and so
/// on (`BYTE_STREAM_SPLIT`), which Snappy then compresses much better. The units are in the
/// file's metadata as `gyrator.units`, a JSON object by column; the names of the power bonds whose
/// columns begin with `bond.<name>.` as `gyrator.bonds`, a JSON list; further texts stand by their keys.
///
/// A Parquet file can be read once it is finished, not before.
pub struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<BufWriter<W>>,
    pages: RealPages,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file of columns in which values may be missing.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn new(output: W, columns: &[Column]) -> io::Result<Self> {
        let head = TableHead {
            columns,
            metadata: &BTreeMap::new(),
            is_complete: false,
        };
        Self::with_head(output, head)
    }

    /// Begins a file.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn with_head(output: W, head: TableHead<'_>) -> io::Result<Self> {
        let repetition = match head.is_complete {
            true => Repetition::REQUIRED,
            false => Repetition::OPTIONAL,
        };
        let fields = head.columns.iter().map(|column| field(column, repetition));
        let fields: Result<Vec<_>, ParquetError> = fields.collect();
        let schema = Type::group_type_builder("table").with_fields(fields.map_err(io_error)?);
        let schema = schema.build().map_err(io_error)?;
        let metadata = columnar::metadata(head.columns, head.metadata).into_iter();
        let metadata = metadata
            .map(|(key, text)| KeyValue::new(key, text))
            .collect();
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("gyrator ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(None)
            .set_key_value_metadata(Some(metadata))
            // Ranges of whole groups are enough: ranges of each page would be a large part of the file's end.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_dictionary_enabled(false);
        for column in head.columns {
            let path = ColumnPath::new(vec![column.name.clone()]);
            properties = match column.kind {
                ColumnType::Real => {
                    properties.set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT)
                }
                // Readers from before 2024 know that encoding of floating-point numbers only.
                ColumnType::Integer | ColumnType::Enumeration | ColumnType::Boolean => properties,
                // Texts repeat; numbers seldom do.
                ColumnType::String => properties.set_column_dictionary_enabled(path, true),
            };
        }
        let output = BufWriter::with_capacity(BLOCK, output);
        let writer =
            SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties.build()));
        Ok(Self {
            writer: writer.map_err(io_error)?,
            pages: RealPages::new(),
        })
    }

    /// Appends rows: as many values of each column. They are a group of their own, which should
    /// hold many rows.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn write(&mut self, columns: &[Cells]) -> io::Result<()> {
        let descriptions = self.writer.schema_descr().columns().to_vec();
        let mut group = self.writer.next_row_group().map_err(io_error)?;
        for (cells, description) in columns.iter().zip(descriptions) {
            if let CellValues::Real(values) = cells.values()
                && description.max_def_level() == 0
                && !values.is_empty()
            {
                let chunk = self.pages.chunk(description, values);
                let appended = chunk.and_then(|(bytes, facts)| group.append_column(&bytes, facts));
                appended.map_err(io_error)?;
                continue;
            }
            let Some(column) = group.next_column().map_err(io_error)? else {
                break;
            };
            let missing = cells.is_missing();
            match cells.values() {
                CellValues::Real(values) => write::<DoubleType>(column, values, missing),
                CellValues::Integer(values) => write::<Int64Type>(column, values, missing),
                CellValues::Boolean(values) => write::<BoolType>(column, values, missing),
                CellValues::Text(values) => {
                    let texts = values.iter().map(|text| ByteArray::from(text.as_str()));
                    write::<ByteArrayType>(column, &texts.collect::<Vec<_>>(), missing)
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
        let output = self.writer.into_inner().map_err(io_error)?;
        output.into_inner().map_err(IntoInnerError::into_error)
    }
}

impl<W: Write + Send> ColumnarWriter for ParquetWriter<W> {
    fn write(&mut self, columns: &[Cells]) -> io::Result<()> {
        Self::write(self, columns)
    }

    fn finish_with(mut self: Box<Self>, further: &BTreeMap<String, String>) -> io::Result<()> {
        for (key, text) in further {
            let entry = KeyValue::new(key.clone(), text.clone());
            self.writer.append_key_value_metadata(entry);
        }
        Self::finish(*self).map(|_| ())
    }
}

/// Writes a column of a group. `is_missing` is empty if no value is.
fn write<T: DataType>(
    mut column: SerializedColumnWriter<'_>,
    values: &[T::T],
    is_missing: &[bool],
) -> Result<(), ParquetError> {
    let writer = column.typed::<T>();
    if writer.get_descriptor().max_def_level() == 0 {
        writer.write_batch(values, None, None)?;
    } else if is_missing.is_empty() {
        writer.write_batch(values, Some(&vec![1; values.len()]), None)?;
    } else {
        let levels: Vec<i16> = is_missing.iter().map(|missing| (!missing).into()).collect();
        let there = values
            .iter()
            .zip(is_missing)
            .filter(|(_, missing)| !**missing);
        let there: Vec<T::T> = there.map(|(value, _)| value.clone()).collect();
        writer.write_batch(&there, Some(&levels), None)?;
    }
    column.close()
}

fn field(column: &Column, repetition: Repetition) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.kind {
        ColumnType::Real => (PhysicalType::DOUBLE, None),
        ColumnType::Integer | ColumnType::Enumeration => (PhysicalType::INT64, None),
        ColumnType::Boolean => (PhysicalType::BOOLEAN, None),
        ColumnType::String => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(repetition)
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
