//! What was run: the system, its components, the settings.

use serde_json::Value;

use crate::facts::{code, figure, list, text, written};
use crate::html::{Cell, Table, pairs, paragraph};

/// The system and the settings of its coupling.
pub(super) fn run(summary: &Value) -> String {
    let of = |key| Cell::Text(written(&summary[key]));
    let seconds = |key| Cell::Figure(written(&summary[key]));
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
    html
}

/// The components with their steps and exchange modes.
pub(super) fn components(summary: &Value) -> String {
    let mut table = Table::new(&[
        "component",
        "communication step, s",
        "exchange",
        "received from bonds, J",
        "given to bonds, J",
        "net, J",
    ]);
    let mut hidden = Vec::new();
    for component in list(summary, "components") {
        table.row([
            code(component, "name"),
            figure(component, "step_size"),
            Cell::Text(text(component, "exchange").to_owned()),
            figure(component, "received_energy"),
            figure(component, "given_energy"),
            figure(component, "net_energy"),
        ]);
        let pairs = list(component, "feedthrough_in_steps").iter();
        hidden.extend(
            pairs.map(|pair| format!("{} follows {}", text(pair, "output"), text(pair, "input"))),
        );
    }
    let mut html = table.html();
    if !hidden.is_empty() {
        let found = hidden.join("; ");
        html.push_str(&paragraph(&format!(
            "Direct feed-through that shows in steps only: {found}."
        )));
    }
    let mut table = Table::new(&[
        "interface model",
        "component",
        "fast components",
        "exchange step, s",
        "order",
        "force",
        "inputs",
    ]);
    for model in list(summary, "interface_models") {
        let fast: Vec<String> = list(model, "fast_components").iter().map(written).collect();
        table.row([
            code(model, "name"),
            code(model, "component"),
            Cell::Code(fast.join(", ")),
            figure(model, "exchange_step"),
            Cell::Text(written(&model["order"])),
            Cell::Text(written(&model["force"])),
            Cell::Text(written(&model["inputs"])),
        ]);
    }
    html + &table.html()
}

/// The actions of a scenario.
pub(super) fn actions(summary: &Value) -> String {
    let mut table = Table::new(&["time, s", "action", "", "variable"]);
    for action in list(summary, "actions") {
        table.row([
            figure(action, "time"),
            Cell::Text(text(action, "action").to_owned()),
            Cell::Text(text(action, "event").to_owned()),
            code(action, "variable"),
        ]);
    }
    table.html()
}
