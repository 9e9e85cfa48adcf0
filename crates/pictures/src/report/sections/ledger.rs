//! The ledger: energies of the bonds, and the defects of the connections.

use serde_json::Value;

use crate::report::facts::{
    Column, code, figure, list, number, table, text, verdict, words, written,
};
use crate::report::html::{Cell, Table, escape, paragraph, rounded};

/// The first table of the bonds.
const OVERVIEW: [Column<'_>; 7] = [
    ("bond", named, "name"),
    ("verdict, by the run alone", verdict, "verdict"),
    ("transferred, J", figure, "transferred_energy"),
    ("residual, J", figure, "residual_energy"),
    ("|residual|, J", figure, "residual_energy_abs"),
    ("peak residual power, W", figure, "max_residual_power"),
    ("by staleness, J", figure, "stale_energy"),
];

/// The energies of each bond.
pub(super) fn ledger(summary: &Value) -> String {
    let bonds = list(summary, "bonds");
    if bonds.is_empty() {
        return String::new();
    }
    let mut html = paragraph(
        "Residual is the energy that the receivers got more than the givers gave: positive if the coupling makes \
         energy. Transferred goes from end a to end b.",
    );
    html.push_str(&table(bonds, &OVERVIEW));
    let peak = number(summary, "peak_residual_energy_integrated");
    let time = number(summary, "peak_residual_energy_integrated_time");
    if let Some((peak, time)) = peak.zip(time) {
        html.push_str(&format!(
            "<p>All power bonds together made {} J at most, integrated, at t = {} s.</p>\n",
            rounded(peak),
            rounded(time)
        ));
    }
    html.push_str(&corrections(bonds));
    html.push_str(&all_figures(bonds));
    html + &alarms(bonds)
}

fn named(bond: &Value, key: &str) -> Cell {
    let generalised = if bond["is_power"] == false {
        " (generalised)"
    } else {
        ""
    };
    Cell::Code(text(bond, key).to_owned() + generalised)
}

/// The corrections in force, with their effects.
fn corrections(bonds: &[Value]) -> String {
    let corrected = bonds.iter();
    let corrected = corrected.filter(|bond| !matches!(text(bond, "correction"), "" | "off"));
    table(
        corrected,
        &[
            ("bond", named, "name"),
            ("correction", correction, "correction"),
            ("corrected, J", figure, "correction_energy"),
            ("effect", verdict, "correction_verdict"),
            ("share that would have been right", figure, "hindsight_mu"),
        ],
    )
}

/// The correction, with its parameters.
fn correction(bond: &Value, key: &str) -> Cell {
    let parameters = bond["correction_parameters"].as_object();
    let parameters = parameters.into_iter().flatten();
    let parameters: Vec<String> = parameters
        .map(|(name, value)| format!("{name} = {}", written(value)))
        .collect();
    Cell::Text([text(bond, key), &parameters.join(", ")].join(" "))
}

/// Every figure of each bond that is not in the first table.
fn all_figures(bonds: &[Value]) -> String {
    let mut table = Table::new(&["bond", "figure", "value", "unit"]);
    for bond in bonds {
        for (key, value) in bond.as_object().into_iter().flatten() {
            let is_shown = OVERVIEW.iter().any(|(.., shown)| shown == key);
            if value.is_number() && !is_shown {
                table.row([
                    code(bond, "name"),
                    Cell::Text(words(key)),
                    figure(bond, key),
                    Cell::Text(unit(key).to_owned()),
                ]);
            }
        }
    }
    let summary = escape("All other figures of the bonds");
    format!(
        "<details><summary>{summary}</summary>\n{}</details>\n",
        table.html()
    )
}

/// The unit of a figure of a power bond, by the key.
fn unit(key: &str) -> &'static str {
    match key {
        key if key.ends_with("_time") => "s",
        key if key.ends_with("_power") => "W",
        key if key.contains("energy") => "J",
        _ => "",
    }
}

fn alarms(bonds: &[Value]) -> String {
    let mut table = Table::new(&[
        "alarm at bond",
        "from, s",
        "to, s",
        "greatest residual power, W",
        "at, s",
    ]);
    for bond in bonds {
        for alarm in list(bond, "alarms") {
            table.row([
                code(bond, "name"),
                figure(alarm, "start"),
                figure(alarm, "end"),
                figure(alarm, "max_residual_power"),
                figure(alarm, "max_time"),
            ]);
        }
    }
    table.html()
}

/// The defects of the connections, the largest first.
pub(super) fn connections(summary: &Value) -> String {
    let mut connections: Vec<&Value> = list(summary, "connections").iter().collect();
    let defect = |connection: &Value| number(connection, "relative_defect").unwrap_or(0.0);
    connections.sort_by(|one, other| defect(other).total_cmp(&defect(one)));
    let table = table(
        connections,
        &[
            ("from", code, "from"),
            ("to", code, "to"),
            ("relative defect", figure, "relative_defect"),
            ("defect, RMS", figure, "defect_rms"),
            ("greatest defect", figure, "defect_max"),
            ("range", figure, "range"),
        ],
    );
    if table.is_empty() {
        return table;
    }
    let text = "The defect is the value that the receiver used at the end of its step, less the one that the source \
                then gave.";
    format!(
        "<details><summary>Defects of the connections</summary>\n{}{table}</details>\n",
        paragraph(text)
    )
}
