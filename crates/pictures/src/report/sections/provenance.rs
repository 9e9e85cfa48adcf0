//! The section with all that is needed to repeat the run bit for bit.

use serde_json::Value;

use crate::report::facts::{list, text, written};
use crate::report::html::{escape, paragraph};

/// The command, with what has to be the same.
pub(super) fn provenance(summary: &Value) -> String {
    let provenance = &summary["provenance"];
    let command = command(list(provenance, "arguments"));
    if command.is_empty() {
        return String::new();
    }
    let version = text(provenance, "gyrator");
    let text = format!(
        "With gyrator {version} and the files above, by their hashes, this command makes the same result bit for bit, \
         whatever the number of threads:"
    );
    format!(
        "{}<pre><code>{}</code></pre>\n",
        paragraph(&text),
        escape(&command)
    )
}

/// The command, as a POSIX shell reads it; empty if the arguments are not known.
fn command(arguments: &[Value]) -> String {
    let words = arguments.iter().map(|word| quote(&written(word)));
    let words: Vec<String> = words.collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("gyrator {}", words.join(" ")),
    }
}

/// A word for a POSIX shell: in single quotes unless it needs none.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+%@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_quoted_for_a_shell() {
        let arguments = ["run", "it's a.toml", "--step-size=1e-3", "$(x)", ""].map(Value::from);
        assert_eq!(
            command(&arguments),
            r"gyrator run 'it'\''s a.toml' --step-size=1e-3 '$(x)' ''"
        );
        assert_eq!(command(&[]), "");
    }
}
