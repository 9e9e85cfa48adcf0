//! The sections of the page, each from the summary: one file, and one line of the list below.

mod advised;
mod ledger;
mod plan;
mod provenance;
mod run;
mod time;
mod verdict;

use std::fmt::Write as _;

use serde_json::Value;

use crate::report::html::escape;

/// A section: the name of its element, its title, and its contents from the summary. If these are empty, the section
/// is left out.
struct Section {
    id: &'static str,
    title: &'static str,
    html: fn(&Value) -> String,
}

const fn section(id: &'static str, title: &'static str, html: fn(&Value) -> String) -> Section {
    Section { id, title, html }
}

const BEFORE_PLOTS: &[Section] = &[
    section("fault", "", verdict::fault),
    section("verdict", "", verdict::verdict),
];

const AFTER_PLOTS: &[Section] = &[
    section("warnings", "Warnings, and what to do", advised::warnings),
    section("error-bars", "Error bars", verdict::error_bars),
    section("checks", "Checks", verdict::checks),
    section("ledger", "Energy by bond", ledger::ledger),
    section("components", "Components", run::components),
    section("connections", "Connections", ledger::connections),
    section("actions", "Scenario", run::actions),
    section("plan", "The step plan", plan::plan),
    section("time", "Time of the computer", time::time),
    section("run", "What was run", run::run),
    section("provenance", "To repeat this run", provenance::provenance),
];

/// The sections of a summary, by the names of their elements: those before the plots, then those after them. A page
/// that follows a run replaces the earlier ones by them.
#[must_use]
pub fn sections(summary: &Value) -> [Vec<(&'static str, String)>; 2] {
    [BEFORE_PLOTS, AFTER_PLOTS].map(|sections| {
        let inner = |section: &Section| {
            let html = (section.html)(summary);
            let title = match section.title {
                _ if html.is_empty() => String::new(),
                "" => String::new(),
                title => format!("<h2>{}</h2>\n", escape(title)),
            };
            (section.id, title + &html)
        };
        sections.iter().map(inner).collect()
    })
}

/// Elements around sections; those without contents are there, hidden, for a page that follows a run.
pub(crate) fn elements(sections: &[(&'static str, String)]) -> String {
    let mut html = String::new();
    for (id, inner) in sections {
        let hidden = if inner.is_empty() { " hidden" } else { "" };
        let _ = writeln!(html, "<section id=\"{id}\"{hidden}>\n{inner}</section>");
    }
    html
}
