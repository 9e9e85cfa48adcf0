//! The section about the run: the system, its components, the settings.

use serde_json::Value;

use crate::report::facts::{code, exact, figure, list, number, plain, table, text, written};
use crate::report::html::{Cell, Table, pairs, paragraph};

/// The system and the settings of its coupling.
pub(super) fn run(summary: &Value) -> String {
    let of = |key| plain(summary, key);
    let seconds = |key| exact(summary, key);
    let rows = [
        ("system", code(summary, "system")),
        ("gyrator", of("gyrator")),
        ("ended by", of("stop_reason")),
        ("start time, s", seconds("start_time")),
        ("last communication point, s", seconds("stop_time")),
        ("macro-steps", seconds("steps")),
        ("macro-step, s", seconds("step_size")),
        ("method", of("method")),
        ("step control", of("step_control")),
        ("result", code(&summary["output"], "file")),
        ("rows of the result", figure(&summary["output"], "rows")),
    ];
    let is_known = |(_, cell): &&(&str, Cell)| !matches!(cell, Cell::Text(text) | Cell::Figure(text) | Cell::Code(text) if text.is_empty());
    let known: Vec<_> = rows.iter().filter(is_known).cloned().collect();
    let mut html = pairs(&known);
    let parameters = summary["parameters"].as_object();
    let mut table = Table::new(&["parameter", "value"]);
    for (name, value) in parameters.into_iter().flatten() {
        table.row([Cell::Code(name.clone()), Cell::Figure(written(value))]);
    }
    html.push_str(&table.html());
    html + &files(&summary["provenance"]) + &settings(&summary["provenance"]["settings"])
}

/// The files that were read, by their hashes.
fn files(provenance: &Value) -> String {
    let mut table = Table::new(&["file", "path", "SHA-256"]);
    let mut row = |what: Cell, file: &Value| {
        if !file["file"].is_null() {
            table.row([what, code(file, "file"), code(file, "sha256")]);
        }
    };
    row(Cell::Text("system".to_owned()), &provenance["system"]);
    for fmu in list(provenance, "fmus") {
        row(code(fmu, "component"), fmu);
    }
    for file in list(provenance, "files") {
        row(Cell::Text(text(file, "what").to_owned()), file);
    }
    table.html()
}

/// The settings in force, by the keys of system files.
fn settings(settings: &Value) -> String {
    let mut table = Table::new(&["setting", "value"]);
    for (key, value) in settings.as_object().into_iter().flatten() {
        let parts = value
            .as_array()
            .filter(|_| matches!(key.as_str(), "components" | "bonds"));
        for part in parts.into_iter().flatten() {
            let name = format!("{key}.{}", text(part, "name"));
            let own = part.as_object().into_iter().flatten();
            let own = own.filter(|(key, value)| *key != "name" && !value.is_null());
            let own: Vec<String> = own
                .map(|(key, value)| format!("{key} = {}", setting(value)))
                .collect();
            table.row([Cell::Code(name), Cell::Code(own.join(", "))]);
        }
        if parts.is_none() && !value.is_null() {
            table.row([Cell::Code(key.clone()), Cell::Code(setting(value))]);
        }
    }
    match table.html() {
        html if html.is_empty() => html,
        html => format!("<details><summary>Settings in force</summary>\n{html}</details>\n"),
    }
}

/// A value as a system file has it.
fn setting(value: &Value) -> String {
    let Some(parts) = value.as_object() else {
        return written(value);
    };
    let others = parts.iter().filter(|(key, _)| *key != "name");
    let others: Vec<String> = others
        .map(|(key, value)| format!("{key} = {}", written(value)))
        .collect();
    match (text(value, "name"), others.join(", ")) {
        (name, parameters) if parameters.is_empty() => name.to_owned(),
        (name, parameters) => format!("{name} ({parameters})"),
    }
}

/// The components with their steps and exchange modes.
pub(super) fn components(summary: &Value) -> String {
    let components = list(summary, "components");
    let mut html = table(
        components,
        &[
            ("component", code, "name"),
            ("communication step, s", figure, "step_size"),
            ("exchange", plain, "exchange"),
            ("received from bonds, J", received, "received_energy"),
            ("sent to bonds, J", sent, "given_energy"),
            ("net, J", figure, "net_energy"),
        ],
    );
    let mut hidden = Vec::new();
    for component in components {
        let pairs = list(component, "feedthrough_in_steps").iter();
        hidden.extend(
            pairs.map(|pair| format!("{} follows {}", text(pair, "output"), text(pair, "input"))),
        );
    }
    if !hidden.is_empty() {
        let found = hidden.join("; ");
        html.push_str(&paragraph(&format!(
            "Direct feed-through that shows in steps only: {found}."
        )));
    }
    html + &table(
        list(summary, "interface_models"),
        &[
            ("interface model", code, "name"),
            ("component", code, "component"),
            ("fast components", names, "fast_components"),
            ("exchange step, s", figure, "exchange_step"),
            ("order", plain, "order"),
            ("force", plain, "force"),
            ("inputs", plain, "inputs"),
        ],
    )
}

/// Energy into a component by its bonds, at end b and backwards at end a: never negative.
fn received(component: &Value, _: &str) -> Cell {
    one_way(component, ["received_energy", "given_energy"])
}

/// Energy out of a component by its bonds, at end a and backwards at end b: never negative.
fn sent(component: &Value, _: &str) -> Cell {
    one_way(component, ["given_energy", "received_energy"])
}

/// The energy of the first key if it went forwards, with the one of the second if it went backwards.
fn one_way(component: &Value, keys: [&str; 2]) -> Cell {
    match keys.map(|key| number(component, key)) {
        [Some(along), Some(against)] => Cell::Rounded(along.max(0.0) + (-against).max(0.0)),
        _ => Cell::Figure(String::new()),
    }
}

fn names(value: &Value, key: &str) -> Cell {
    let names: Vec<String> = list(value, key).iter().map(written).collect();
    Cell::Code(names.join(", "))
}

/// The actions of a scenario.
pub(super) fn actions(summary: &Value) -> String {
    table(
        list(summary, "actions"),
        &[
            ("time, s", figure, "time"),
            ("action", plain, "action"),
            ("", plain, "event"),
            ("variable", code, "variable"),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Energy that comes in at an end from which it is to go out counts as received.
    #[test]
    fn no_energy_is_received_or_sent_negatively() {
        for (received_energy, given_energy, expected) in [
            (3.0, 2.0, (3.0, 2.0)),
            (-3.0, -2.0, (2.0, 3.0)),
            (-3.0, 2.0, (0.0, 5.0)),
            (3.0, -2.0, (5.0, 0.0)),
        ] {
            let component =
                json!({ "received_energy": received_energy, "given_energy": given_energy });
            let number = |cell| match cell {
                Cell::Rounded(number) => number,
                other => panic!("{other:?}"),
            };
            let found = (
                number(received(&component, "")),
                number(sent(&component, "")),
            );
            assert_eq!(found, expected);
            assert_eq!(found.0 - found.1, received_energy - given_energy);
        }
    }
}
