//! Rows that are decimated as they come, for a picture of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::decimated::{Decimated, Decimator};
use crate::sink::{Cell, Column, RecordError, RowSink};

/// Rows that go to the decimator at a time.
const BLOCK: usize = 1024;

/// Keeps as much of the rows of a run as a picture can show; see [`Decimated`]. A column of texts has gaps only. Clones share the rows.
#[derive(Debug, Clone)]
pub struct DecimatingSink {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    buckets: usize,
    columns: Vec<Column>,
    decimator: Decimator,
    /// Rows that wait: their times, and each column.
    time: Vec<f64>,
    waiting: Vec<Vec<f64>>,
    /// The times of all rows, where columns are added later.
    times: Option<Vec<f64>>,
    rows: u64,
}

impl DecimatingSink {
    /// For at most so many stretches of time; `takes_columns`: [`add_columns`](RowSink::add_columns) adds some, for which the
    /// times of all rows are kept.
    #[must_use]
    pub fn new(buckets: usize, takes_columns: bool) -> Self {
        let shared = Shared {
            buckets,
            columns: Vec::new(),
            decimator: Decimator::new(0, buckets),
            time: Vec::with_capacity(BLOCK),
            waiting: Vec::new(),
            times: takes_columns.then(Vec::new),
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
    /// Gives the rows that wait to the decimator.
    fn hand_over(&mut self) {
        self.decimator.push(&self.time, &self.waiting);
        self.time.clear();
        self.waiting.iter_mut().for_each(Vec::clear);
    }
}

impl RowSink for DecimatingSink {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        let mut shared = self.lock();
        shared.columns = columns.to_vec();
        shared.decimator = Decimator::new(columns.len(), shared.buckets);
        shared.waiting = columns.iter().map(|_| Vec::with_capacity(BLOCK)).collect();
        Ok(())
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        let mut shared = self.lock();
        let rows = shared.time.len();
        let expected = shared.waiting.len();
        let mut found = 0;
        for cell in cells {
            found += 1;
            let Some(column) = shared.waiting.get_mut(found - 1) else {
                break;
            };
            column.push(match cell {
                Cell::Real(number) => number,
                Cell::Integer(number) => number as f64,
                Cell::Boolean(boolean) => f64::from(u8::from(boolean)),
                Cell::String(_) => f64::NAN,
            });
        }
        if found != expected {
            shared
                .waiting
                .iter_mut()
                .for_each(|column| column.truncate(rows));
            return Err(RecordError::WrongRow { expected, found });
        }
        shared.time.push(time);
        if let Some(times) = &mut shared.times {
            times.push(time);
        }
        shared.rows += 1;
        if shared.time.len() == BLOCK {
            shared.hand_over();
        }
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

    fn add_columns(&mut self, columns: &[Column], values: &[&[f64]]) -> Result<bool, RecordError> {
        let mut shared = self.lock();
        shared.hand_over();
        let Some(times) = shared.times.take() else {
            return Ok(false);
        };
        if let Some(wrong) = values.iter().find(|values| values.len() != times.len()) {
            let (expected, found) = (times.len(), wrong.len());
            return Err(RecordError::WrongRow { expected, found });
        }
        // The same times have the same stretches.
        let mut decimator = Decimator::new(columns.len(), shared.buckets);
        decimator.push(&times, values);
        shared.decimator.join(decimator);
        shared.columns.extend_from_slice(columns);
        shared.waiting.extend(columns.iter().map(|_| Vec::new()));
        Ok(true)
    }

    fn rows(&self) -> u64 {
        self.lock().rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::ColumnType;

    #[test]
    fn rows_are_decimated_and_columns_join_them() {
        let mut sink = DecimatingSink::new(10, true);
        let columns = ["x", "n", "s"].map(|name| Column::new(name, ColumnType::Real));
        sink.begin(&columns).unwrap();
        let count = 5000;
        for row in 0..count {
            let cells = [
                Cell::Real(row as f64),
                Cell::Integer(row % 7),
                Cell::String("a"),
            ];
            sink.row(row as f64 * 0.1, &mut cells.into_iter()).unwrap();
        }
        let wrong = sink.row(1e3, &mut [Cell::Real(0.0)].into_iter());
        assert!(matches!(
            wrong,
            Err(RecordError::WrongRow {
                expected: 3,
                found: 1
            })
        ));
        let errors: Vec<f64> = (0..count).map(|row| -(row as f64)).collect();
        let added = [Column::new("error.x", ColumnType::Real)];
        assert!(sink.add_columns(&added, &[&errors]).unwrap());
        let decimated = sink.decimated();
        assert_eq!((decimated.rows, sink.rows()), (5000, 5000));
        assert_eq!(decimated.range(0), Some((0.0, 4999.0)));
        assert_eq!(decimated.range(1), Some((0.0, 6.0)));
        assert_eq!(decimated.range(2), None);
        assert_eq!(decimated.range(3), Some((-4999.0, 0.0)));
        let (times, columns) = decimated.aligned();
        assert!(columns.iter().all(|column| column.len() == times.len()));
        // What is the greatest at a time is the least of the negative.
        assert!(
            columns[0]
                .iter()
                .zip(&columns[3])
                .all(|(x, error)| *x == -error)
        );
    }
}
