//! A result in memory, column by column.

use std::collections::BTreeMap;

use crate::heading::is_heading;
use crate::lookup::is_same_time;
use crate::sink::ColumnType;

/// Rows by column. All columns are as long as the time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Time of each row, s: never decreasing; equal times are the two sides of an event.
    pub time: Vec<f64>,
    /// The other columns.
    pub series: Vec<Series>,
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name, usually `component.variable`.
    pub name: String,
    /// Unit, if the file states one.
    pub unit: Option<String>,
    /// A value for each row.
    pub values: Values,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Reals; also integers, enumerations, and booleans as 0 and 1.
    Numbers(Vec<f64>),
    /// Strings.
    Text(Vec<String>),
}

impl Values {
    /// No values, as a column of this type has them.
    pub(crate) fn none(kind: ColumnType) -> Self {
        match kind {
            ColumnType::String => Self::Text(Vec::new()),
            _ => Self::Numbers(Vec::new()),
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Text(texts) => texts.len(),
        }
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends values; false if numbers meet texts.
    pub(crate) fn append(&mut self, more: &Self) -> bool {
        match (self, more) {
            (Self::Numbers(all), Self::Numbers(more)) => all.extend(more),
            (Self::Text(all), Self::Text(more)) => all.extend_from_slice(more),
            _ => return false,
        }
        true
    }
}

/// Why columns do not get other names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenameError {
    /// No column has this name.
    #[error("there is no column `{0}`")]
    Unknown(String),
    /// Two columns would have this name.
    #[error("two columns would be `{0}`")]
    Twice(String),
}

impl Series {
    /// The numbers, if the column has numbers.
    pub fn numbers(&self) -> Option<&[f64]> {
        match &self.values {
            Values::Numbers(numbers) => Some(numbers),
            Values::Text(_) => None,
        }
    }
}

impl Table {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }

    /// All columns by their names; each name is there once.
    #[must_use]
    pub fn by_name(&self) -> BTreeMap<&str, &Series> {
        let series = self.series.iter();
        series
            .map(|series| (series.name.as_str(), series))
            .collect()
    }

    /// Gives columns other names, pairs of old and new, all at once. The old one may be the heading with its unit.
    ///
    /// # Errors
    /// If a column is not there, or two would have one name.
    pub fn rename(&mut self, names: &[(String, String)]) -> Result<(), RenameError> {
        let place = |(old, _): &(String, String)| {
            let is_old = |series: &Series| is_heading(old, &series.name, series.unit.as_deref());
            let found = self.series.iter().position(is_old);
            found.ok_or_else(|| RenameError::Unknown(old.clone()))
        };
        let places: Vec<usize> = names.iter().map(place).collect::<Result<_, _>>()?;
        for (place, (_, new)) in places.into_iter().zip(names) {
            self.series[place].name.clone_from(new);
        }
        let is_there_twice = |new: &String| {
            let same = self.series.iter().filter(|series| series.name == *new);
            same.count() > 1
        };
        match names.iter().find(|(_, new)| is_there_twice(new)) {
            Some((_, new)) => Err(RenameError::Twice(new.clone())),
            None => Ok(()),
        }
    }

    /// Value of a continuous column at a time in s, on the straight line between its rows; after
    /// the event if two rows have this time. A time within a millionth of a step of a row is the
    /// row's. `None` for a time outside of the table, an unknown
    /// column or a column of text.
    pub fn interpolate(&self, name: &str, time: f64) -> Option<f64> {
        let numbers = self.column(name)?.numbers()?;
        Some(self.place(time, Side::After)?.interpolate(numbers))
    }

    /// The place of a time among the rows. A time that misses a row by rounding counts as the row's.
    pub(crate) fn place(&self, time: f64, side: Side) -> Option<Place> {
        let next = match side {
            Side::Before => self.time.partition_point(|row| *row < time),
            Side::After => self.time.partition_point(|row| *row <= time),
        };
        if side == Side::After && next > 0 && self.time[next - 1] == time {
            return Some(Place::at(next - 1));
        }
        if side == Side::Before && self.time.get(next) == Some(&time) {
            return Some(Place::at(next));
        }
        self.between(next, time, side)
    }

    /// The place of a time that lies before row `next` and after the row before it.
    fn between(&self, next: usize, time: f64, side: Side) -> Option<Place> {
        let step = |row: usize| {
            self.time
                .get(row + 1)
                .zip(self.time.get(row))
                .map(|(b, a)| b - a)
        };
        // Of rows with the same time, the side decides.
        let snap = |row: usize| self.place(self.time[row], side);
        if next == 0 {
            let first = *self.time.first()?;
            return if is_same_time(first, time, step(0)?) {
                snap(0)
            } else {
                None
            };
        }
        let row = next - 1;
        let Some(step) = step(row) else {
            let last_step = step(row.checked_sub(1)?)?;
            return if is_same_time(time, self.time[row], last_step) {
                snap(row)
            } else {
                None
            };
        };
        if is_same_time(time, self.time[row], step) {
            snap(row)
        } else if is_same_time(time, self.time[next], step) {
            snap(next)
        } else {
            let fraction = (time - self.time[row]) / step;
            Some(Place { row, fraction })
        }
    }
}

/// Which of two rows with the same time is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// A time among the rows of a table: a row, and how far it is on the way to the next one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) row: usize,
    pub(crate) fraction: f64,
}

impl Place {
    fn at(row: usize) -> Self {
        Self { row, fraction: 0.0 }
    }

    pub(crate) fn interpolate(self, numbers: &[f64]) -> f64 {
        let here = numbers[self.row];
        if self.fraction == 0.0 {
            return here;
        }
        here + self.fraction * (numbers[self.row + 1] - here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_renamed_all_at_once() {
        let series = |name: &str| Series {
            name: name.to_owned(),
            unit: None,
            values: Values::Numbers(Vec::new()),
        };
        let table = Table {
            time: Vec::new(),
            series: vec![series("a"), series("b"), series("c")],
        };
        let renamed = |names: &[(&str, &str)]| {
            let own = names.iter().map(|(a, b)| ((*a).into(), (*b).into()));
            let own: Vec<(String, String)> = own.collect();
            let mut table = table.clone();
            let names = |table: Table| table.series.into_iter().map(|series| series.name);
            table.rename(&own)?;
            Ok(names(table).collect::<Vec<_>>())
        };
        let texts = |texts: [&str; 3]| Ok(texts.map(str::to_owned).to_vec());
        assert_eq!(renamed(&[("a", "b"), ("b", "a")]), texts(["b", "a", "c"]));
        assert_eq!(
            renamed(&[("d", "e")]),
            Err(RenameError::Unknown("d".into()))
        );
        assert_eq!(renamed(&[("a", "c")]), Err(RenameError::Twice("c".into())));
    }
}
