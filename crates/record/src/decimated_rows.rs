//! Rows of a run, decimated as they come.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::decimated::{Decimated, Decimator};
use crate::sink::{Cell, Column, RecordError, RowSink};

/// Rows that are handed to the decimator at a time.
const BLOCK: usize = 256;

/// Chooses columns by their places.
type Choose = Box<dyn Fn(&[Column]) -> Vec<usize> + Send>;

/// A sink that keeps as much of the rows as a picture can show, in memory that does not grow with them. Clones have the
/// same rows: one goes to the recorder, another one gives [`decimated`](Self::decimated), also while the run goes on.
#[derive(Clone)]
pub struct DecimatedRows {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    choose: Choose,
    /// By the number of columns that are chosen.
    stretches: fn(usize) -> usize,
    /// Places of the chosen columns.
    places: Vec<usize>,
    columns: Vec<Column>,
    /// Number of all columns.
    count: usize,
    decimator: Decimator,
    times: Vec<f64>,
    block: Vec<Vec<f64>>,
    rows: u64,
}

impl DecimatedRows {
    /// Keeps the columns whose places `choose` returns, in as many stretches of time as `stretches` gives for their
    /// number; see [`Decimator::new`].
    pub fn new(
        choose: impl Fn(&[Column]) -> Vec<usize> + Send + 'static,
        stretches: fn(usize) -> usize,
    ) -> Self {
        let shared = Shared {
            choose: Box::new(choose),
            stretches,
            places: Vec::new(),
            columns: Vec::new(),
            count: 0,
            decimator: Decimator::new(0, 1),
            times: Vec::with_capacity(BLOCK),
            block: Vec::new(),
            rows: 0,
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// The rows so far.
    #[must_use]
    pub fn decimated(&self) -> Decimated {
        let mut shared = self.lock();
        shared.hand_over();
        shared.decimator.decimated(&shared.columns)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn hand_over(&mut self) {
        let columns: Vec<&[f64]> = self.block.iter().map(Vec::as_slice).collect();
        self.decimator.push(&self.times, &columns);
        self.times.clear();
        self.block.iter_mut().for_each(Vec::clear);
    }

    fn end_row(&mut self, time: f64) {
        self.times.push(time);
        self.rows += 1;
        if self.times.len() == BLOCK {
            self.hand_over();
        }
    }
}

fn number(cell: &Cell<'_>) -> f64 {
    match cell {
        Cell::Real(number) => *number,
        Cell::Integer(number) => *number as f64,
        Cell::Boolean(truth) => f64::from(u8::from(*truth)),
        Cell::String(_) => f64::NAN,
    }
}

impl RowSink for DecimatedRows {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        let mut shared = self.lock();
        shared.places = (shared.choose)(columns);
        let chosen = shared.places.iter().map(|place| columns[*place].clone());
        shared.columns = chosen.collect();
        shared.count = columns.len();
        let number = shared.places.len();
        shared.decimator = Decimator::new(number, (shared.stretches)(number));
        shared.block = vec![Vec::with_capacity(BLOCK); number];
        Ok(())
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        let values: Vec<f64> = cells.map(|cell| number(&cell)).collect();
        self.real_row(time, &values)
    }

    fn real_row(&mut self, time: f64, values: &[f64]) -> Result<(), RecordError> {
        let mut shared = self.lock();
        let shared = &mut *shared;
        if values.len() != shared.count {
            return Err(RecordError::WrongRow {
                expected: shared.count,
                found: values.len(),
            });
        }
        for (column, place) in shared.block.iter_mut().zip(&shared.places) {
            column.push(values[*place]);
        }
        shared.end_row(time);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    fn flushes_itself(&self) -> bool {
        true
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.lock().rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::ColumnType;

    /// The same as of all rows at once, for chosen columns of any type.
    #[test]
    fn rows_are_decimated_as_they_come() {
        let columns = [
            Column::new("a", ColumnType::Real),
            Column::new("b", ColumnType::Boolean),
            Column::new("c", ColumnType::String),
        ];
        let mut sink = DecimatedRows::new(|_| vec![1, 0], |_| 10);
        let rows = sink.clone();
        sink.begin(&columns).unwrap();
        let mut decimator = Decimator::new(2, 10);
        for row in 0..1000 {
            let (time, a, b) = (f64::from(row), f64::from(row * row % 17), row % 3 == 0);
            let cells = [Cell::Real(a), Cell::Boolean(b), Cell::String("x")];
            sink.row(time, &mut cells.into_iter()).unwrap();
            decimator.push(&[time], &[&[f64::from(u8::from(b))], &[a]]);
        }
        let chosen = [columns[1].clone(), columns[0].clone()];
        assert_eq!(rows.decimated(), decimator.decimated(&chosen));
        assert_eq!(rows.rows(), 1000);
        assert!(matches!(
            sink.real_row(1e4, &[0.0]),
            Err(RecordError::WrongRow {
                expected: 3,
                found: 1
            })
        ));
    }
}
