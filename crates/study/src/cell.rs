//! Cells of the table.

use serde::{Deserialize, Serialize};

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// Whole numbers.
    Integer,
    /// Numbers.
    Real,
    /// Text.
    Text,
}

/// A column of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, unique in the table.
    pub name: String,
    /// Type of its cells.
    pub kind: ColumnKind,
    /// Unit of its values, if it is known.
    pub unit: Option<String>,
}

impl Column {
    /// A column without a unit.
    pub fn new(name: impl Into<String>, kind: ColumnKind) -> Self {
        Self {
            name: name.into(),
            kind,
            unit: None,
        }
    }
}

/// A cell of the table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// No value: the case does not set this key, or there is nothing to measure.
    Empty,
    /// A whole number.
    Integer(i64),
    /// A number; NaN and the infinite ones count.
    Real(f64),
    /// Text.
    Text(String),
}

impl Cell {
    /// Appends the cell as comma-separated values have it: RFC 4180 quoting, doubles with the
    /// fewest digits that read back as the same double, text on one line.
    pub(crate) fn push_to(&self, line: &mut String) {
        match self {
            Self::Empty => {}
            Self::Integer(number) => line.push_str(&number.to_string()),
            Self::Real(number) => line.push_str(zmij::Buffer::new().format(*number)),
            Self::Text(text) => push_text(line, text),
        }
    }
}

/// Cells as a line of comma-separated values, with its end.
#[must_use]
pub fn csv_line(cells: &[Cell]) -> String {
    let mut line = String::new();
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        cell.push_to(&mut line);
    }
    line.push('\n');
    line
}

/// Appends text, quoted if it must be.
pub(crate) fn push_text(line: &mut String, text: &str) {
    let is_plain = |c: char| !matches!(c, '"' | ',' | '\n' | '\r');
    if text.chars().all(is_plain) && text.trim() == text {
        line.push_str(text);
        return;
    }
    line.push('"');
    for c in text.chars() {
        match c {
            '"' => line.push_str("\"\""),
            '\n' | '\r' => line.push(' '),
            other => line.push(other),
        }
    }
    line.push('"');
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Empty, Self::Real)
    }
}
