//! The pages of `docs/reference`, which are written from the program: keys from the tables that tests of the readers hold, words from the
//! registries. A page that is stale fails; with `GYRATOR_WRITE_DOCS=1` it is written anew.

use std::fmt::Write as _;
use std::process::Command;

use gyrator_assess::checks::{CHECK_KEYS, KINDS, Kind};
use gyrator_study::STUDY_KEYS;
use gyrator_system::toml_file::{KeyTable, SCENARIO_KEYS, SYSTEM_KEYS};
use serde_json::Value;

use crate::page::root;

const NOTE: &str = "<!-- Written by a test: GYRATOR_WRITE_DOCS=1 cargo test --package gyrator-cli --test docs reference -->\n";

#[test]
fn keys_are_those_of_the_readers() {
    let mut text = format!(
        "# Keys of files\n\n{NOTE}\nAll keys that the program reads. A path is relative to the folder of its file. A *word* is one of [these](words.md), \
         or a table with its parameters: `{{ name = \"residual-power\", mu = 0.5 }}`. Unknown keys are errors, with the nearest known one as advice.\n"
    );
    for (title, page, tables) in [
        ("System files", "../system-files.md", SYSTEM_KEYS),
        ("Scenarios", "../scenarios.md", SCENARIO_KEYS),
        ("Checks", "../checks.md", CHECK_KEYS),
        ("Studies", "../studies.md", STUDY_KEYS),
    ] {
        let _ = write!(text, "\n## {title}\n\n[Use and examples]({page}).\n");
        tables
            .iter()
            .for_each(|table| text.push_str(&section(title, table)));
    }
    hold("keys.md", &text);
}

fn section(title: &str, table: &KeyTable) -> String {
    let mut text = match table.table {
        "" => format!("\n### {title}: the file\n"),
        name if name.contains('`') => format!("\n### {name}\n"),
        name => format!("\n### `{name}`\n"),
    };
    let _ = write!(
        text,
        "\n{}\n\n| key | value | meaning | default |\n|---|---|---|---|\n",
        table.purpose
    );
    for key in table.keys {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            key.name, key.value, key.meaning, key.default
        );
    }
    let kinds = KINDS.iter().filter(|_| table.table == "[[checks]]");
    for Kind {
        word,
        summary,
        quantity,
        ..
    } in kinds
    {
        let summary = summary.replace('|', "\\|");
        let _ = writeln!(text, "| `{word}` | of a {} | {summary} | |", quantity.key());
    }
    text
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
    hold("words.md", &text);
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
    if parameter["takes_names"] == true {
        kinds.push("names of components".to_owned());
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

/// Compares a page with its text, or writes it.
fn hold(name: &str, text: &str) {
    let path = root().join("docs/reference").join(name);
    if std::env::var_os("GYRATOR_WRITE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/reference/{name} is stale: GYRATOR_WRITE_DOCS=1 cargo test --package gyrator-cli --test docs reference"
    );
}
