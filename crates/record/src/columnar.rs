//! Forms of tables that are written by blocks of columns, and cannot be read before their end is written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use crate::arrow_writer::ArrowWriter;
use crate::parquet_writer::ParquetWriter;
use crate::sink::{Column, ColumnType};

/// Writes a table to a file, with units and further texts in its metadata.
pub trait ColumnarWriter {
    /// Appends rows: as many values of each column.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn write(&mut self, columns: &[Cells]) -> io::Result<()>;

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Begins a file with these columns and further metadata.
type Begin = for<'a> fn(
    &'a mut File,
    &[Column],
    &BTreeMap<String, String>,
) -> io::Result<Box<dyn ColumnarWriter + 'a>>;

/// A form of tables.
#[derive(Debug)]
pub struct ColumnarForm {
    ending: &'static str,
    begin: Begin,
}

/// Apache Parquet.
pub const PARQUET: ColumnarForm = ColumnarForm {
    ending: "parquet",
    begin: |file, columns, further| {
        Ok(Box::new(ParquetWriter::with_metadata(
            file, columns, further,
        )?))
    },
};

const ARROW: Begin =
    |file, columns, further| Ok(Box::new(ArrowWriter::new(file, columns, further)?));

static FORMS: [ColumnarForm; 3] = [
    PARQUET,
    ColumnarForm {
        ending: "arrow",
        begin: ARROW,
    },
    ColumnarForm {
        ending: "feather",
        begin: ARROW,
    },
];

impl ColumnarForm {
    /// The form that the ending of a name asks for, if it is one of these.
    #[must_use]
    pub fn of(path: &Path) -> Option<&'static Self> {
        let ending = path.extension()?;
        FORMS
            .iter()
            .find(|form| ending.eq_ignore_ascii_case(form.ending))
    }

    /// Begins a file. The first column of a result is the time.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn begin<'a>(
        &self,
        file: &'a mut File,
        columns: &[Column],
        further: &BTreeMap<String, String>,
    ) -> io::Result<Box<dyn ColumnarWriter + 'a>> {
        (self.begin)(file, columns, further)
    }
}

/// The column of the time, before the others.
pub(crate) fn with_time(columns: &[Column]) -> Vec<Column> {
    let time = Column {
        unit: Some("s".to_owned()),
        ..Column::new("time", ColumnType::Real)
    };
    std::iter::once(time)
        .chain(columns.iter().cloned())
        .collect()
}

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

/// The units of the columns, as `gyrator.units`, and the names of the power bonds, as `gyrator.bonds`, then further entries.
pub(crate) fn metadata(
    columns: &[Column],
    further: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
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
        ("gyrator.units".to_owned(), units),
        ("gyrator.bonds".to_owned(), bonds),
    ];
    let further = further.iter();
    metadata.extend(further.map(|(key, text)| (key.clone(), text.clone())));
    metadata
}
