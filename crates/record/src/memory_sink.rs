//! Rows in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sink::{Cell, Column, ColumnType, RecordError, RowSink};
use crate::table::{Series, Table, Values};

/// Rows by column, each column with values of its own type, one after the other in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recorded {
    /// Time of each row, s.
    pub time: Vec<f64>,
    /// The other columns, each as long as the time.
    pub columns: Vec<RecordedColumn>,
    /// Values that do not change, by name.
    pub parameters: Vec<(String, ParameterValue)>,
}

/// A column of [`Recorded`].
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedColumn {
    /// Its name, type and unit.
    pub column: Column,
    /// A value for each row.
    pub values: ColumnValues,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// Of a [`ColumnType::Real`].
    Real(Vec<f64>),
    /// Of a [`ColumnType::Integer`] or [`ColumnType::Enumeration`].
    Integer(Vec<i32>),
    /// Of a [`ColumnType::Boolean`].
    Boolean(Vec<bool>),
    /// Of a [`ColumnType::String`].
    String(Vec<String>),
}

/// A value that does not change.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterValue {
    /// A floating-point number.
    Real(f64),
    /// A whole number, or the number of an enumeration's item.
    Integer(i32),
    /// True or false.
    Boolean(bool),
    /// Text.
    String(String),
}

impl Recorded {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&RecordedColumn> {
        self.columns.iter().find(|found| found.column.name == name)
    }

    /// The values of the real column of this name.
    pub fn reals(&self, name: &str) -> Option<&[f64]> {
        match &self.column(name)?.values {
            ColumnValues::Real(values) => Some(values),
            _ => None,
        }
    }
}

impl ColumnValues {
    fn of(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Real => Self::Real(Vec::new()),
            ColumnType::Integer | ColumnType::Enumeration => Self::Integer(Vec::new()),
            ColumnType::Boolean => Self::Boolean(Vec::new()),
            ColumnType::String => Self::String(Vec::new()),
        }
    }

    /// Appends a cell. One of another type than the column is kept as well as it can be.
    fn push(&mut self, cell: Cell<'_>) {
        match self {
            Self::Real(values) => values.push(match cell {
                Cell::Real(number) => number,
                Cell::Integer(number) => number as f64,
                Cell::Boolean(boolean) => f64::from(u8::from(boolean)),
                Cell::String(_) => f64::NAN,
            }),
            Self::Integer(values) => values.push(match cell {
                Cell::Real(number) => number as i32,
                Cell::Integer(number) => whole(number),
                Cell::Boolean(boolean) => i32::from(boolean),
                Cell::String(_) => 0,
            }),
            Self::Boolean(values) => values.push(match cell {
                Cell::Real(number) => number != 0.0,
                Cell::Integer(number) => number != 0,
                Cell::Boolean(boolean) => boolean,
                Cell::String(_) => false,
            }),
            Self::String(values) => values.push(match cell {
                Cell::Real(number) => number.to_string(),
                Cell::Integer(number) => number.to_string(),
                Cell::Boolean(boolean) => u8::from(boolean).to_string(),
                Cell::String(text) => text.to_owned(),
            }),
        }
    }

    fn truncate(&mut self, rows: usize) {
        match self {
            Self::Real(values) => values.truncate(rows),
            Self::Integer(values) => values.truncate(rows),
            Self::Boolean(values) => values.truncate(rows),
            Self::String(values) => values.truncate(rows),
        }
    }
}

/// The nearest integer of FMI, which has 32 bits.
fn whole(number: i64) -> i32 {
    number.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// Integers and booleans as numbers.
impl From<Recorded> for Table {
    fn from(recorded: Recorded) -> Self {
        let series = |found: RecordedColumn| Series {
            name: found.column.name,
            unit: found.column.unit,
            values: match found.values {
                ColumnValues::Real(values) => Values::Numbers(values),
                ColumnValues::Integer(values) => {
                    Values::Numbers(values.into_iter().map(f64::from).collect())
                }
                ColumnValues::Boolean(values) => {
                    let number = |value| f64::from(u8::from(value));
                    Values::Numbers(values.into_iter().map(number).collect())
                }
                ColumnValues::String(values) => Values::Text(values),
            },
        };
        Self {
            time: recorded.time,
            series: recorded.columns.into_iter().map(series).collect(),
        }
    }
}

/// Keeps all rows.
#[derive(Debug, Default)]
pub struct MemorySink {
    recorded: Recorded,
}

impl MemorySink {
    /// A sink without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// The rows so far.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// The rows, integers and booleans as numbers.
    pub fn into_table(self) -> Table {
        self.recorded.into()
    }

    /// Makes all columns as long as the time.
    fn take_back(&mut self, expected: usize, found: usize) -> RecordError {
        let rows = self.recorded.time.len();
        for column in &mut self.recorded.columns {
            column.values.truncate(rows);
        }
        RecordError::WrongRow { expected, found }
    }
}

impl RowSink for MemorySink {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        let empty = |column: &Column| RecordedColumn {
            column: column.clone(),
            values: ColumnValues::of(column.kind),
        };
        self.recorded.time.clear();
        self.recorded.columns = columns.iter().map(empty).collect();
        Ok(())
    }

    fn parameters(&mut self, parameters: &[(&str, Cell<'_>)]) {
        let parameter = |(name, cell): &(&str, Cell<'_>)| {
            let value = match cell {
                Cell::Real(number) => ParameterValue::Real(*number),
                Cell::Integer(number) => ParameterValue::Integer(whole(*number)),
                Cell::Boolean(boolean) => ParameterValue::Boolean(*boolean),
                Cell::String(text) => ParameterValue::String((*text).to_owned()),
            };
            ((*name).to_owned(), value)
        };
        self.recorded.parameters = parameters.iter().map(parameter).collect();
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        let expected = self.recorded.columns.len();
        let mut found = 0;
        for cell in cells.take(expected + 1) {
            if let Some(column) = self.recorded.columns.get_mut(found) {
                column.values.push(cell);
            }
            found += 1;
        }
        if found != expected {
            return Err(self.take_back(expected, found));
        }
        self.recorded.time.push(time);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.recorded.time.len() as u64
    }
}

/// The rows of a run in memory, as its recorder and others share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryRows(Arc<Mutex<MemorySink>>);

impl MemoryRows {
    /// Takes the rows out. Columns remain, so that a run that continues adds rows to them.
    pub fn take(&self) -> Recorded {
        let mut sink = self.lock();
        let mut rest = sink.recorded.clone_empty();
        std::mem::swap(&mut rest, &mut sink.recorded);
        rest
    }

    /// Looks at the rows so far; a run waits meanwhile.
    pub fn with<T>(&self, look: impl FnOnce(&Recorded) -> T) -> T {
        look(self.lock().recorded())
    }

    fn lock(&self) -> MutexGuard<'_, MemorySink> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorded {
    /// The columns and parameters without rows.
    fn clone_empty(&self) -> Self {
        let empty = |found: &RecordedColumn| RecordedColumn {
            column: found.column.clone(),
            values: ColumnValues::of(found.column.kind),
        };
        Self {
            time: Vec::new(),
            columns: self.columns.iter().map(empty).collect(),
            parameters: self.parameters.clone(),
        }
    }
}

impl RowSink for MemoryRows {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        self.lock().begin(columns)
    }

    fn parameters(&mut self, parameters: &[(&str, Cell<'_>)]) {
        self.lock().parameters(parameters);
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        self.lock().row(time, cells)
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.lock().rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell of another type than its column becomes one of it: a Boolean is true if the number is not 0.
    #[test]
    fn cells_take_the_type_of_their_column() {
        let cells = [Cell::Real(2.5), Cell::Integer(0), Cell::Boolean(true)];
        let pushed = |mut column: ColumnValues| {
            cells.iter().for_each(|cell| column.push(*cell));
            column
        };
        assert_eq!(
            pushed(ColumnValues::Boolean(Vec::new())),
            ColumnValues::Boolean(vec![true, false, true])
        );
        assert_eq!(
            pushed(ColumnValues::Integer(Vec::new())),
            ColumnValues::Integer(vec![2, 0, 1])
        );
        assert_eq!(
            pushed(ColumnValues::Real(Vec::new())),
            ColumnValues::Real(vec![2.5, 0.0, 1.0])
        );
    }

    #[test]
    fn shared_rows_are_counted() {
        let mut rows = MemoryRows::default();
        rows.begin(&[Column::new("x", crate::sink::ColumnType::Real)])
            .unwrap();
        for time in [0.0, 1.0, 2.0] {
            rows.real_row(time, &[time]).unwrap();
        }
        assert_eq!(rows.rows(), 3);
    }
}
