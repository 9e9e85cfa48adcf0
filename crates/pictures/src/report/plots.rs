//! Signals, and which of them share a plot.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::report::html::harmless;

/// Most signals of a plot: more cannot be distinguished without colour.
const MOST: usize = 4;

/// Signals share a plot if the ranges that they need differ by this factor at most: each still takes a tenth of the
/// height.
const RANGES: f64 = 10.0;

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Signal {
    /// Name of the column. `error.NAME` is the error bar of the column `NAME`, and drawn around it.
    pub(crate) name: String,
    /// Unit of measure.
    pub(crate) unit: Option<String>,
    /// Its values; one that is not finite is a gap.
    #[serde(with = "gaps")]
    pub(crate) values: Vec<f64>,
}

/// Numbers that may be missing, which JSON has as null.
mod gaps {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        // Not finite is null.
        values.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(from)?;
        Ok(values
            .into_iter()
            .map(|value| value.unwrap_or(f64::NAN))
            .collect())
    }
}

/// Signals in one plot, by their places.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) unit: Option<String>,
    pub(crate) signals: Vec<usize>,
    span: (f64, f64),
}

/// The plots of the signals that move, in the order of these; error bars belong to the plot of their signal.
pub(crate) fn plots(signals: &[Signal]) -> Vec<Plot> {
    let mut plots: Vec<Plot> = Vec::new();
    let mut by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let names: BTreeSet<&str> = signals.iter().map(|signal| signal.name.as_str()).collect();
    for (index, signal) in signals.iter().enumerate() {
        let is_bar = signal.name.strip_prefix("error.");
        let is_drawn = is_bar.is_none_or(|of| !names.contains(of));
        let Some(span) = span(&signal.values).filter(|_| is_drawn && !is_constant(&signal.values))
        else {
            continue;
        };
        let (title, unit) = subject(signal);
        let key = format!("{title}\n{}", unit.as_deref().unwrap_or_default());
        let of_key = by_key.entry(key).or_default();
        let fits = |place: &&usize| {
            let plot = &plots[**place];
            plot.signals.len() < MOST && is_alike(plot.span, span)
        };
        if let Some(place) = of_key.iter().find(fits) {
            let plot = &mut plots[*place];
            plot.signals.push(index);
            plot.span = joined(plot.span, span);
            continue;
        }
        of_key.push(plots.len());
        plots.push(Plot {
            title,
            unit,
            signals: vec![index],
            span,
        });
    }
    plots
}

/// Whether a signal has one value all the time.
pub(crate) fn is_constant(values: &[f64]) -> bool {
    values.len() > 1 && values[0].is_finite() && values.iter().all(|value| *value == values[0])
}

/// Whether a signal has no number, of which nothing can be drawn.
pub(crate) fn is_empty(values: &[f64]) -> bool {
    span(values).is_none()
}

/// Least and greatest value; `None` if no value is finite.
fn span(values: &[f64]) -> Option<(f64, f64)> {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    finite.map(|value| (value, value)).reduce(joined)
}

fn joined(one: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    (one.0.min(other.0), one.1.max(other.1))
}

/// Whether each of two spans shows beside the other.
fn is_alike(one: (f64, f64), other: (f64, f64)) -> bool {
    let both = joined(one, other);
    let size = |(least, greatest): (f64, f64)| greatest - least;
    size(both) <= RANGES * size(one) && size(both) <= RANGES * size(other)
}

/// The quantity of a signal, and its unit: signals with equal ones may share a plot.
fn subject(signal: &Signal) -> (String, Option<String>) {
    let of_bond = signal
        .name
        .strip_prefix("bond.")
        .and_then(|name| name.rsplit_once('.'));
    let Some((bond, quantity)) = of_bond else {
        let variable = signal
            .name
            .split_once('.')
            .map_or(&*signal.name, |(_, variable)| variable);
        let title = if signal.unit.is_some() { "" } else { variable };
        return (harmless(title), signal.unit.clone());
    };
    let (what, unit) = match quantity {
        "transferred_energy" => ("transferred energy", Some("J")),
        quantity if quantity.ends_with("_power") => ("power", Some("W")),
        quantity if quantity.contains("energy") => ("energy", Some("J")),
        other => (other, None),
    };
    let unit = signal.unit.clone().or(unit.map(str::to_owned));
    (harmless(&format!("Bond {bond}: {what}")), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(name: &str, unit: &str, size: f64) -> Signal {
        Signal {
            name: name.to_owned(),
            unit: (!unit.is_empty()).then(|| unit.to_owned()),
            values: vec![0.0, size],
        }
    }

    #[test]
    fn signals_of_one_unit_and_size_share_a_plot() {
        let signals = [
            signal("a.x", "m", 1.0),
            signal("b.y", "m", 2.0),
            signal("c.z", "m", 100.0),
            signal("a.f", "N", 1.0),
            signal("error.a.x", "m", 0.1),
            signal("bond.k.residual_power", "", 1.0),
            signal("bond.k.correction_power", "", 1.0),
        ];
        let plots = plots(&signals);
        let places: Vec<_> = plots.iter().map(|plot| plot.signals.clone()).collect();
        assert_eq!(places, [vec![0, 1], vec![2], vec![3], vec![5, 6]]);
        assert_eq!(plots[3].title, "Bond k: power");
        assert_eq!(plots[3].unit.as_deref(), Some("W"));
    }

    #[test]
    fn a_plot_has_four_signals_at_most() {
        let signals: Vec<_> = (0..6)
            .map(|k| signal(&format!("c{k}.x"), "", 1.0))
            .collect();
        let sizes: Vec<_> = plots(&signals)
            .iter()
            .map(|plot| plot.signals.len())
            .collect();
        assert_eq!(sizes, [4, 2]);
    }
}
