//! Two results, where they differ most.

use std::collections::BTreeMap;

use crate::chart::{Curve, Figure, Panel};
use gyrator_record::{
    Column, ColumnComparison, ColumnType, Comparison, Decimated, Decimator, Interpolation, Series,
    Table, Tolerance,
};

use crate::plot::signals::BUCKETS;

/// Signals that are drawn, each with its deviation.
const SHOWN: usize = 4;

/// The signals that are furthest from the reference, over the tube of the tolerance, and their deviation in its own tube.
/// `names` are the names of the result and of the reference.
#[must_use]
pub fn comparison<'a>(
    (result, reference): (&'a Table, &'a Table),
    (result_name, reference_name): (&str, &str),
    found: &Comparison,
    tolerance: &Tolerance,
) -> Figure {
    let mut columns: Vec<(f64, &ColumnComparison, &[f64], &[f64])> = Vec::new();
    let (of_result, of_reference) = (result.by_name(), reference.by_name());
    for column in &found.columns {
        let numbers = |table: &BTreeMap<&str, &'a Series>| table.get(&*column.name)?.numbers();
        if let (Some(found), Some(expected)) = (numbers(&of_result), numbers(&of_reference)) {
            columns.push((
                badness(column, expected, tolerance),
                column,
                found,
                expected,
            ));
        }
    }
    // The first of equal ones stays first.
    columns.sort_by(|a, b| b.0.total_cmp(&a.0));
    let more = columns.len().saturating_sub(SHOWN);
    let panels = columns
        .iter()
        .take(SHOWN)
        .flat_map(|(_, column, found, expected)| {
            let drawn = Drawn {
                column,
                tolerance,
                reference,
                expected,
            };
            let values = drawn.panel((&result.time, found), (result_name, reference_name));
            [values, drawn.deviation((&result.time, found))]
        });
    let mut notes = Vec::new();
    if more > 0 {
        notes.push(format!("{more} more columns deviate less"));
    }
    if !found.missing.is_empty() {
        notes.push(format!("{result_name} lacks {}", found.missing.join(", ")));
    }
    let held = found.columns.iter().filter(|column| column.holds()).count();
    let all = found.columns.len() + found.missing.len();
    Figure {
        title: format!(
            "{result_name} against {reference_name}: {held} of {all} columns within tolerance"
        ),
        x: "time, s".to_owned(),
        panels: panels.collect(),
        has_decades: false,
        notes,
    }
}

/// How far a column is out of its tolerance: its greatest deviation over the widest half of the tube.
fn badness(column: &ColumnComparison, expected: &[f64], tolerance: &Tolerance) -> f64 {
    let finite = expected.iter().filter(|value| value.is_finite());
    let magnitude = finite.fold(0.0_f64, |most, value| most.max(value.abs()));
    let tube = half(tolerance, magnitude).max(f64::MIN_POSITIVE);
    let badness = column.max_absolute / tube;
    // Out of tolerance is worse than within, however small the values are there.
    if column.holds() {
        badness.min(1.0)
    } else {
        1.0 + badness
    }
}

fn half(tolerance: &Tolerance, value: f64) -> f64 {
    tolerance.absolute + tolerance.relative * value.abs()
}

/// A column of both tables.
struct Drawn<'a> {
    column: &'a ColumnComparison,
    tolerance: &'a Tolerance,
    reference: &'a Table,
    expected: &'a [f64],
}

impl Drawn<'_> {
    fn panel(&self, (time, found): (&[f64], &[f64]), (result, reference): (&str, &str)) -> Panel {
        let name = &self.column.name;
        let expected = points(&self.reference.time, self.expected);
        let tube = expected.iter().map(|(time, value)| {
            let half = half(self.tolerance, *value);
            (*time, value - half, value + half)
        });
        let reference = Curve {
            label: format!("{name} · {reference}"),
            band: tube.collect(),
            points: expected,
            ..Curve::default()
        };
        let found = Curve {
            label: format!("{name} · {result}"),
            points: points(time, found),
            ..Curve::default()
        };
        Panel {
            curves: vec![reference, found],
            ..Panel::default()
        }
    }

    /// The result less the reference, at the times of the reference.
    fn deviation(&self, (time, found): (&[f64], &[f64])) -> Panel {
        let times = &self.reference.time;
        let is_same = time == times;
        let deviation = |(row, now): (usize, &f64)| {
            let is_covered = time.first() <= Some(now) && Some(now) <= time.last();
            let value = match is_same {
                true => found[row],
                false if is_covered => Interpolation::Linear.value(time, found, *now),
                false => f64::NAN,
            };
            value - self.expected[row]
        };
        let deviations: Vec<f64> = times.iter().enumerate().map(deviation).collect();
        let tube = points(times, self.expected);
        let tube = tube.iter().map(|(time, value)| {
            let half = half(self.tolerance, *value);
            (*time, -half, half)
        });
        let first = self.column.first_out_of_tolerance;
        let curve = Curve {
            label: format!("{}: deviation, and the tolerance", self.column.name),
            band: tube.collect(),
            points: points(times, &deviations),
            ..Curve::default()
        };
        Panel {
            curves: vec![curve],
            missing: (
                first.into_iter().collect(),
                format!("first out of tolerance at {} s", first.unwrap_or_default()),
            ),
            ..Panel::default()
        }
    }
}

fn points(time: &[f64], values: &[f64]) -> Vec<(f64, f64)> {
    let mut decimator = Decimator::new(1, BUCKETS);
    decimator.push(time, &[values]);
    let described = [Column::new("", ColumnType::Real)];
    let decimated: Decimated = decimator.decimated(&described);
    decimated.points(0)
}

#[cfg(test)]
mod tests {
    use gyrator_record::{Values, compare};

    use super::*;

    fn table(columns: &[(&str, [f64; 3])]) -> Table {
        let series = columns.iter().map(|(name, values)| Series {
            name: (*name).to_owned(),
            unit: None,
            values: Values::Numbers(values.to_vec()),
        });
        Table {
            time: vec![0.0, 1.0, 2.0],
            series: series.collect(),
        }
    }

    #[test]
    fn the_worst_come_first_with_tube_and_deviation() {
        let names = ["a", "b", "c", "d", "e", "f"];
        let result: Vec<(&str, [f64; 3])> = names
            .iter()
            .enumerate()
            .map(|(k, name)| (*name, [1.0, 1.0 + k as f64 * 0.02, 1.0]))
            .collect();
        let reference: Vec<(&str, [f64; 3])> = names.iter().map(|name| (*name, [1.0; 3])).collect();
        let (result, reference) = (table(&result), table(&reference));
        let tolerance = Tolerance {
            relative: 0.05,
            absolute: 0.0,
            sample_shift: false,
        };
        let found = compare(&result, &reference, &tolerance);
        let figure = comparison((&result, &reference), ("one", "other"), &found, &tolerance);
        let labels: Vec<&str> = figure
            .panels
            .iter()
            .map(|panel| panel.curves[0].label.as_str())
            .collect();
        assert_eq!(labels[0], "f · other");
        assert_eq!(labels[1], "f: deviation, and the tolerance");
        assert_eq!((labels.len(), labels[6]), (8, "c · other"));
        assert_eq!(figure.panels[0].curves[0].band[0], (0.0, 0.95, 1.05));
        assert_eq!(figure.panels[1].curves[0].band[0], (0.0, -0.05, 0.05));
        assert_eq!(figure.panels[1].missing.0, [1.0]);
        assert!((figure.panels[1].curves[0].points[1].1 - 0.1).abs() < 1e-12);
        assert_eq!(figure.notes, ["2 more columns deviate less"]);
    }
}
