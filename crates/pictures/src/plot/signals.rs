//! Signals over time, by unit.

use std::collections::BTreeMap;

use crate::chart::{Curve, Figure, Panel};
use gyrator_record::{Column, ColumnType, Decimated};

use crate::plot::facts::Facts;
use crate::plot::selection::{BOND, ERROR, is_error, names, unit_of_bond};

/// Stretches of time of a drawn column: about two for each pixel.
pub const BUCKETS: usize = 2000;
/// Curves of a panel: more cannot be distinguished without colour.
const CURVES: usize = 6;
/// Signals that are drawn unless they are named.
const SIGNALS: usize = 12;
/// Columns of bonds that are drawn unless they are named.
const OF_BONDS: usize = 8;
/// Signals that are drawn at all; a picture of more cannot be read.
const MOST: usize = 60;
/// Signals share a panel as long as one moves no more than so many times further than another: smaller ones would be flat.
const SPREAD: f64 = 100.0;
/// A signal that moves by rounding only does not move.
const ROUNDING: f64 = 1e-12;

/// A run with its rows.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// Its name in the legend, if there are several.
    pub name: String,
    /// The columns that were chosen, error bars among them.
    pub rows: Decimated,
    /// The facts of its summary.
    pub facts: Facts,
}

/// One column, in all runs that have it.
struct Signal<'a> {
    column: &'a Column,
    unit: String,
    is_stepped: bool,
    /// How far it moves, and the greatest magnitude.
    span: f64,
    magnitude: f64,
}

/// The picture of one run, or of several over each other: the columns of the first one, as far as the others have them.
/// `is_named`: all are drawn, else those that move.
#[must_use]
pub fn figure(runs: &[Drawn], is_named: bool) -> Figure {
    let Some(first) = runs.first() else {
        return Figure::default();
    };
    let columns: Vec<Column> = first
        .rows
        .columns
        .iter()
        .map(|known| known.column.clone())
        .collect();
    let known = names(&columns);
    let means_errors = is_named && columns.iter().all(|column| column.name.starts_with(ERROR));
    let signals = columns.iter();
    let signals = signals.filter(|column| means_errors || !is_error(&known, &column.name));
    let places: Vec<BTreeMap<&str, usize>> = runs.iter().map(|run| run.rows.by_name()).collect();
    let mut signals: Vec<Signal<'_>> = signals
        .map(|column| Signal::new(column, runs, &places))
        .collect();
    let mut notes = Vec::new();
    if !is_named {
        let moves = |signal: &Signal<'_>| signal.span > ROUNDING * signal.magnitude;
        if signals.iter().any(moves) {
            signals.retain(moves);
        }
        let (mut bonds, mut others): (Vec<_>, Vec<_>) =
            signals.into_iter().partition(Signal::is_of_bond);
        notes.extend(leave_out(&mut others, SIGNALS, "signals"));
        notes.extend(leave_out(&mut bonds, OF_BONDS, "columns of bonds"));
        signals = others;
        signals.extend(bonds);
    } else {
        notes.extend(leave_out(&mut signals, MOST, "signals"));
    }
    for run in &runs[1..] {
        let is_missing = |signal: &&Signal<'_>| run.rows.column(&signal.column.name).is_none();
        let missing = signals.iter().filter(is_missing);
        let missing: Vec<&str> = missing.map(|signal| signal.column.name.as_str()).collect();
        if !missing.is_empty() {
            notes.push(format!("{} lacks {}", run.name, missing.join(", ")));
        }
    }
    let groups = grouped(signals, (CURVES / runs.len()).max(1));
    Figure {
        title: title(runs),
        x: "time, s".to_owned(),
        panels: groups.iter().map(|group| panel(group, runs)).collect(),
        has_decades: false,
        notes,
    }
}

fn leave_out(signals: &mut Vec<Signal<'_>>, most: usize, what: &str) -> Option<String> {
    let more = signals.len().saturating_sub(most);
    signals.truncate(most);
    (more > 0).then(|| format!("{more} more {what} are not drawn: name those that should be"))
}

fn title(runs: &[Drawn]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let names = names.join(", ");
    match (&runs[0].facts.verdict, runs.len()) {
        (Some(verdict), 1) => format!("{names}: coupling error {verdict}"),
        _ => names,
    }
}

impl<'a> Signal<'a> {
    /// `places` has the places of the columns of each run.
    fn new(column: &'a Column, runs: &[Drawn], places: &[BTreeMap<&str, usize>]) -> Self {
        let name = &column.name;
        let runs_and_places = runs.iter().zip(places);
        let ranges =
            runs_and_places.filter_map(|(run, places)| run.rows.range(*places.get(name.as_str())?));
        let (mut span, mut magnitude) = (0.0_f64, 0.0_f64);
        for (least, greatest) in ranges {
            span = span.max(greatest - least);
            magnitude = magnitude.max(least.abs()).max(greatest.abs());
        }
        let of_facts = runs.iter().find_map(|run| run.facts.units.get(name));
        let unit = column.unit.as_ref().or(of_facts).map(String::as_str);
        let of_type = runs.iter().find_map(|run| run.facts.types.get(name));
        Self {
            column,
            unit: unit.or(unit_of_bond(name)).unwrap_or_default().to_owned(),
            is_stepped: column.kind != ColumnType::Real || of_type.is_some(),
            span,
            magnitude,
        }
    }

    fn is_of_bond(&self) -> bool {
        self.column.name.starts_with(BOND)
    }

    /// Signals with the same axis share a panel: signals of one unit, or of the same name if no unit is known. Bonds
    /// are by themselves.
    fn axis(&self) -> (bool, &str) {
        let name = &self.column.name;
        let last = name
            .rsplit_once('.')
            .map_or(name.as_str(), |(_, last)| last);
        let axis = if self.unit.is_empty() {
            last
        } else {
            &self.unit
        };
        (self.is_of_bond(), axis)
    }
}

/// Signals by panel, each with at most so many.
fn grouped(signals: Vec<Signal<'_>>, most: usize) -> Vec<Vec<Signal<'_>>> {
    let mut groups: Vec<Vec<Signal<'_>>> = Vec::new();
    for signal in signals {
        let fits = |group: &&mut Vec<Signal<'_>>| {
            let is_similar = group.iter().all(|other| {
                let (less, more) = (signal.span.min(other.span), signal.span.max(other.span));
                less == 0.0 || more <= SPREAD * less
            });
            group.len() < most && group[0].axis() == signal.axis() && is_similar
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(signal),
            None => groups.push(vec![signal]),
        }
    }
    // Panels of one unit lie beside each other.
    let axes: Vec<(bool, String)> = groups
        .iter()
        .map(|group| {
            let (is_of_bond, axis) = group[0].axis();
            (is_of_bond, axis.to_owned())
        })
        .collect();
    groups.sort_by_key(|group| {
        let (is_of_bond, axis) = group[0].axis();
        axes.iter()
            .position(|(of_bond, known)| *of_bond == is_of_bond && known == axis)
    });
    groups
}

fn panel(group: &[Signal<'_>], runs: &[Drawn]) -> Panel {
    let curves = group.iter().flat_map(|signal| {
        runs.iter()
            .filter_map(move |run| curve(signal, run, runs.len() > 1))
    });
    Panel {
        y: group[0].unit.clone(),
        curves: curves.collect(),
        ..Panel::default()
    }
}

fn curve(signal: &Signal<'_>, run: &Drawn, has_others: bool) -> Option<Curve> {
    let name = &signal.column.name;
    let place = run.rows.column(name)?;
    let points = run.rows.points(place);
    let mut label = name.clone();
    if has_others {
        label = format!("{name} · {}", run.name);
    }
    if run.rows.range(place).is_none() {
        label.push_str(" (no numbers)");
    }
    Some(Curve {
        band: band(run, place, name, &points),
        label,
        points,
        is_stepped: signal.is_stepped,
        ..Curve::default()
    })
}

/// The tube of the error bars: the bars of each row, or the greatest one all along if only the summary has them.
fn band(run: &Drawn, place: usize, name: &str, points: &[(f64, f64)]) -> Vec<(f64, f64, f64)> {
    let Some(error) = run.rows.column(&format!("{ERROR}{name}")) else {
        let Some(error) = run.facts.errors.get(name) else {
            return Vec::new();
        };
        let tube = points
            .iter()
            .map(|(time, value)| (*time, value - error, value + error));
        return tube.collect();
    };
    let (times, columns) = run.rows.aligned();
    let (values, errors) = (&columns[place], &columns[error]);
    let row = |index: usize| {
        let error = errors[index].abs();
        (times[index], values[index] - error, values[index] + error)
    };
    if run.rows.is_exact || times.len() < 3 {
        return (0..times.len()).map(row).collect();
    }
    // Of the two values of a stretch, one is the least and one the greatest, of the signal as of its error.
    let inner = 1..times.len() - 1;
    let stretches = inner.step_by(2).flat_map(|index| {
        let (a, b) = (row(index), row(index + 1));
        let least = values[index].min(values[index + 1]);
        let greatest = values[index].max(values[index + 1]);
        let error = errors[index].abs().max(errors[index + 1].abs());
        let (least, greatest) = (least - error, greatest + error);
        [(a.0, least, greatest), (b.0, least, greatest)]
    });
    let mut band = vec![row(0)];
    band.extend(stretches);
    band.push(row(times.len() - 1));
    band
}

#[cfg(test)]
mod tests {
    use gyrator_record::Decimator;

    use super::*;

    /// A run of columns: name, unit, values.
    fn drawn(name: &str, columns: &[(&str, &str, &[f64])]) -> Drawn {
        let described = columns.iter().map(|(name, unit, _)| Column {
            unit: (!unit.is_empty()).then(|| (*unit).to_owned()),
            ..Column::new(*name, ColumnType::Real)
        });
        let described: Vec<Column> = described.collect();
        let times: Vec<f64> = (0..columns[0].2.len()).map(|row| row as f64).collect();
        let mut decimator = Decimator::new(columns.len(), 4);
        let values: Vec<&[f64]> = columns.iter().map(|column| column.2).collect();
        decimator.push(&times, &values);
        Drawn {
            name: name.to_owned(),
            rows: decimator.decimated(&described),
            facts: Facts::default(),
        }
    }

    fn labels(figure: &Figure) -> Vec<(&str, Vec<&str>)> {
        figure
            .panels
            .iter()
            .map(|panel| {
                let labels = panel.curves.iter().map(|curve| curve.label.as_str());
                (panel.y.as_str(), labels.collect())
            })
            .collect()
    }

    #[test]
    fn signals_of_a_unit_share_a_panel_and_constants_are_left_out() {
        let run = drawn(
            "run",
            &[
                ("a.x", "m", &[0.0, 1.0]),
                ("a.f", "N", &[0.0, 2.0]),
                ("b.x", "m", &[1.0, 2.0]),
                ("b.tiny", "m", &[1.0, 1.000001]),
                ("b.m", "kg", &[3.0, 3.0]),
                ("c.q", "", &[0.0, 1.0]),
                ("d.q", "", &[0.0, 1.0]),
                ("bond.b.residual_power", "", &[0.0, 1.0]),
            ],
        );
        let drawn = figure(std::slice::from_ref(&run), false);
        let expected = [
            ("m", vec!["a.x", "b.x"]),
            ("m", vec!["b.tiny"]),
            ("N", vec!["a.f"]),
            ("", vec!["c.q", "d.q"]),
            ("W", vec!["bond.b.residual_power"]),
        ];
        assert_eq!(labels(&drawn), expected);
        let named = figure(&[run], true);
        assert!(labels(&named).contains(&("kg", vec!["b.m"])));
    }

    #[test]
    fn runs_lie_over_each_other_and_what_one_lacks_is_said() {
        let one = drawn(
            "one",
            &[("a.x", "m", &[0.0, 1.0]), ("a.v", "m/s", &[0.0, 1.0])],
        );
        let other = drawn("other", &[("a.x", "m", &[0.0, 2.0])]);
        let figure = figure(&[one, other], false);
        assert_eq!(labels(&figure)[0], ("m", vec!["a.x · one", "a.x · other"]));
        assert_eq!(figure.notes, ["other lacks a.v"]);
    }

    #[test]
    fn error_bars_are_tubes_also_where_rows_are_many() {
        let values: Vec<f64> = (0..100).map(|row| f64::from(row % 10)).collect();
        let errors = vec![0.5; 100];
        let run = drawn("run", &[("a.x", "m", &values), ("error.a.x", "m", &errors)]);
        let drawn = figure(std::slice::from_ref(&run), false);
        assert_eq!(drawn.panels.len(), 1);
        let band = &drawn.panels[0].curves[0].band;
        let least = band
            .iter()
            .map(|point| point.1)
            .fold(f64::INFINITY, f64::min);
        let greatest = band
            .iter()
            .map(|point| point.2)
            .fold(f64::NEG_INFINITY, f64::max);
        assert_eq!((least, greatest), (-0.5, 9.5));
        // The summary's alone.
        let mut run = super::tests::drawn("run", &[("a.x", "m", &[0.0, 1.0])]);
        run.facts.errors.insert("a.x".to_owned(), 2.0);
        assert_eq!(
            figure(&[run], false).panels[0].curves[0].band,
            [(0.0, -2.0, 2.0), (1.0, -1.0, 3.0)]
        );
    }

    #[test]
    fn many_signals_are_left_out_with_a_note() {
        let names: Vec<String> = (0..20).map(|k| format!("c{k}.x")).collect();
        let columns: Vec<(&str, &str, &[f64])> = names
            .iter()
            .map(|name| (name.as_str(), "m", &[0.0, 1.0][..]))
            .collect();
        let figure = figure(&[drawn("run", &columns)], false);
        assert_eq!(
            figure
                .panels
                .iter()
                .map(|panel| panel.curves.len())
                .collect::<Vec<_>>(),
            [6, 6]
        );
        assert!(figure.notes[0].starts_with("8 more signals"));
    }
}
