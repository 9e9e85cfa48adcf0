//! Which plots of a run matter most: the drawing puts them first.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::report::facts::{list, number, text};
use crate::report::plots::{Plot, Signal};

/// Sorts plots by their signals: those with the greatest error bars over their ranges, then the powers of the bonds with the
/// greatest residual energies, then the sources of the greatest defects; all others keep their order.
pub(crate) fn rank(plots: &mut [Plot], signals: &[Signal], summary: &Value) {
    let mut ranked: Vec<(usize, f64, String)> = Vec::new();
    let by_name: BTreeMap<&str, &Signal> = signals.iter().map(|of| (&*of.name, of)).collect();
    for (name, signal) in &by_name {
        let bar = by_name.get(&*format!("error.{name}"));
        let share = bar.map(|bar| greatest(&bar.values) / range(&signal.values));
        ranked.extend(share.map(|share| (0, share, (*name).to_owned())));
    }
    for bond in list(summary, "bonds") {
        let residual = number(bond, "residual_energy_abs").unwrap_or(0.0);
        let name = format!("bond.{}.residual_power", text(bond, "name"));
        ranked.push((1, residual, name));
    }
    for connection in list(summary, "connections") {
        let defect = number(connection, "relative_defect").unwrap_or(0.0);
        ranked.push((2, defect, text(connection, "from").to_owned()));
    }
    ranked.retain(|(_, size, _)| *size > 0.0);
    ranked.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
    for (rank, (.., name)) in ranked.iter().enumerate() {
        ranks.entry(name).or_insert(rank);
    }
    plots.sort_by_key(|plot| {
        let names = plot.signals.iter().map(|&place| &*signals[place].name);
        names
            .filter_map(|name| ranks.get(name).copied())
            .min()
            .unwrap_or(usize::MAX)
    });
}

/// The greatest finite value; 0 if there is none.
fn greatest(values: &[f64]) -> f64 {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    finite.fold(0.0, f64::max)
}

/// Greatest less least finite value.
fn range(values: &[f64]) -> f64 {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    finite().fold(f64::MIN, f64::max) - finite().fold(f64::MAX, f64::min)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::plots::plots;

    fn names(signals: &[(&str, [f64; 2])], summary: &Value) -> Vec<String> {
        let signal = |(name, values): &(&str, [f64; 2])| Signal {
            name: (*name).to_owned(),
            // One plot each.
            unit: Some((*name).to_owned()),
            values: values.to_vec(),
        };
        let signals: Vec<Signal> = signals.iter().map(signal).collect();
        let mut plots = plots(&signals);
        rank(&mut plots, &signals, summary);
        plots
            .iter()
            .map(|plot| signals[plot.signals[0]].name.clone())
            .collect()
    }

    const SIGNALS: [(&str, [f64; 2]); 5] = [
        ("a.x", [0.0, 10.0]),
        ("a.y", [0.0, 1.0]),
        ("b.z", [0.0, 1.0]),
        ("bond.k.residual_power", [0.0, 1.0]),
        ("bond.l.residual_power", [0.0, 1.0]),
    ];

    #[test]
    fn the_worst_error_bar_comes_first() {
        let bars = [("error.a.x", [0.0, 0.5]), ("error.a.y", [0.2, f64::NAN])];
        let signals: Vec<_> = SIGNALS.into_iter().chain(bars).collect();
        assert_eq!(names(&signals, &Value::Null)[..3], ["a.y", "a.x", "b.z"]);
    }

    #[test]
    fn without_error_bars_bonds_come_before_defects() {
        let summary = json!({
            "bonds": [{ "name": "k", "residual_energy_abs": 1.0 }, { "name": "l", "residual_energy_abs": 2.0 }],
            "connections": [{ "from": "a.x", "relative_defect": 0.1 }, { "from": "b.z", "relative_defect": 0.2 }],
        });
        assert_eq!(
            names(&SIGNALS, &summary),
            [
                "bond.l.residual_power",
                "bond.k.residual_power",
                "b.z",
                "a.x",
                "a.y"
            ]
        );
        let unknown = json!({ "connections": [{ "from": "b.z", "relative_defect": null }] });
        assert_eq!(names(&SIGNALS, &unknown)[..2], ["a.x", "a.y"]);
    }
}
