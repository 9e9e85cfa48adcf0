//! The ledger: energies of the bonds, and the defects of the connections.

use serde_json::Value;

use crate::facts::{code, figure, list, number, text, verdict, words, written};
use crate::html::{Cell, Table, escape, paragraph};

/// Figures of a bond that stand in the first table, with its headings.
const OVERVIEW: [(&str, &str); 5] = [
    ("transferred_energy", "transferred, J"),
    ("residual_energy", "residual, J"),
    ("residual_energy_abs", "|residual|, J"),
    ("max_residual_power", "peak residual power, W"),
    ("stale_energy", "by staleness, J"),
];

/// The energies of each bond.
pub(super) fn ledger(summary: &Value) -> String {
    let bonds = list(summary, "bonds");
    if bonds.is_empty() {
        return String::new();
    }
    let mut headings = vec!["bond", "verdict, by the run alone"];
    headings.extend(OVERVIEW.iter().map(|(_, heading)| *heading));
    let mut table = Table::new(&headings);
    for bond in bonds {
        let mut cells = vec![named(bond), verdict(bond, "verdict")];
        cells.extend(OVERVIEW.iter().map(|(key, _)| figure(bond, key)));
        table.row(cells);
    }
    let mut html = paragraph(
        "Residual is the energy that the receivers got more than the givers gave: positive where the coupling makes \
         energy. Transferred goes from end a to end b.",
    );
    html.push_str(&table.html());
    let peak = written(&summary["peak_residual_energy_integrated"]);
    if !peak.is_empty() {
        let time = written(&summary["peak_residual_energy_integrated_time"]);
        html.push_str(&paragraph(&format!(
            "All power bonds together made {peak} J at most, integrated, at t = {time} s."
        )));
    }
    html.push_str(&corrections(bonds));
    html.push_str(&all_figures(bonds));
    html + &alarms(bonds)
}

fn named(bond: &Value) -> Cell {
    let generalised = if bond["is_power"] == false {
        " (generalised)"
    } else {
        ""
    };
    Cell::Code(text(bond, "name").to_owned() + generalised)
}

/// The corrections in force, with their effects.
fn corrections(bonds: &[Value]) -> String {
    let mut table = Table::new(&[
        "bond",
        "correction",
        "corrected, J",
        "effect",
        "share that would have been right",
    ]);
    for bond in bonds
        .iter()
        .filter(|bond| !matches!(text(bond, "correction"), "" | "off"))
    {
        table.row([
            named(bond),
            Cell::Text(correction(bond)),
            figure(bond, "correction_energy"),
            verdict(bond, "correction_verdict"),
            figure(bond, "hindsight_mu"),
        ]);
    }
    table.html()
}

/// The correction, with its parameters.
fn correction(bond: &Value) -> String {
    let parameters = bond["correction_parameters"].as_object();
    let parameters = parameters.into_iter().flatten();
    let parameters: Vec<String> = parameters
        .map(|(name, value)| format!("{name} = {}", written(value)))
        .collect();
    [text(bond, "correction"), &parameters.join(", ")].join(" ")
}

/// Every figure of each bond that is not in the first table.
fn all_figures(bonds: &[Value]) -> String {
    let mut table = Table::new(&["bond", "figure", "value", "unit"]);
    for bond in bonds {
        for (key, value) in bond.as_object().into_iter().flatten() {
            let is_shown = OVERVIEW.iter().any(|(shown, _)| shown == key);
            if value.is_number() && !is_shown {
                table.row([
                    code(bond, "name"),
                    Cell::Text(words(key)),
                    Cell::Figure(written(value)),
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
    let mut table = Table::new(&[
        "from",
        "to",
        "relative defect",
        "defect, RMS",
        "greatest defect",
        "range",
    ]);
    for connection in connections {
        table.row([
            code(connection, "from"),
            code(connection, "to"),
            figure(connection, "relative_defect"),
            figure(connection, "defect_rms"),
            figure(connection, "defect_max"),
            figure(connection, "range"),
        ]);
    }
    let table = table.html();
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
