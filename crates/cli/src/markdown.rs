//! The outcome of a run in a few lines of Markdown, for a merge request: verdict, energies, checks, provenance.
//!
//! A feature of all runs. It says what the summary says, and finds out nothing by itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;
use crate::feature::{Ending, Feature, Needs};
use crate::numbers::{count, figure, short};
use crate::overwriting::{self, Named};
use crate::picture::with_ending;
use crate::summary::Summary;

/// The beginning of every file.
const HEAD: &str = "### gyrator: ";

/// Checks that do not hold and are listed; a reader of a merge request looks at no more.
const MOST_CHECKS: usize = 20;

/// Digits of a hash that tell two files apart for a reader, as `git log --abbrev` takes for large repositories.
const HASH_DIGITS: usize = 12;

// Whether the outcome is written as Markdown.
#[derive(Args)]
pub(crate) struct MarkdownOptions {
    /// Write the outcome of the run as Markdown, for a merge request: verdict, energies, checks, provenance
    #[arg(long, value_name = "FILE.md", value_parser = markdown, help_heading = "Results")]
    markdown: Option<PathBuf>,
}

/// A path that ends in `.md`.
fn markdown(text: &str) -> Result<PathBuf, String> {
    let wrong = "this is a Markdown file: the name must end in .md";
    with_ending(text, &["md"], wrong)
}

impl Feature for MarkdownOptions {
    fn output(&self) -> Option<Named<'_>> {
        let path = self.markdown.as_deref();
        path.map(|path| ("--markdown", path))
    }

    fn is_earlier(&self, output: &Path) -> bool {
        is_outcome(output)
    }

    fn needs(&self) -> Needs {
        Needs {
            summary: self.markdown.is_some(),
            ..Needs::default()
        }
    }

    fn write(&self, _: &Ending<'_>, summary: &Summary<'_>) -> Result<(), Failure> {
        let Some(path) = &self.markdown else {
            return Ok(());
        };
        let write = || -> std::io::Result<()> {
            let text = text(&serde_json::to_value(summary)?);
            let refusal = "the file is not the outcome of a run";
            overwriting::replace(path, &text, is_outcome, refusal)
        };
        write().map_err(|error| {
            Failure::not_written(format!("the outcome {}", path.display()), &error)
        })
    }
}

/// Whether a file may be the outcome of an earlier run; any other stays as it is.
fn is_outcome(path: &Path) -> bool {
    overwriting::begins_with(path, HEAD)
}

/// The text, from the summary of the run.
fn text(summary: &Value) -> String {
    let word = |key: &str| summary[key].as_str().unwrap_or_default();
    let mut text = format!("{HEAD}{}\n\n{}", plain(word("system")), outcome(summary));
    // One FMU by itself has no coupling.
    let is_coupled = !list(&summary["connections"]).is_empty();
    if let Some(verdict) = summary["verdict"].as_str().filter(|_| is_coupled) {
        let _ = write!(text, " Coupling error: **{}**", for_people(verdict));
        if let Some(error) = summary["coupling_error_estimate"].as_f64() {
            let digits = format!("{:.2e}", 100.0 * error);
            let percent = short(digits.parse().unwrap_or(f64::NAN));
            let _ = write!(text, ", about {percent} % of a signal");
        }
        text.push('.');
    }
    text.push('\n');
    let detail = word("stop_detail")
        .lines()
        .map(|line| format!("    {line}\n"));
    let detail: String = detail.collect();
    if !detail.is_empty() {
        let _ = write!(text, "\n{detail}");
    }
    for note in [word("suspicion"), word("advice")] {
        if !note.is_empty() {
            let _ = write!(text, "\n{}\n", plain(note));
        }
    }
    text.push_str(&bonds(list(&summary["bonds"])));
    text.push_str(&checks(list(&summary["checks"])));
    text.push_str(&provenance(&summary["provenance"]));
    text
}

/// How the run ended, and when.
fn outcome(summary: &Value) -> String {
    let end = match summary["stop_reason"].as_str().unwrap_or_default() {
        "stop-time" => "Reached the stop time",
        "terminated" => "Ended by an FMU",
        "stopped" => "Stopped",
        "interrupted" => "**Interrupted**",
        "crashed" => "**Crashed**",
        "timeout" => "**Ended after the longest time of a call**",
        "memory-limit" => "**Ended at the limit of memory**",
        "limit" => "**Ended at a limit**",
        _ => "**Failed**",
    };
    let steps = count(summary["steps"].as_u64().unwrap_or(0), "step");
    match summary["stop_time"].as_f64() {
        Some(time) => format!("{end} at t = {} s after {steps}.", short(time)),
        None => format!("{end} before the first step."),
    }
}

/// The word of a verdict that people read.
fn for_people(verdict: &str) -> &str {
    match verdict {
        "cannot-tell" => "unknown",
        verdict => verdict,
    }
}

/// A row for each bond.
fn bonds(bonds: &[Value]) -> String {
    if bonds.is_empty() {
        return String::new();
    }
    let mut text = "\n| bond | transferred, J | residual, J | by staleness, J | verdict |\n|---|--:|--:|--:|---|\n".to_owned();
    for bond in bonds {
        let number = |key: &str| bond[key].as_f64().map(figure).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            plain(bond["name"].as_str().unwrap_or_default()),
            number("transferred_energy"),
            number("residual_energy"),
            number("stale_energy"),
            for_people(bond["verdict"].as_str().unwrap_or_default())
        );
    }
    text
}

/// How many checks hold, and a line for each that does not.
fn checks(checks: &[Value]) -> String {
    if checks.is_empty() {
        return String::new();
    }
    let others = checks.iter().filter(|check| check["outcome"] != "passed");
    let others: Vec<&Value> = others.collect();
    let hold = checks.len() - others.len();
    let mut text = format!("\nChecks: {hold} of {} hold.\n", checks.len());
    if !others.is_empty() {
        text.push('\n');
    }
    for check in others.iter().take(MOST_CHECKS) {
        let word = |key: &str| check[key].as_str().unwrap_or_default();
        let outcome = word("outcome").replace('-', " ");
        let (name, message) = (plain(word("name")), plain(word("message")));
        let _ = writeln!(text, "- **{outcome}**: {name}: {message}");
    }
    if let Some(more @ 1..) = others.len().checked_sub(MOST_CHECKS) {
        let _ = writeln!(text, "- and {more} more");
    }
    text
}

/// The program, the system file and the command.
fn provenance(provenance: &Value) -> String {
    let version = provenance["gyrator"].as_str().unwrap_or_default();
    let hash = provenance["system"]["sha256"].as_str();
    let hash = hash.map_or(String::new(), |hash| {
        format!(", system SHA-256 {}…", &hash[..hash.len().min(HASH_DIGITS)])
    });
    let arguments = list(&provenance["arguments"]).iter();
    let arguments = arguments.filter_map(Value::as_str);
    let command: String = arguments.map(|argument| format!(" {argument}")).collect();
    format!(
        "\ngyrator {version}{hash}: {}\n",
        code(&format!("gyrator{command}"))
    )
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text on one line in which nothing is markup.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for character in text.chars() {
        match character {
            '\n' | '\r' => plain.push(' '),
            '\\' | '`' | '*' | '<' | '[' | '|' => plain.extend(['\\', character]),
            _ => plain.push(character),
        }
    }
    plain
}

/// A text on one line as code: its fence is longer than any row of backticks in it.
fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let rows = text.split(|character| character != '`').map(str::len);
    let fence = "`".repeat(1 + rows.max().unwrap_or(0));
    match fence.len() {
        1 => format!("{fence}{text}{fence}"),
        _ => format!("{fence} {text} {fence}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_no_markup() {
        let summary = json!({
            "system": "a|b.toml",
            "stop_reason": "stop-time",
            "stop_time": 1.0,
            "steps": 10,
            "verdict": "visible",
            "coupling_error_estimate": 0.0213,
            "connections": [{}],
            "bonds": [{ "name": "<b>", "transferred_energy": 2.0, "residual_energy": -0.5, "verdict": "visible" }],
            "checks": [
                { "name": "x", "outcome": "passed" },
                { "name": "*.y\n", "outcome": "not-judged", "message": "[z]" },
            ],
            "provenance": { "gyrator": "1", "arguments": ["run", "a`b", "``"], "system": { "sha256": "0123456789abcdef" } },
        });
        insta::assert_snapshot!(text(&summary), @r"
        ### gyrator: a\|b.toml

        Reached the stop time at t = 1 s after 10 steps. Coupling error: **visible**, about 2.13 % of a signal.

        | bond | transferred, J | residual, J | by staleness, J | verdict |
        |---|--:|--:|--:|---|
        | \<b> | 2 | -0.5 |  | visible |

        Checks: 1 of 2 hold.

        - **not judged**: \*.y : \[z]

        gyrator 1, system SHA-256 0123456789ab…: ``` gyrator run a`b `` ```
        ");
    }

    #[test]
    fn only_outcomes_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.md");
        assert!(!is_outcome(&path));
        for (text, is_one) in [("", true), ("### gyrator: a\n", true), ("# Notes\n", false)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(is_outcome(&path), is_one, "{text}");
        }
    }
}
