//! Text and tables as HTML.

use std::fmt::Write as _;

use gyrator_system::figure;
use serde_json::Value;

/// A text without control characters, and without those that turn a text around (Unicode Standard Annex 9): they are
/// shown as U+FFFD.
pub(crate) fn harmless(text: &str) -> String {
    let is_harmful = |c: char| match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    };
    text.replace(is_harmful, "\u{fffd}")
}

/// A text as HTML, in elements and in quoted attributes, and [`harmless`].
pub(crate) fn escape(text: &str) -> String {
    let escaped = harmless(text).replace('&', "&amp;");
    let escaped = escaped.replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

/// JSON that may stand in an element `script`: no `<` ends or opens an element there.
pub(crate) fn script_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// A word that is a verdict, with a symbol: both say the same without colour.
pub(crate) fn mark(word: &str) -> String {
    let (class, symbol) = match word {
        "small" | "helped" | "passed" | "stop-time" => ("good", "✓"),
        "visible" | "uncertain" | "terminated" | "stopped" => ("fair", "◑"),
        "dominating" => ("bad", "▲"),
        "diverging" | "harmed" | "failed" | "crashed" | "timeout" | "memory-limit" | "limit" => {
            ("bad", "✕")
        }
        "interrupted" => ("fair", "■"),
        "running" => ("open", "…"),
        _ => ("open", "?"),
    };
    // People read "unknown", programs the keyword.
    let word = escape(&word.replace("cannot-tell", "unknown").replace('-', " "));
    format!("<span class=\"mark {class}\"><span aria-hidden=\"true\">{symbol}</span> {word}</span>")
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    /// Any text.
    Text(String),
    /// A figure as it is.
    Figure(String),
    /// A number with four digits, whose other digits are its title.
    Rounded(f64),
    /// A verdict.
    Mark(String),
    /// The name of something of the run, or a text of it.
    Code(String),
    /// A bar of so many percent of its length.
    Bar(f64),
}

impl Cell {
    fn html(&self) -> String {
        match self {
            Self::Text(text) => format!("<td>{}", escape(text)),
            Self::Figure(text) => format!("<td class=figure>{}", escape(text)),
            Self::Rounded(number) => {
                let (shown, all) = (figure(*number), Value::from(*number).to_string());
                match shown.parse::<f64>().is_ok_and(|shown| shown == *number) {
                    true => format!("<td class=figure>{shown}"),
                    // Nothing in a number has to be quoted.
                    false => format!("<td class=figure title={all}>{shown}"),
                }
            }
            Self::Mark(word) if word.is_empty() => "<td>".to_owned(),
            Self::Mark(word) => format!("<td>{}", mark(word)),
            Self::Code(text) => format!("<td><code>{}</code>", escape(text)),
            Self::Bar(percent) => format!(
                "<td><svg class=bar width=100 height=10 aria-hidden=true><rect width=\"{:.1}\" height=10 /></svg>",
                percent.clamp(0.0, 100.0)
            ),
        }
    }
}

/// A table, with a heading for each column. End tags that HTML does not need are left out.
pub(crate) struct Table {
    html: String,
    rows: usize,
}

impl Table {
    /// A table without rows; `headings` are texts with the units of their columns.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let mut html = String::from("<div class=scroll><table><thead><tr>");
        for heading in headings {
            let _ = write!(html, "<th scope=col>{}", escape(heading));
        }
        html.push_str("<tbody>\n");
        Self { html, rows: 0 }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.html.push_str("<tr>");
        for cell in cells {
            self.html.push_str(&cell.html());
        }
        self.html.push('\n');
        self.rows += 1;
    }

    /// The table; nothing if it has no rows.
    pub(crate) fn html(self) -> String {
        match self.rows {
            0 => String::new(),
            _ => self.html + "</table></div>\n",
        }
    }
}

/// Pairs of a name and its value, as a table of two columns.
pub(crate) fn pairs(pairs: &[(&str, Cell)]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let mut html = String::from("<div class=scroll><table class=pairs><tbody>\n");
    for (name, cell) in pairs {
        let name = escape(name);
        let _ = writeln!(html, "<tr><th scope=row>{name}{}", cell.html());
    }
    html + "</table></div>\n"
}

/// A text as HTML whose parts between backticks are code.
pub(crate) fn with_code(text: &str) -> String {
    let mut html = String::new();
    for (place, part) in text.split('`').enumerate() {
        let part = escape(part);
        match place % 2 {
            1 => html.push_str(&format!("<code>{part}</code>")),
            _ => html.push_str(&part),
        }
    }
    html
}

/// A number within text, as [`Cell::Rounded`].
pub(crate) fn rounded(number: f64) -> String {
    let all = Value::from(number);
    format!("<span title={all}>{}</span>", figure(number))
}

/// A paragraph.
pub(crate) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_text() {
        let name = "</script><script>alert('1')\" onload=\"x\u{202e}\0&";
        assert_eq!(
            escape(name),
            "&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)&quot; onload=&quot;x\u{fffd}\u{fffd}&amp;"
        );
        let json = script_json(&serde_json::json!({ "<!--": name }));
        assert!(!json.contains('<'), "{json}");
        let read: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["<!--"], name);
    }

    #[test]
    fn a_verdict_has_a_symbol_and_its_word() {
        assert!(mark("cannot-tell").contains("?</span> unknown"));
        assert!(mark("<b>").contains("&lt;b&gt;"));
    }

    #[test]
    fn commands_in_text_are_code() {
        assert_eq!(
            with_code("a <b>; `c &` d"),
            "a &lt;b&gt;; <code>c &amp;</code> d"
        );
    }

    /// A reader has four digits, a program all of them.
    #[test]
    fn no_digit_of_a_number_is_lost() {
        let html = |number| Cell::Rounded(number).html();
        assert_eq!(html(0.001), "<td class=figure>0.001");
        assert_eq!(
            html(-6_169.594_123),
            "<td class=figure title=-6169.594123>-6170"
        );
        assert_eq!(
            html(1.234_567e-9),
            "<td class=figure title=1.234567e-9>1.235e-9"
        );
    }

    #[test]
    fn a_table_without_rows_is_nothing() {
        assert_eq!(Table::new(&["a"]).html(), "");
        let mut table = Table::new(&["a<"]);
        table.row([Cell::Code("<i>".to_owned())]);
        let html = table.html();
        assert!(
            html.contains("a&lt;") && html.contains("<code>&lt;i&gt;</code>"),
            "{html}"
        );
    }
}
