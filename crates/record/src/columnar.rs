//! Tables that are written by blocks of columns, and cannot be read before their end is written.

use std::collections::BTreeMap;
use std::io;

use crate::sink::{Cell, Column, ColumnType};

/// Most rows of a [group](group_rows).
const ROWS: usize = 10_000;

/// Bytes of a [group](group_rows), about.
pub(crate) const GROUP: usize = 64 << 20;

/// Writes a table to a file, with units and further texts in its metadata.
pub trait ColumnarWriter: Send {
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
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.finish_with(&BTreeMap::new())
    }

    /// Ends the file, with further metadata if the form takes [any in the end](crate::ColumnarForm::takes_metadata_last).
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn finish_with(self: Box<Self>, further: &BTreeMap<String, String>) -> io::Result<()>;
}

/// The facts of a table that are known before its first row.
#[derive(Debug, Clone, Copy)]
pub struct TableHead<'a> {
    /// All columns. The first one of a result is the time.
    pub columns: &'a [Column],
    /// Further metadata: keys and texts.
    pub metadata: &'a BTreeMap<String, String>,
    /// Whether each row has a value of each column.
    pub is_complete: bool,
}

/// Rows that are written at a time for so many columns: 10 000, or as many as have 64 MiB of doubles. They are in memory until
/// then, and in the file they are what a reader takes at a time.
pub(crate) fn group_rows(columns: usize) -> usize {
    ROWS.min(GROUP / size_of::<f64>() / columns.max(1)).max(1)
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

/// Values of one column, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    values: CellValues,
    /// Whether a row has no value; empty if all have one. Such a row has any value in its place.
    is_missing: Vec<bool>,
}

/// The values of [`Cells`].
#[derive(Debug, Clone, PartialEq)]
pub enum CellValues {
    /// Of a [`ColumnType::Real`] column.
    Real(Vec<f64>),
    /// Of a [`ColumnType::Integer`] or [`ColumnType::Enumeration`] column.
    Integer(Vec<i64>),
    /// Of a [`ColumnType::Boolean`] column.
    Boolean(Vec<bool>),
    /// Of a [`ColumnType::String`] column.
    Text(Vec<String>),
}

impl From<CellValues> for Cells {
    /// A value in each row.
    fn from(values: CellValues) -> Self {
        let is_missing = Vec::new();
        Self { values, is_missing }
    }
}

impl Cells {
    /// No values of this kind.
    #[must_use]
    pub fn new(kind: ColumnType) -> Self {
        Self::with_room(kind, 0)
    }

    /// No values of this kind, and memory for so many.
    #[must_use]
    pub fn with_room(kind: ColumnType, rows: usize) -> Self {
        Self::from(match kind {
            ColumnType::Real => CellValues::Real(Vec::with_capacity(rows)),
            ColumnType::Integer | ColumnType::Enumeration => {
                CellValues::Integer(Vec::with_capacity(rows))
            }
            ColumnType::Boolean => CellValues::Boolean(Vec::with_capacity(rows)),
            ColumnType::String => CellValues::Text(Vec::with_capacity(rows)),
        })
    }

    /// Makes the system give the memory for which there is room.
    pub(crate) fn touch(&mut self) {
        match &mut self.values {
            CellValues::Real(values) => values.resize(values.capacity(), 0.0),
            CellValues::Integer(values) => values.resize(values.capacity(), 0),
            CellValues::Boolean(values) => values.resize(values.capacity(), false),
            CellValues::Text(values) => values.resize(values.capacity(), String::new()),
        }
        self.clear();
    }

    /// The values, including placeholders of missing ones.
    #[must_use]
    pub fn values(&self) -> &CellValues {
        &self.values
    }

    /// Whether a row has no value; empty if all have one.
    #[must_use]
    pub fn is_missing(&self) -> &[bool] {
        &self.is_missing
    }

    /// For values that are not missing.
    pub(crate) fn values_mut(&mut self) -> &mut CellValues {
        &mut self.values
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.values {
            CellValues::Real(values) => values.len(),
            CellValues::Integer(values) => values.len(),
            CellValues::Boolean(values) => values.len(),
            CellValues::Text(values) => values.len(),
        }
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all rows, and keeps their memory.
    pub fn clear(&mut self) {
        self.is_missing.clear();
        match &mut self.values {
            CellValues::Real(values) => values.clear(),
            CellValues::Integer(values) => values.clear(),
            CellValues::Boolean(values) => values.clear(),
            CellValues::Text(values) => values.clear(),
        }
    }

    /// Appends a row without a value.
    pub(crate) fn push_missing(&mut self) {
        let rows = self.len();
        self.is_missing.resize(rows, false);
        self.is_missing.push(true);
        match &mut self.values {
            CellValues::Real(values) => values.push(f64::NAN),
            CellValues::Integer(values) => values.push(0),
            CellValues::Boolean(values) => values.push(false),
            CellValues::Text(values) => values.push(String::new()),
        }
    }

    /// Appends the value that a cell of comma-separated values says, as [`CsvSink`](crate::CsvSink)
    /// writes it; an empty cell has no value. False if the value is not of this kind.
    pub fn push_text(&mut self, text: &str) -> bool {
        if text.is_empty() {
            self.push_missing();
            return true;
        }
        let cell = match &self.values {
            CellValues::Real(_) => text.parse().ok().map(Cell::Real),
            CellValues::Integer(_) => text.parse().ok().map(Cell::Integer),
            CellValues::Boolean(_) => match text {
                "0" => Some(Cell::Boolean(false)),
                "1" => Some(Cell::Boolean(true)),
                _ => None,
            },
            CellValues::Text(_) => Some(Cell::String(text)),
        };
        cell.is_some_and(|cell| self.push(cell))
    }

    /// Appends a value; false if it is not of this kind.
    pub(crate) fn push(&mut self, cell: Cell<'_>) -> bool {
        match (&mut self.values, cell) {
            (CellValues::Real(values), Cell::Real(number)) => values.push(number),
            (CellValues::Integer(values), Cell::Integer(number)) => values.push(number),
            (CellValues::Boolean(values), Cell::Boolean(boolean)) => values.push(boolean),
            (CellValues::Text(values), Cell::String(text)) => values.push(text.to_owned()),
            _ => return false,
        }
        if !self.is_missing.is_empty() {
            self.is_missing.resize(self.len(), false);
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
