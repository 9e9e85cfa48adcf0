//! Rows that are decimated as they come, for a picture of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::decimated::{Decimated, Decimator};
use crate::sink::{Cell, Column, RecordError, RowSink};

/// Rows that go to the decimator at a time.
const BLOCK: usize = 1024;

/// Chooses columns by their places, each at most once.
type Choose = Box<dyn Fn(&[Column]) -> Vec<usize> + Send>;

/// Keeps as much of the rows of a run as a picture can show; see [`Decimated`]. A column of texts has gaps only. Clones share the rows.
#[derive(Clone)]
pub struct DecimatingSink {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    choose: Choose,
    /// Stretches of time at most, by the number of columns that are chosen.
    stretches: fn(usize) -> usize,
    buckets: usize,
    /// For each column of the rows its place among the chosen ones.
    places: Vec<Option<usize>>,
    /// The chosen columns, and columns that were added.
    columns: Vec<Column>,
    decimator: Decimator,
    /// Rows that wait: their times, and each column.
    time: Vec<f64>,
    waiting: Vec<Vec<f64>>,
    /// The times of all rows, if columns are added later.
    times: Option<Vec<f64>>,
    rows: u64,
}

impl DecimatingSink {
    /// For the columns whose places `choose` returns, in at most as many stretches of time as `stretches` gives for their number;
    /// see [`Decimator::new`].
    pub fn new(
        choose: impl Fn(&[Column]) -> Vec<usize> + Send + 'static,
        stretches: fn(usize) -> usize,
    ) -> Self {
        let shared = Shared {
            choose: Box::new(choose),
            stretches,
            buckets: 1,
            places: Vec::new(),
            columns: Vec::new(),
            decimator: Decimator::new(0, 1),
            time: Vec::with_capacity(BLOCK),
            waiting: Vec::new(),
            times: None,
            rows: 0,
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// For all columns, in the same number of stretches.
    #[must_use]
    pub fn of_all(stretches: fn(usize) -> usize) -> Self {
        Self::new(|columns| (0..columns.len()).collect(), stretches)
    }

    /// Also takes columns by [`add_columns`](RowSink::add_columns): the times of all rows are kept for them.
    #[must_use]
    pub fn takes_columns(self) -> Self {
        self.lock().times = Some(Vec::new());
        self
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
        let chosen = (shared.choose)(columns);
        shared.places = vec![None; columns.len()];
        for (place, column) in chosen.iter().enumerate() {
            shared.places[*column] = Some(place);
        }
        shared.columns = chosen
            .iter()
            .map(|column| columns[*column].clone())
            .collect();
        shared.buckets = (shared.stretches)(chosen.len());
        shared.decimator = Decimator::new(chosen.len(), shared.buckets);
        shared.waiting = chosen.iter().map(|_| Vec::with_capacity(BLOCK)).collect();
        Ok(())
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        let mut shared = self.lock();
        let shared = &mut *shared;
        let rows = shared.time.len();
        let expected = shared.places.len();
        let mut found = 0;
        for cell in cells {
            found += 1;
            let Some(place) = shared.places.get(found - 1) else {
                break;
            };
            if let Some(place) = place {
                shared.waiting[*place].push(match cell {
                    Cell::Real(number) => number,
                    Cell::Integer(number) => number as f64,
                    Cell::Boolean(boolean) => f64::from(u8::from(boolean)),
                    Cell::String(_) => f64::NAN,
                });
            }
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

    /// The same as of all rows at once, for chosen columns of any type.
    #[test]
    fn chosen_columns_are_decimated_as_their_rows_come() {
        let columns = [
            Column::new("a", ColumnType::Real),
            Column::new("b", ColumnType::Boolean),
            Column::new("c", ColumnType::String),
        ];
        let mut sink = DecimatingSink::new(|_| vec![1, 0], |_| 10);
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
    }

    #[test]
    fn rows_are_decimated_and_columns_join_them() {
        let mut sink = DecimatingSink::of_all(|_| 10).takes_columns();
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
        // The greatest value at a time is the least of the negative.
        assert!(
            columns[0]
                .iter()
                .zip(&columns[3])
                .all(|(x, error)| *x == -error)
        );
    }
}
