//! The values of a summary, as far as it has them: any key may be missing or null.

use serde_json::Value;

use crate::report::html::{Cell, Table};

/// The text of a key; empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The list of a key; empty if there is none.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// A value as the summary writes it: a number with the digits that read back as the same double.
pub(crate) fn written(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The figure of a key, a count as it is; empty if it is null, `not known` to a reader of the table.
pub(crate) fn figure(value: &Value, key: &str) -> Cell {
    match &value[key] {
        Value::Number(number) if number.is_f64() => {
            Cell::Rounded(number.as_f64().unwrap_or(f64::NAN))
        }
        _ => exact(value, key),
    }
}

/// The figure of a key with all its digits, to be copied.
pub(crate) fn exact(value: &Value, key: &str) -> Cell {
    Cell::Figure(written(&value[key]))
}

/// The name of a key.
pub(crate) fn code(value: &Value, key: &str) -> Cell {
    Cell::Code(written(&value[key]))
}

/// The text of a key, or its value as the summary writes it.
pub(crate) fn plain(value: &Value, key: &str) -> Cell {
    Cell::Text(written(&value[key]))
}

/// The verdict of a key.
pub(crate) fn verdict(value: &Value, key: &str) -> Cell {
    Cell::Mark(text(value, key).to_owned())
}

/// A number of a key.
pub(crate) fn number(value: &Value, key: &str) -> Option<f64> {
    value[key].as_f64()
}

/// A column of a table: its heading, and the kind and the key of its cells.
pub(crate) type Column<'a> = (&'a str, fn(&Value, &str) -> Cell, &'a str);

/// A table with a row for each value; nothing if there is none.
pub(crate) fn table<'v>(
    rows: impl IntoIterator<Item = &'v Value>,
    columns: &[Column<'_>],
) -> String {
    let headings: Vec<&str> = columns.iter().map(|(heading, ..)| *heading).collect();
    let mut table = Table::new(&headings);
    for row in rows {
        table.row(columns.iter().map(|(_, cell, key)| cell(row, key)));
    }
    table.html()
}

/// A key as words.
pub(crate) fn words(key: &str) -> String {
    key.replace(['_', '-'], " ")
}
