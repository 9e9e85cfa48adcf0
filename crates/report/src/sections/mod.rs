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

use crate::html::escape;

/// A section: the name of its element, its title, and its contents from the summary. Where these are empty, there is
/// no section.
struct Section {
    id: &'static str,
    title: &'static str,
    html: fn(&Value) -> String,
}

const BEFORE_PLOTS: &[Section] = &[
    Section {
        id: "fault",
        title: "",
        html: verdict::fault,
    },
    Section {
        id: "verdict",
        title: "Verdict",
        html: verdict::verdict,
    },
    Section {
        id: "error-bars",
        title: "Error bars",
        html: verdict::error_bars,
    },
    Section {
        id: "checks",
        title: "Checks",
        html: verdict::checks,
    },
    Section {
        id: "run",
        title: "What was run",
        html: run::run,
    },
    Section {
        id: "components",
        title: "Components",
        html: run::components,
    },
    Section {
        id: "ledger",
        title: "Energy by bond",
        html: ledger::ledger,
    },
];

const AFTER_PLOTS: &[Section] = &[
    Section {
        id: "connections",
        title: "Connections",
        html: ledger::connections,
    },
    Section {
        id: "actions",
        title: "Scenario",
        html: run::actions,
    },
    Section {
        id: "plan",
        title: "The step plan",
        html: plan::plan,
    },
    Section {
        id: "time",
        title: "Time of the computer",
        html: time::time,
    },
    Section {
        id: "warnings",
        title: "Warnings, and what to do",
        html: advised::warnings,
    },
    Section {
        id: "provenance",
        title: "To repeat this run",
        html: provenance::provenance,
    },
];

/// The sections of a summary, by the names of their elements: those before the plots, then those after them. A page
/// that follows a run puts them in place of the earlier ones.
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
