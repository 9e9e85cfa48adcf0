//! Scenario files.
//!
//! ```toml
//! [[actions]]
//! time = 2.0                                   # s
//! until = 3.0                                  # s; left out, the action does not end
//! variable = "wheel.road"
//! action = { name = "bias", value = 0.01 }     # a word of the registry, or "freeze"
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::section::{Reader, Section};
use super::{ReadError, parse_document, read_text};
use crate::problem::{Problem, Problems};
use crate::scenario::{Scenario, TimedAction};

/// Reads a scenario file.
///
/// # Errors
/// [`ReadError`] if the file cannot be read, or with all problems of its text.
pub fn read_scenario(path: &Path) -> Result<Scenario, ReadError> {
    Ok(parse_scenario(read_text("the scenario file", path)?, path)?)
}

/// Reads a scenario from text, which comes from `path`. Names and words are looked up when it is joined
/// to a system.
///
/// # Errors
/// All problems of the text.
pub fn parse_scenario(
    text: impl Into<String>,
    path: impl Into<PathBuf>,
) -> Result<Scenario, Problems> {
    parse_document(text, path, "a scenario file", |mut root, reader| {
        let mut actions = Vec::new();
        if let Some(list) = root.required("actions", reader) {
            for section in reader.tables("actions", list) {
                actions.extend(action(section, reader));
            }
        }
        root.finish(reader);
        let source = Arc::clone(reader.source());
        Some(Scenario { source, actions })
    })
}

fn action(mut section: Section<'_>, reader: &mut Reader) -> Option<TimedAction> {
    let time = section.required("time", reader);
    let time = time.and_then(|value| reader.number("time", value));
    let until = section.number("until", reader);
    let variable = section.required_text("variable", reader);
    let action = section.required("action", reader);
    let action = action.and_then(|value| reader.choice("action", value));
    section.finish(reader);
    for time in time.iter().chain(&until) {
        if !time.value.is_finite() {
            let message = format!("the time is {} s; it must be a number", time.value);
            reader.error("not-finite", message, &time.span);
        }
    }
    if let (Some(time), Some(until)) = (&time, &until)
        && until.value <= time.value
    {
        let message = format!(
            "the action ends at {} s and begins at {} s",
            until.value, time.value
        );
        let problem = Problem::error("ends-before-begin", message).at(&until.span);
        reader
            .problems
            .push(problem.help("`until` is a time, not a duration"));
    }
    Some(TimedAction {
        time: time?,
        until,
        variable: variable?,
        action: action?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<&'static str> {
        let problems = parse_scenario(text, "scenario.toml").map_err(|problems| problems.list);
        let list = problems.err().unwrap_or_default();
        list.into_iter().map(|problem| problem.rule).collect()
    }

    #[test]
    fn all_mistakes_are_found_at_once() {
        let text = "acts = 1\n[[actions]]\ntime = \"soon\"\nvarable = \"a.b\"\naction = \"freeze\"\n\
                    [[actions]]\ntime = 2\nuntil = 1\nvariable = \"a.b\"\naction = { value = 1 }\n";
        let found = rules(text);
        for rule in [
            "wrong-type",
            "unknown-key",
            "ends-before-begin",
            "missing-key",
        ] {
            assert!(found.contains(&rule), "{rule}: {found:?}");
        }
        assert_eq!(rules(""), ["missing-key"]);
        assert_eq!(rules("[[actions]"), ["syntax"]);
        assert_eq!(
            rules("[[actions]]\ntime = nan\nvariable = \"a.b\"\naction = \"freeze\"\n"),
            ["not-finite"]
        );
    }

    #[test]
    fn the_example_is_read() {
        let text = "[[actions]]\ntime = 2.0\nuntil = 3\nvariable = \"a.b\"\n\
                    action = { name = \"bias\", value = 0.01 }\n";
        let scenario = parse_scenario(text, "scenario.toml").unwrap();
        let action = &scenario.actions[0];
        assert_eq!(action.time.value, 2.0);
        assert_eq!(action.until.as_ref().map(|until| until.value), Some(3.0));
        assert_eq!(action.action.name.value, "bias");
        assert_eq!(action.action.parameters.len(), 1);
    }
}
