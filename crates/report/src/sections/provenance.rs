//! What it takes to repeat the run bit for bit.

use std::fmt::Write as _;

use serde_json::Value;

use crate::facts::{words, written};
use crate::html::{escape, paragraph};

/// Deepest nesting that is shown.
const DEPTH: usize = 6;

/// The command, then every other fact of the provenance.
pub(super) fn provenance(summary: &Value) -> String {
    let Some(facts) = summary["provenance"].as_object() else {
        return String::new();
    };
    let mut html = String::new();
    if let Some(command) = command(&summary["provenance"]) {
        let _ = writeln!(html, "<pre><code>{}</code></pre>", escape(&command));
    }
    html.push_str(&paragraph(
        "The same files, by their hashes, and the same version of gyrator give the same bits, whatever the number of \
         threads or the order of the system file.",
    ));
    let rest = facts.iter().filter(|(key, _)| !is_command(key));
    html.push_str("<div class=\"scroll\"><table class=\"pairs\"><tbody>\n");
    for (key, value) in rest {
        rows(&mut html, &words(key), value, DEPTH);
    }
    html.push_str("</tbody></table></div>\n");
    html
}

fn is_command(key: &str) -> bool {
    matches!(key, "arguments" | "command")
}

/// The words of the command, as a POSIX shell reads them.
fn command(provenance: &Value) -> Option<String> {
    let words = ["command", "arguments"]
        .iter()
        .find_map(|key| provenance[*key].as_array())?;
    let quoted: Vec<String> = words.iter().map(|word| quote(&written(word))).collect();
    let command = quoted.join(" ");
    Some(
        match quoted
            .first()
            .is_some_and(|first| first.ends_with("gyrator"))
        {
            true => command,
            false => format!("gyrator {command}"),
        },
    )
}

/// A word for a POSIX shell: in single quotes unless it needs none.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+%@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// A fact, or one row for each part of it.
fn rows(html: &mut String, name: &str, value: &Value, depth: usize) {
    match value {
        Value::Null => {}
        Value::Object(parts) if depth > 0 => {
            for (key, part) in parts {
                rows(html, &format!("{name} · {key}"), part, depth - 1);
            }
        }
        Value::Array(parts)
            if depth > 0 && parts.iter().any(|part| part.is_object() || part.is_array()) =>
        {
            for (index, part) in parts.iter().enumerate() {
                let part_name = part["name"].as_str().or(part["component"].as_str());
                let part_name = part_name.map_or_else(|| (index + 1).to_string(), str::to_owned);
                rows(html, &format!("{name} · {part_name}"), part, depth - 1);
            }
        }
        Value::Array(parts) => {
            let parts: Vec<String> = parts.iter().map(written).collect();
            row(html, name, &parts.join(" "));
        }
        other => row(html, name, &written(other)),
    }
}

fn row(html: &mut String, name: &str, text: &str) {
    let (name, text) = (escape(name), escape(text));
    let _ = writeln!(
        html,
        "<tr><th scope=\"row\">{name}</th><td><code>{text}</code></td></tr>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_quoted_for_a_shell() {
        let provenance = serde_json::json!({ "arguments": ["run", "it's a.toml", "--step-size=1e-3", "$(x)", ""] });
        assert_eq!(
            command(&provenance).unwrap(),
            r"gyrator run 'it'\''s a.toml' --step-size=1e-3 '$(x)' ''"
        );
    }
}
