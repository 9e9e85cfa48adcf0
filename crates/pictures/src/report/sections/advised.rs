//! Warnings with their remedies.

use serde_json::Value;

use crate::report::advice::findings;
use crate::report::html::escape;

/// The findings on the run, then its notes.
pub(super) fn warnings(summary: &Value) -> String {
    let items = findings(summary).into_iter().map(|finding| {
        let remedy = match finding.remedy.as_str() {
            "" => String::new(),
            remedy => format!("<br><strong>What to do:</strong> {}", escape(remedy)),
        };
        format!("<li>{}{remedy}</li>\n", escape(&finding.text))
    });
    let items: String = items.collect();
    match items.as_str() {
        "" => String::new(),
        items => format!("<ul class=\"warnings\">\n{items}</ul>\n"),
    }
}
