//! The pages of `docs/reference`: keys against the readers, words against the registries. With `GYRATOR_WRITE_DOCS=1` the page of words is
//! written again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use gyrator_assess::checks::{self, KINDS, Kind};
use gyrator_system::Problems;
use gyrator_system::toml_file::{self, parse_scenario};
use serde_json::Value;

use crate::blocks::is_written_anew;
use crate::page::root;

const NOTE: &str = "<!-- Written by a test: GYRATOR_WRITE_DOCS=1 cargo test --package gyrator-cli --test docs reference -->\n";

/// Headings of the tables of `keys.md`, and texts with an unknown key where each of them stands in a file.
const SYSTEM_TABLES: &[(&str, &str)] = &[
    ("System files: the file", "'?' = 1\n"),
    ("`[experiment]`", "[experiment]\n'?' = 1\n"),
    ("`[components.NAME]`", "[components.a]\n'?' = 1\n"),
    // It has the keys of a component.
    ("`[components.NAME]`", "[defaults]\n'?' = 1\n"),
    (
        "`restart` of `[components.NAME]`",
        "[components.a]\nfmu = 'a'\nrestart = { '?' = 1 }\n",
    ),
    ("`[[connections]]`", "[[connections]]\n'?' = 1\n"),
    // Their reader knows the keys of connections, and a rule refuses some.
    ("`[[connections]]`", "[[bonds]]\neffort = { '?' = 1 }\n"),
    ("`[[bonds]]`", "[[bonds]]\n'?' = 1\n"),
    ("`[[interface_models]]`", "[[interface_models]]\n'?' = 1\n"),
    ("`[hosts.NAME]`", "[hosts.a]\n'?' = 1\n"),
];
const SCENARIO_TABLES: &[(&str, &str)] = &[
    ("Scenarios: the file", "'?' = 1\n"),
    ("`[[actions]]`", "[[actions]]\n'?' = 1\n"),
];
const CHECK_TABLES: &[(&str, &str)] = &[
    ("Checks: the file", "'?' = 1\n"),
    ("`[[checks]]`", "[[checks]]\n'?' = 1\n"),
];
const STUDY_TABLES: &[(&str, &str)] = &[
    ("Studies: the file", "'?' = 1\n"),
    ("`[[vary]]`", "[[vary]]\n'?' = 1\n"),
    ("`[[metrics]]`", "[[metrics]]\n'?' = 1\n"),
    ("`reference`", "reference = { '?' = 1 }\n"),
];

/// `keys.md` has every key that the readers take, and no other one.
#[test]
fn keys_are_those_of_the_readers() {
    let page = std::fs::read_to_string(root().join("docs/reference/keys.md")).unwrap();
    let mut headings = BTreeSet::new();
    for (tables, read) in [
        (SYSTEM_TABLES, known_to_systems as fn(&str) -> Problems),
        (SCENARIO_TABLES, |text| {
            parse_scenario(text, "").unwrap_err()
        }),
        (CHECK_TABLES, |text| checks::parse(text, "").unwrap_err()),
        (STUDY_TABLES, |text| {
            gyrator_study::parse(text, "").unwrap_err()
        }),
    ] {
        for (heading, text) in tables {
            headings.insert(*heading);
            let problems = read(text).list;
            let mut unknown = problems
                .iter()
                .filter(|problem| problem.rule == "unknown-key");
            let help = unknown.next().and_then(|problem| problem.help.as_deref());
            let known = help
                .and_then(|help| help.strip_prefix("known keys: "))
                .unwrap();
            let known: BTreeSet<&str> = known.split(", ").collect();
            assert_eq!(
                known,
                keys(&page, heading),
                "docs/reference/keys.md, {heading}"
            );
        }
    }
    let written: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect();
    assert_eq!(headings, written);
    for Kind {
        word,
        summary,
        quantity,
        ..
    } in KINDS
    {
        let summary = summary.replace('|', "\\|");
        let row = format!("| `{word}` | of a {} | {summary} | |", quantity.key());
        assert!(
            page.contains(&row),
            "docs/reference/keys.md lacks the row\n{row}"
        );
    }
}

fn known_to_systems(text: &str) -> Problems {
    toml_file::parse(text, "").unwrap_err()
}

/// The first cells of the table below a heading.
fn keys<'a>(page: &'a str, heading: &str) -> BTreeSet<&'a str> {
    let (_, below) = page.split_once(&format!("\n### {heading}\n")).unwrap();
    let rows = below.lines().take_while(|line| !line.starts_with('#'));
    let keys = rows.filter_map(|row| row.strip_prefix("| `")?.split_once("` |"));
    keys.map(|(key, _)| key).collect()
}

#[test]
fn words_are_those_of_the_registries() {
    let output = Command::new(env!("CARGO_BIN_EXE_gyrator"))
        .args(["list", "--json"])
        .output()
        .unwrap();
    let registries: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut text = format!(
        "# Words\n\n{NOTE}\nThe words that keys of files take, with their parameters, as `gyrator list` prints them. [Order and inputs](../coupling.md#compatibility) says which do \
         not go together.\n"
    );
    for registry in registries.as_array().unwrap() {
        let (name, key) = (string(registry, "registry"), string(registry, "key"));
        let title = capitalised(&name);
        let _ = write!(text, "\n## {title}\n\nFor {}.\n", marked(&key));
        for word in registry["entries"].as_array().unwrap() {
            text.push_str(&described(word));
        }
    }
    hold_words(&text);
}

/// Keys and tables in a sentence as code.
fn marked(text: &str) -> String {
    let word = |(place, word): (usize, &str)| {
        let name = word.trim_end_matches(',');
        match place == 0 || name.starts_with('[') {
            true => format!("`{name}`{}", &word[name.len()..]),
            false => word.to_owned(),
        }
    };
    text.split(' ')
        .enumerate()
        .map(word)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A sentence.
fn capitalised(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

fn described(word: &Value) -> String {
    let mut text = format!(
        "\n### {}\n\n{}.",
        string(word, "name"),
        capitalised(&escaped(&string(word, "summary")))
    );
    let aliases: Vec<&str> = word["aliases"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if !aliases.is_empty() {
        let _ = write!(text, " Alias: `{}`.", aliases.join("`, `"));
    }
    match string(word, "source") {
        source if source.is_empty() => text.push('\n'),
        source => drop(writeln!(text, " *{}.*", escaped(&source))),
    }
    let parameters = word["parameters"].as_array().unwrap();
    if !parameters.is_empty() {
        text.push_str("\n| parameter | default | allowed | meaning |\n|---|---|---|---|\n");
    }
    for parameter in parameters {
        let [name, summary] = ["name", "summary"].map(|key| string(parameter, key));
        let default = match &parameter["default"] {
            Value::String(text) => format!("`{text}`"),
            Value::Null => "none".to_owned(),
            other => other.to_string(),
        };
        let _ = writeln!(
            text,
            "| `{name}` | {default} | {} | {} |",
            allowed(parameter),
            escaped(&summary)
        );
    }
    text
}

/// The values that a parameter takes.
fn allowed(parameter: &Value) -> String {
    let words = parameter["words"].as_array().unwrap();
    let mut kinds: Vec<String> = words
        .iter()
        .map(|word| format!("`{}`", word.as_str().unwrap()))
        .collect();
    let bounds = parameter["range"].as_array();
    if let Some([least, greatest]) = bounds.map(Vec::as_slice) {
        let least = least.as_f64().filter(|least| *least > -f64::MAX);
        let greatest = greatest.as_f64().filter(|greatest| *greatest < f64::MAX);
        kinds.push(match (least, greatest) {
            (Some(f64::MIN_POSITIVE), None) => "above 0".to_owned(),
            (Some(least), Some(greatest)) => format!("{least} to {greatest}"),
            (Some(least), None) => format!("at least {least}"),
            (None, Some(greatest)) => format!("at most {greatest}"),
            (None, None) => "a number".to_owned(),
        });
    }
    if parameter["is_whole"] == true {
        kinds.insert(0, "whole".to_owned());
    }
    if parameter["takes_names"] == true {
        kinds.push("names of components".to_owned());
    }
    if parameter["takes_signals"] == true {
        kinds.push("names of signals".to_owned());
    }
    kinds.extend(parameter["takes"].as_str().map(str::to_owned));
    if parameter["default"].is_boolean() {
        kinds.push("true or false".to_owned());
    }
    kinds.join(", ")
}

fn string(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// A text in a table or a paragraph of Markdown.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('[', "\\[")
        .replace('*', "\\*")
        .replace('<', "&lt;")
}

/// Compares the page with its text, or writes it.
fn hold_words(text: &str) {
    let path = root().join("docs/reference/words.md");
    if is_written_anew() {
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/reference/words.md is stale: GYRATOR_WRITE_DOCS=1 cargo test --package gyrator-cli --test docs reference"
    );
}
