//! Signals as the page draws them.

use std::collections::BTreeMap;

use gyrator_record::Decimated;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::report::html::harmless;
use crate::report::packed::{packed, packed_times};
use crate::report::plots::{Signal, is_constant, is_empty, plots};
use crate::report::ranking::rank;

/// Values of all signals together that a page has at most: 2000 of each of 20 signals, which are 213 kB of base64.
const VALUES: usize = 40_000;

/// A signal is drawn by at least so many values, and by at most so many.
const LEAST: usize = 200;
const MOST: usize = 2000;

/// Plots that stand open; the others are folded away.
const FOREMOST: usize = 3;

/// The signals of a result that a page draws: every row of them, or the extremes of stretches of time, so that no peak
/// is lost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawing {
    times: Vec<f64>,
    signals: Vec<Signal>,
    rows: u64,
    is_exact: bool,
}

impl From<&Decimated> for Drawing {
    fn from(decimated: &Decimated) -> Self {
        let (times, columns) = decimated.aligned();
        let described = decimated.columns.iter().map(|column| &column.column);
        let signals = described.zip(columns).map(|(column, values)| Signal {
            name: column.name.clone(),
            unit: column.unit.clone(),
            values,
        });
        Self {
            times,
            signals: signals.collect(),
            rows: decimated.rows,
            is_exact: decimated.is_exact,
        }
    }
}

impl Drawing {
    /// Number of rows of the result.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The same with further columns, such as error bars; without them if they have other times.
    #[must_use]
    pub fn with(mut self, further: &Decimated) -> Self {
        let further = Self::from(further);
        if further.times == self.times {
            self.signals.extend(further.signals);
        }
        self
    }

    /// As JSON that [`read`](Self::read) reads.
    #[must_use]
    pub fn written(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Reads what [`written`](Self::written) has written; `None` if signals have not one value for each time.
    #[must_use]
    pub fn read(value: &Value) -> Option<Self> {
        let drawing = Self::deserialize(value).ok()?;
        let count = drawing.times.len();
        let mut signals = drawing.signals.iter();
        signals
            .all(|signal| signal.values.len() == count)
            .then_some(drawing)
    }

    /// The same, with units from a summary, by name, for columns that have none.
    #[must_use]
    pub fn with_units(mut self, summary: &Value) -> Self {
        let units = &summary["output"]["units"];
        for signal in &mut self.signals {
            if signal.unit.is_none() {
                signal.unit = units[&signal.name].as_str().map(str::to_owned);
            }
        }
        self
    }

    /// The number of stretches of time into which so many columns are decimated for a page: two values of each are
    /// drawn.
    #[must_use]
    pub fn stretches(columns: usize) -> usize {
        (VALUES / columns.max(1)).clamp(LEAST, MOST) / 2
    }

    /// The data that the script of the page draws: the times, and by plot its series, as compressed 32-bit floats, those of the
    /// summary's worst figures first; the signals that have one value all the time by their names.
    #[must_use]
    pub fn json(&self, summary: &Value) -> Value {
        let bars = self.signals.iter().filter_map(|signal| {
            let of = signal.name.strip_prefix("error.")?;
            Some((of, signal))
        });
        let bars: BTreeMap<&str, &Signal> = bars.rev().collect();
        let mut plots = plots(&self.signals);
        rank(&mut plots, &self.signals, summary);
        let plots = plots.into_iter().map(|plot| {
            let series = plot
                .signals
                .iter()
                .map(|&index| series(&self.signals[index], &bars));
            json!({
                "title": plot.title,
                "unit": plot.unit,
                "series": series.collect::<Vec<Value>>(),
            })
        });
        let constants = self
            .signals
            .iter()
            .filter(|signal| is_constant(&signal.values));
        let constants = constants.map(|signal| (harmless(&signal.name), json!(signal.values[0])));
        let is_bar = |name: &str| name.starts_with("error.");
        let empty = self
            .signals
            .iter()
            .filter(|signal| is_empty(&signal.values));
        let empty = empty
            .map(|signal| harmless(&signal.name))
            .filter(|name| !is_bar(name));
        json!({
            "rows": self.rows,
            "exact": self.is_exact,
            "time": packed_times(&self.times),
            "plots": plots.collect::<Vec<Value>>(),
            "foremost": FOREMOST,
            "empty": empty.collect::<Vec<String>>(),
            "constants": constants.collect::<Map<String, Value>>(),
        })
    }
}

/// A signal with its error bar, which stands under its name.
fn series(signal: &Signal, bars: &BTreeMap<&str, &Signal>) -> Value {
    let mut series = packed(&signal.values);
    series["name"] = json!(harmless(&signal.name));
    if let Some(unit) = &signal.unit {
        series["unit"] = json!(unit);
    }
    let bar = bars.get(signal.name.as_str());
    if let Some(bar) = bar.filter(|bar| bar.values.iter().any(|size| size.is_finite())) {
        series["error"] = packed(&bar.values);
    }
    series
}

#[cfg(test)]
mod tests {
    use gyrator_record::{Column, ColumnType, Decimator};

    use super::*;

    fn drawing(rows: usize, columns: &[&str], value: impl Fn(usize, usize) -> f64) -> Drawing {
        let mut decimator = Decimator::new(columns.len(), Drawing::stretches(columns.len()));
        let times: Vec<f64> = (0..rows).map(|row| row as f64).collect();
        let values: Vec<Vec<f64>> = (0..columns.len())
            .map(|column| (0..rows).map(|row| value(row, column)).collect())
            .collect();
        decimator.push(
            &times,
            &values.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        );
        let columns = columns
            .iter()
            .map(|name| Column::new(*name, ColumnType::Real));
        Drawing::from(&decimator.decimated(&columns.collect::<Vec<_>>()))
    }

    #[test]
    fn few_rows_are_drawn_as_they_are() {
        let json = drawing(
            3,
            &["a.x", "error.a.x", "a.k"],
            |row, column| match column {
                2 => 7.5,
                _ => row as f64,
            },
        )
        .json(&Value::Null);
        assert_eq!(
            (&json["exact"], &json["time"]["count"]),
            (&json!(true), &json!(3))
        );
        assert_eq!(json["plots"].as_array().unwrap().len(), 1);
        assert!(json["plots"][0]["series"][0]["error"].is_object(), "{json}");
        assert_eq!(json["constants"], json!({ "a.k": 7.5 }));
    }

    #[test]
    fn many_rows_are_drawn_by_their_extremes() {
        let json = drawing(50_000, &["a.x"], |row, _| (row % 7) as f64).json(&Value::Null);
        assert_eq!(json["exact"], false);
        let count = json["time"]["count"].as_u64().unwrap();
        assert!((1000..=2002).contains(&count), "{count}");
        assert_eq!(Drawing::stretches(40), 500);
    }

    #[test]
    fn a_drawing_is_read_as_it_was_written() {
        let drawing = drawing(4, &["a.x", "a.y"], |row, column| match (row, column) {
            (2, 1) => f64::NAN,
            _ => 0.1 * row as f64,
        });
        let mut written = drawing.written();
        let read = Drawing::read(&written).unwrap();
        assert_eq!(read.json(&Value::Null), drawing.json(&Value::Null));
        assert!(read.signals[1].values[2].is_nan());
        written["signals"][1]["values"]
            .as_array_mut()
            .unwrap()
            .pop();
        assert_eq!(Drawing::read(&written), None);
        assert_eq!(Drawing::read(&json!("drawing")), None);
    }

    #[test]
    fn signals_without_a_number_are_named() {
        let json = drawing(3, &["a.x", "error.a.x", "a.y"], |_, column| match column {
            0 | 1 => f64::NAN,
            _ => f64::INFINITY,
        })
        .json(&Value::Null);
        assert_eq!(json["plots"], json!([]));
        assert_eq!(json["constants"], json!({}));
        assert_eq!(json["empty"], json!(["a.x", "a.y"]));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(Drawing::default().json(&Value::Null)["plots"], json!([]));
        assert_eq!(
            drawing(0, &["a.x"], |_, _| 0.0).json(&Value::Null)["plots"],
            json!([])
        );
    }
}
