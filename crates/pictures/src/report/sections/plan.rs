//! The order of everything in a macro-step.

use serde_json::Value;

use crate::report::facts::{list, number, text};
use crate::report::html::{Cell, Table, paragraph};

/// Most operations that are listed, for the page to stay small.
const MOST: usize = 200;

/// The step plan, an operation a line.
pub(super) fn plan(summary: &Value) -> String {
    let operations = list(&summary["plan"], "operations");
    let mut table = Table::new(&["", "operation", "act"]);
    for (index, operation) in operations.iter().take(MOST).enumerate() {
        let depth = number(operation, "depth").unwrap_or(0.0) as usize;
        let word = text(operation, "operation");
        table.row([
            Cell::Figure((index + 1).to_string()),
            Cell::Code(format!("{}{word}", "· ".repeat(depth.min(8)))),
            Cell::Text(text(operation, "text").to_owned()),
        ]);
    }
    let rest = operations.len().saturating_sub(MOST);
    let more = (rest > 0).then(|| paragraph(&format!("and {rest} more, in the summary as `plan`")));
    table.html() + &more.unwrap_or_default()
}
