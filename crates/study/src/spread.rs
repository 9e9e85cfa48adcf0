//! The spread of metrics over the cases of a study, beside their numerical errors.

use std::collections::BTreeMap;

use crate::cell::Column;
use crate::journal::RowText;
use crate::metrics::Quantity;
use crate::tally::{STOP_REASON, is_success};

/// The column of the greatest magnitude of the estimated error of a variable begins so.
const MAX_ERROR: &str = "max_error.";

/// A metric over the rows of a variant whose runs came to their end.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Spread {
    /// Its column.
    pub metric: String,
    /// The variant; `None` if the study has none.
    pub variant: Option<String>,
    /// Rows with a value.
    pub rows: usize,
    /// Mean of the values.
    pub mean: f64,
    /// Standard deviation of the values over the cases.
    pub spread: f64,
    /// Root mean square of the numerical errors of the values, each at its upper bound: the greatest error of the variable in
    /// the run. `None` if no run has an estimate.
    pub numerical_error: Option<f64>,
    /// Rows with a value but no estimate of its error.
    pub without_error: usize,
}

/// Sums over rows; the mean and the squared deviations by Welford (1962), which cancels nothing.
#[derive(Default)]
struct Sums {
    rows: usize,
    mean: f64,
    deviations: f64,
    errors: usize,
    squared_errors: f64,
}

impl Sums {
    fn add(&mut self, value: f64, error: Option<f64>) {
        self.rows += 1;
        let ahead = value - self.mean;
        self.mean += ahead / self.rows as f64;
        self.deviations += ahead * (value - self.mean);
        if let Some(error) = error {
            self.errors += 1;
            self.squared_errors += error * error;
        }
    }

    fn spread(&self, metric: &str, variant: Option<String>) -> Spread {
        let degrees = self.rows.saturating_sub(1).max(1);
        let mean_square = self.squared_errors / self.errors as f64;
        Spread {
            metric: metric.to_owned(),
            variant,
            rows: self.rows,
            mean: self.mean,
            spread: (self.deviations / degrees as f64).sqrt(),
            numerical_error: (self.errors > 0).then(|| mean_square.sqrt()),
            without_error: self.rows - self.errors,
        }
    }
}

/// The spread of all metrics of variables with estimated errors (`error_bars`), in the order of the columns. An error of a value,
/// of a least or greatest value and of a root mean square is at most the greatest error of the variable.
#[must_use]
pub fn spreads(columns: &[Column], rows: &BTreeMap<usize, RowText>) -> Vec<Spread> {
    let place = |name: &str| columns.iter().position(|column| column.name == name);
    let metrics: Vec<(usize, usize)> = columns
        .iter()
        .enumerate()
        .filter_map(|(place, column)| Some((place, error_of(&column.name, columns)?)))
        .collect();
    let (Some(stop_reason), false) = (place(STOP_REASON), metrics.is_empty()) else {
        return Vec::new();
    };
    // The key of the case could have the same name, but stands before.
    let variant = columns[..stop_reason]
        .iter()
        .rposition(|column| column.name == "variant");
    let mut variants: Vec<Option<String>> = Vec::new();
    let mut sums: Vec<Vec<Sums>> = Vec::new();
    for text in rows.values() {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(text.as_bytes());
        let Some(Ok(record)) = reader.records().next() else {
            continue;
        };
        if !record.get(stop_reason).is_some_and(is_success) {
            continue;
        }
        let name = variant
            .and_then(|place| record.get(place))
            .map(str::to_owned);
        let known = variants.iter().position(|known| *known == name);
        let index = known.unwrap_or_else(|| {
            variants.push(name);
            sums.push(metrics.iter().map(|_| Sums::default()).collect());
            variants.len() - 1
        });
        let number = |place: usize| {
            record
                .get(place)?
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite())
        };
        for (sums, (metric, error)) in sums[index].iter_mut().zip(&metrics) {
            if let Some(value) = number(*metric) {
                sums.add(value, number(*error));
            }
        }
    }
    let mut spreads = Vec::new();
    for (index, (metric, _)) in metrics.iter().enumerate() {
        let of_variants = variants.iter().zip(&sums);
        let of_variants = of_variants.filter(|(_, sums)| sums[index].rows > 0);
        spreads
            .extend(of_variants.map(|(variant, sums)| {
                sums[index].spread(&columns[*metric].name, variant.clone())
            }));
    }
    spreads
}

/// The column of the error of a metric; `None` if its variable has no estimate, or if it is not a value of the variable.
fn error_of(metric: &str, columns: &[Column]) -> Option<usize> {
    let is_of = |variable: &str| {
        Quantity::ALL.iter().any(|(key, quantity)| {
            let of_variable = format!("{key}.{variable}");
            let name = match quantity {
                _ if quantity.is_error() => return false,
                Quantity::Value => metric.split_once('@').map_or(metric, |(name, _)| name),
                _ => metric,
            };
            let group = name.strip_suffix(&of_variable);
            group.is_some_and(|group| group.is_empty() || group.ends_with('.'))
        })
    };
    columns.iter().position(|column| {
        let variable = column.name.strip_prefix(MAX_ERROR);
        variable.is_some_and(is_of)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::ColumnKind;

    #[test]
    fn metrics_are_beside_the_errors_of_their_variables() {
        let names = [
            "case",
            "left.m",
            "variant",
            STOP_REASON,
            "final.left.x",
            "late.rms.left.x",
            "value.left.x@0.5",
            "nrms.left.x",
            "final.left.xx",
            "error.left.x",
            "max_error.left.x",
        ];
        let columns = names.map(|name| Column::new(name, ColumnKind::Real));
        let rows = [
            "1,1,a,stop-time,1,10,5,0.1,7,0.01,0.3",
            "1,1,b,stop-time,8,10,5,0.1,7,0.01,",
            "2,2,a,stop-time,3,10,5,0.1,7,0.01,0.4",
            "3,3,a,failed,900,10,5,0.1,7,0.01,9",
            "4,4,a,stop-time,5,,5,0.1,7,0.01,",
        ];
        let rows = rows
            .iter()
            .map(|row| (*row).to_owned())
            .enumerate()
            .collect();
        let found = spreads(&columns, &rows);
        let names: Vec<&str> = found.iter().map(|spread| spread.metric.as_str()).collect();
        let expected = ["final.left.x", "late.rms.left.x", "value.left.x@0.5"];
        assert_eq!(names, expected.map(|name| [name; 2]).concat());
        // Of 1, 3 and 5; the root of (0.3² + 0.4²)/2.
        let first = Spread {
            metric: "final.left.x".to_owned(),
            variant: Some("a".to_owned()),
            rows: 3,
            mean: 3.0,
            spread: 2.0,
            numerical_error: Some(0.125_f64.sqrt()),
            without_error: 1,
        };
        assert_eq!(found[0], first);
        assert_eq!((found[1].spread, found[1].numerical_error), (0.0, None));
        assert_eq!(spreads(&columns[..10], &rows), []);
    }
}
