//! Rows in memory.

use crate::sink::{Cell, Column, ColumnType, RecordError, RowSink};
use crate::table::{Series, Table, Values};

/// Keeps all rows as a [`Table`].
#[derive(Debug, Default)]
pub struct MemorySink {
    table: Table,
}

impl MemorySink {
    /// A sink without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// The rows so far.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The rows.
    pub fn into_table(self) -> Table {
        self.table
    }

    /// Makes all columns as long as the time.
    fn take_back(&mut self, expected: usize, found: usize) -> RecordError {
        let rows = self.table.time.len();
        for series in &mut self.table.series {
            match &mut series.values {
                Values::Numbers(numbers) => numbers.truncate(rows),
                Values::Text(texts) => texts.truncate(rows),
            }
        }
        RecordError::WrongRow { expected, found }
    }
}

impl RowSink for MemorySink {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        let series = |column: &Column| Series {
            name: column.name.clone(),
            values: match column.kind {
                ColumnType::String => Values::Text(Vec::new()),
                _ => Values::Numbers(Vec::new()),
            },
        };
        self.table = Table {
            time: Vec::new(),
            series: columns.iter().map(series).collect(),
        };
        Ok(())
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        let expected = self.table.series.len();
        let mut found = 0;
        for cell in cells.take(expected + 1) {
            if let Some(series) = self.table.series.get_mut(found) {
                series.push(cell);
            }
            found += 1;
        }
        if found != expected {
            return Err(self.take_back(expected, found));
        }
        self.table.time.push(time);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.table.time.len() as u64
    }
}

impl Series {
    /// Appends a cell. One of another type than the column is kept as well as it can be.
    fn push(&mut self, cell: Cell<'_>) {
        match &mut self.values {
            Values::Numbers(numbers) => numbers.push(match cell {
                Cell::Real(number) => number,
                Cell::Integer(number) => number as f64,
                Cell::Boolean(boolean) => f64::from(u8::from(boolean)),
                Cell::String(_) => f64::NAN,
            }),
            Values::Text(texts) => texts.push(match cell {
                Cell::Real(number) => number.to_string(),
                Cell::Integer(number) => number.to_string(),
                Cell::Boolean(boolean) => u8::from(boolean).to_string(),
                Cell::String(text) => text.to_owned(),
            }),
        }
    }
}
