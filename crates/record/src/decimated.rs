//! As much of a result as a picture can show: the extremes of each stretch of time.

use std::collections::BTreeMap;

use crate::read_error::ReadTableError;
use crate::result_file::ResultFile;
use crate::sink::Column;
use crate::table::Values;

/// Columns of a result with few rows, or the extremes of their values in stretches of time of equal length, so that no
/// peak is lost. All numbers in it are numbers of the result. A number that is not finite is a gap.
#[derive(Debug, Clone, PartialEq)]
pub struct Decimated {
    /// The columns, in the order in which they were asked for.
    pub columns: Vec<DecimatedColumn>,
    /// Number of rows of the result.
    pub rows: u64,
    /// Whether every row is there.
    pub is_exact: bool,
    /// Times of the first and of the last row, s; 0 without rows.
    pub span: (f64, f64),
    times: Vec<f64>,
    stretches: Stretches,
}

/// One column, decimated.
#[derive(Debug, Clone, PartialEq)]
pub struct DecimatedColumn {
    /// Name, type and unit.
    pub column: Column,
    kept: Kept,
}

/// A number of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extreme {
    /// Its row, from 0.
    pub row: u64,
    /// The row's time, s.
    pub time: f64,
    /// The number; NaN for a gap.
    pub value: f64,
}

/// Stretches of time that begin at `from`; stretch k ends before `from + (k + 1)·width`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Stretches {
    from: f64,
    /// 0 as long as all rows are kept.
    width: f64,
}

impl Stretches {
    /// Saturates, so that no time is without a stretch.
    fn index(&self, time: f64) -> usize {
        ((time - self.from) / self.width) as usize
    }
}

/// The kept points of a column.
#[derive(Debug, Clone, Default, PartialEq)]
struct Kept {
    /// All numbers, as long as there are few.
    rows: Vec<f64>,
    /// Then its extremes by stretch.
    buckets: Vec<Bucket>,
    first: Option<Extreme>,
    last: Option<Extreme>,
}

/// The extremes of one column in one stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bucket {
    least: Option<Extreme>,
    greatest: Option<Extreme>,
    /// The first number that is not finite.
    gap: Option<Extreme>,
}

/// Decimates rows as they come; see [`Decimated`]. The result does not depend on how many come at a time.
#[derive(Debug, Clone)]
pub struct Decimator {
    limit: usize,
    times: Vec<f64>,
    stretches: Stretches,
    kept: Vec<Kept>,
    rows: u64,
    span: (f64, f64),
}

impl Decimator {
    /// For this number of columns, with at most `buckets` stretches of time, at least one; as long as there are at
    /// most twice as many rows, all are kept.
    #[must_use]
    pub fn new(columns: usize, buckets: usize) -> Self {
        Self {
            limit: buckets.max(1),
            times: Vec::new(),
            stretches: Stretches::default(),
            kept: vec![Kept::default(); columns],
            rows: 0,
            span: (0.0, 0.0),
        }
    }

    /// Takes further rows: their times, s, which never decrease, and as many numbers of each column.
    ///
    /// # Panics
    ///
    /// If there is another number of columns, or they have other lengths.
    pub fn push<C: AsRef<[f64]>>(&mut self, time: &[f64], columns: &[C]) {
        assert_eq!(columns.len(), self.kept.len(), "number of columns");
        let mut lengths = columns.iter().map(|column| column.as_ref().len());
        let is_whole = lengths.all(|length| length == time.len());
        assert!(is_whole, "numbers of a column");
        let (Some(first), Some(last)) = (time.first(), time.last()) else {
            return;
        };
        if self.rows == 0 {
            self.span.0 = *first;
        }
        let mut start = 0;
        if self.stretches.width == 0.0 {
            start = time.len().min(2 * self.limit - self.times.len());
            self.keep(&time[..start], columns);
            if start < time.len() {
                self.begin_stretches();
            }
        }
        while start < time.len() {
            start = self.gather(start, time, columns);
        }
        self.rows += time.len() as u64;
        self.span.1 = *last;
    }

    /// Keeps rows as they are.
    fn keep<C: AsRef<[f64]>>(&mut self, time: &[f64], columns: &[C]) {
        self.times.extend_from_slice(time);
        for (kept, column) in self.kept.iter_mut().zip(columns) {
            kept.rows.extend_from_slice(&column.as_ref()[..time.len()]);
        }
    }

    /// Goes over from rows to stretches.
    fn begin_stretches(&mut self) {
        let times = std::mem::take(&mut self.times);
        let (from, to) = (times[0], times[times.len() - 1]);
        // Times that are all the same, or too far apart for a number, have stretches of any width.
        let width = (to - from) / self.limit as f64;
        let is_width = width.is_normal();
        self.stretches = Stretches {
            from,
            width: if is_width { width } else { f64::MIN_POSITIVE },
        };
        let all = self.kept.iter_mut();
        let all: Vec<Vec<f64>> = all.map(|kept| std::mem::take(&mut kept.rows)).collect();
        let rows = std::mem::replace(&mut self.rows, 0);
        let mut start = 0;
        while start < times.len() {
            start = self.gather(start, &times, &all);
        }
        self.rows = rows;
    }

    /// Takes the rows from `start` on that are in one stretch, and returns the row after them.
    fn gather<C: AsRef<[f64]>>(&mut self, start: usize, time: &[f64], columns: &[C]) -> usize {
        let mut index = self.stretches.index(time[start]);
        while index >= self.limit {
            self.widen();
            index = self.stretches.index(time[start]);
        }
        let rest = &time[start..];
        let count = rest.partition_point(|time| self.stretches.index(*time) <= index);
        let rows = start..start + count;
        for (kept, column) in self.kept.iter_mut().zip(columns) {
            let column = column.as_ref();
            if kept.buckets.len() <= index {
                kept.buckets.resize(index + 1, Bucket::default());
            }
            let at = |row: usize| Extreme {
                row: self.rows + row as u64,
                time: time[row],
                value: column[row],
            };
            let bucket = Bucket::of(rows.clone(), column, at);
            kept.buckets[index] = kept.buckets[index].and(&bucket);
            kept.first.get_or_insert_with(|| at(start));
            kept.last = Some(at(rows.end - 1));
        }
        rows.end
    }

    /// Makes stretches of twice the width.
    fn widen(&mut self) {
        self.stretches.width *= 2.0;
        for kept in &mut self.kept {
            let pairs = kept.buckets.chunks(2);
            let pairs = pairs.map(|pair| pair.iter().fold(Bucket::default(), Bucket::and));
            kept.buckets = pairs.collect();
        }
    }

    /// Adds the columns of another one, which has taken rows of the same times.
    pub(crate) fn join(&mut self, other: Self) {
        self.kept.extend(other.kept);
    }

    /// The rows so far; `columns` describes each of them.
    #[must_use]
    pub fn decimated(&self, columns: &[Column]) -> Decimated {
        let columns = columns.iter().cloned().zip(self.kept.iter().cloned());
        Decimated {
            columns: columns
                .map(|(column, kept)| DecimatedColumn { column, kept })
                .collect(),
            rows: self.rows,
            is_exact: self.stretches.width == 0.0,
            span: self.span,
            times: self.times.clone(),
            stretches: self.stretches,
        }
    }
}

impl Bucket {
    fn of(rows: std::ops::Range<usize>, column: &[f64], at: impl Fn(usize) -> Extreme) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut least, mut greatest, mut gap) = (None, None, None);
        for row in rows {
            let value = column[row];
            if !value.is_finite() {
                gap = gap.or(Some(row));
                continue;
            }
            if value < low {
                (low, least) = (value, Some(row));
            }
            if value > high {
                (high, greatest) = (value, Some(row));
            }
        }
        Self {
            least: least.map(&at),
            greatest: greatest.map(&at),
            gap: gap.map(&at),
        }
    }

    /// Of both stretches; the other is the later one.
    fn and(self, other: &Self) -> Self {
        let better = |one: Option<Extreme>,
                      other: Option<Extreme>,
                      is_better: fn(f64, f64) -> bool| match (one, other) {
            (Some(one), Some(other)) if is_better(other.value, one.value) => Some(other),
            (one, other) => one.or(other),
        };
        Self {
            least: better(self.least, other.least, |a, b| a < b),
            greatest: better(self.greatest, other.greatest, |a, b| a > b),
            gap: self.gap.or(other.gap),
        }
    }

    /// In the order of the rows, each row once.
    fn extremes(&self) -> impl Iterator<Item = Extreme> {
        let greatest = self.greatest.filter(|_| self.greatest != self.least);
        let mut extremes = [self.least, greatest, self.gap];
        extremes.sort_by_key(|extreme| extreme.map(|extreme| extreme.row));
        extremes.into_iter().flatten()
    }
}

/// All times, for [`Decimated::read`].
pub const ALL_TIMES: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

impl Decimated {
    /// Reads columns, places in [`ResultFile::columns`], in one pass, from one time until another, s, both included; see [`Decimator::new`]
    /// for `buckets`. A column of texts has gaps only.
    ///
    /// # Errors
    ///
    /// [`ReadTableError`].
    ///
    /// # Panics
    ///
    /// If a place has no column.
    pub fn read(
        file: &ResultFile,
        columns: &[usize],
        buckets: usize,
        (from, until): (f64, f64),
    ) -> Result<Self, ReadTableError> {
        let mut decimator = Decimator::new(columns.len(), buckets);
        let mut blocks = file.blocks(columns)?;
        let mut gaps = Vec::new();
        while let Some(block) = blocks.next_block()? {
            gaps.resize(block.time.len(), f64::NAN);
            let first = block.time.partition_point(|time| *time < from);
            let rows = first..block.time.partition_point(|time| *time <= until).max(first);
            let numbers = block.columns.iter().map(|values| match values {
                Values::Numbers(numbers) => &numbers[rows.clone()],
                Values::Text(_) => &gaps[rows.clone()],
            });
            let numbers: Vec<&[f64]> = numbers.collect();
            decimator.push(&block.time[rows.clone()], &numbers);
        }
        let described = columns.iter().map(|place| file.columns()[*place].clone());
        Ok(decimator.decimated(&described.collect::<Vec<_>>()))
    }

    /// These columns alone, in this order.
    ///
    /// # Panics
    ///
    /// If a place has no column.
    #[must_use]
    pub fn select(mut self, columns: &[usize]) -> Self {
        let chosen = columns.iter().map(|place| self.columns[*place].clone());
        self.columns = chosen.collect();
        self
    }

    /// The place in [`columns`](Self::columns) of a name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|column| column.column.name == name)
    }

    /// The places of all columns by their names.
    #[must_use]
    pub fn by_name(&self) -> BTreeMap<&str, usize> {
        // Of columns of one name the first counts.
        let columns = self.columns.iter().enumerate().rev();
        columns
            .map(|(place, column)| (column.column.name.as_str(), place))
            .collect()
    }

    /// Time, s, and value of each row that is kept of a column, in the order of the rows, with the first and the last
    /// one; NaN is a gap.
    ///
    /// # Panics
    ///
    /// If the column does not exist.
    #[must_use]
    pub fn points(&self, column: usize) -> Vec<(f64, f64)> {
        let finite = |value: f64| if value.is_finite() { value } else { f64::NAN };
        let kept = &self.columns[column].kept;
        if self.is_exact {
            let rows = self.times.iter().zip(&kept.rows);
            return rows.map(|(time, value)| (*time, finite(*value))).collect();
        }
        let mut extremes: Vec<Extreme> = kept.first.into_iter().collect();
        extremes.extend(kept.buckets.iter().flat_map(Bucket::extremes));
        extremes.extend(kept.last);
        extremes.dedup_by_key(|extreme| extreme.row);
        let points = extremes.iter();
        points
            .map(|extreme| (extreme.time, finite(extreme.value)))
            .collect()
    }

    /// Least and greatest finite number of a column; `None` if it has none.
    ///
    /// # Panics
    ///
    /// If the column does not exist.
    #[must_use]
    pub fn range(&self, column: usize) -> Option<(f64, f64)> {
        let values = self.points(column).into_iter().map(|(_, value)| value);
        let values = values.filter(|value| !value.is_nan());
        values.fold(None, |range, value| {
            let (least, greatest) = range.unwrap_or((value, value));
            Some((least.min(value), greatest.max(value)))
        })
    }

    /// All columns over the same times, s: every row, or the first row, two values for each stretch of time with rows, and
    /// the last row. These are the extremes of the stretch in their order, at a quarter and at three quarters of it; NaN
    /// if a column has no finite number there. Only these times are not the result's.
    #[must_use]
    pub fn aligned(&self) -> (Vec<f64>, Vec<Vec<f64>>) {
        if self.is_exact {
            let columns = self.columns.iter().map(|column| column.kept.rows.clone());
            return (self.times.clone(), columns.collect());
        }
        let count = self.columns.first();
        let count = count.map_or(0, |column| column.kept.buckets.len());
        let is_filled = |stretch: &usize| {
            let bucket = self.columns[0].kept.buckets[*stretch];
            bucket.extremes().next().is_some()
        };
        let filled: Vec<usize> = (0..count).filter(is_filled).collect();
        let Stretches { from, width } = self.stretches;
        let within = |stretch: &usize| {
            [0.25, 0.75].map(|part| (from + (*stretch as f64 + part) * width).min(self.span.1))
        };
        let mut times = vec![self.span.0];
        times.extend(filled.iter().flat_map(within));
        times.push(self.span.1);
        let value = |extreme: Option<Extreme>| extreme.map_or(f64::NAN, |extreme| extreme.value);
        let columns = self.columns.iter().map(|DecimatedColumn { kept, .. }| {
            let mut values = vec![value(kept.first)];
            values.extend(filled.iter().flat_map(|stretch| {
                let Bucket {
                    least, greatest, ..
                } = kept.buckets[*stretch];
                let row = |extreme: Option<Extreme>| extreme.map(|extreme| extreme.row);
                let (a, b) = match row(least) <= row(greatest) {
                    true => (least, greatest),
                    false => (greatest, least),
                };
                [value(a), value(b)]
            }));
            values.push(value(kept.last));
            values
        });
        (times, columns.collect())
    }
}

#[cfg(test)]
mod tests;
