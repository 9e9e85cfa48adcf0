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

use crate::sink::{Column, ColumnType};

/// Values of one column, row by row; `None` where a row has none.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Of a [`ColumnType::Real`] column.
    Real(Vec<Option<f64>>),
    /// Of a [`ColumnType::Integer`] or [`ColumnType::Enumeration`] column.
    Integer(Vec<Option<i64>>),
    /// Of a [`ColumnType::Boolean`] column.
    Boolean(Vec<Option<bool>>),
    /// Of a [`ColumnType::String`] column.
    Text(Vec<Option<String>>),
}

impl Cells {
    /// No values of this kind.
    #[must_use]
    pub fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Real => Self::Real(Vec::new()),
            ColumnType::Integer | ColumnType::Enumeration => Self::Integer(Vec::new()),
            ColumnType::Boolean => Self::Boolean(Vec::new()),
            ColumnType::String => Self::Text(Vec::new()),
        }
    }

    /// Appends the value that a cell of comma-separated values says, as [`CsvSink`](crate::CsvSink)
    /// writes it; an empty cell is no value. False where it is none of this kind.
    pub fn push_text(&mut self, text: &str) -> bool {
        let is_empty = text.is_empty();
        match self {
            Self::Real(values) if is_empty => values.push(None),
            Self::Integer(values) if is_empty => values.push(None),
            Self::Boolean(values) if is_empty => values.push(None),
            Self::Text(values) => values.push((!is_empty).then(|| text.to_owned())),
            Self::Real(values) => match text.parse() {
                Ok(number) => values.push(Some(number)),
                Err(_) => return false,
            },
            Self::Integer(values) => match text.parse() {
                Ok(number) => values.push(Some(number)),
                Err(_) => return false,
            },
            Self::Boolean(values) => match text {
                "0" => values.push(Some(false)),
                "1" => values.push(Some(true)),
                _ => return false,
            },
        }
        true
    }
}

/// Writes a table as a Parquet file: a column a column, Snappy compression. The units are in the
/// file's metadata as `gyrator.units`, a JSON object by column; the names of the power bonds whose
/// columns begin with `bond.<name>.` as `gyrator.bonds`, a JSON list; further texts stand by their keys:
/// `gyrator.parameters` and `gyrator.summary` are those of [`RowSink`](crate::RowSink).
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
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("gyrator ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(None)
            .set_key_value_metadata(Some(metadata(columns, further)));
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

fn metadata(columns: &[Column], further: &BTreeMap<String, String>) -> Vec<KeyValue> {
    let mut units = serde_json::Map::new();
    let mut bonds: Vec<&str> = Vec::new();
    for column in columns {
        if let Some(unit) = &column.unit {
            units.insert(column.name.clone(), unit.clone().into());
        }
        let of_bond = column.name.strip_prefix("bond.");
        if let Some((bond, _)) = of_bond.and_then(|rest| rest.rsplit_once('.'))
            && !bonds.contains(&bond)
        {
            bonds.push(bond);
        }
    }
    let units = serde_json::Value::Object(units).to_string();
    let bonds = serde_json::Value::from(bonds).to_string();
    let mut metadata = vec![
        KeyValue::new("gyrator.units".to_owned(), units),
        KeyValue::new("gyrator.bonds".to_owned(), bonds),
    ];
    let further = further.iter();
    metadata.extend(further.map(|(key, text)| KeyValue::new(key.clone(), text.clone())));
    metadata
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
