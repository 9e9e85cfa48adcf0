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

use toml::de::DeTable;

use super::section::{Reader, Section};
use super::{has_errors, syntax_problem};
use crate::problem::{Problem, Problems, Source};
use crate::scenario::{Scenario, TimedAction};

/// Why a scenario file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file could not be read, or is not UTF-8.
    #[error("cannot read the scenario file {}: {source}", path.display())]
    Io {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The text does not describe a scenario.
    #[error(transparent)]
    Problems(#[from] Problems),
}

/// Reads a scenario file.
///
/// # Errors
/// [`ScenarioError`] if the file cannot be read, or with all problems of its text.
pub fn read_scenario(path: &Path) -> Result<Scenario, ScenarioError> {
    let text = std::fs::read_to_string(path).map_err(|source| ScenarioError::Io {
        path: path.to_owned(),
        source,
    })?;
    Ok(parse_scenario(text, path)?)
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
    let source = Arc::new(Source::new(path, text));
    let (document, errors) = DeTable::parse_recoverable(&source.text);
    let mut reader = Reader::new(Arc::clone(&source));
    let syntax = errors.iter();
    let syntax = syntax.map(|error| syntax_problem(error, &source.text, 0));
    reader.problems.extend(syntax);
    let actions = if errors.is_empty() {
        read_actions(document.get_ref(), &mut reader)
    } else {
        Vec::new()
    };
    let mut list = reader.problems;
    list.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    if has_errors(&list) {
        return Err(Problems { source, list });
    }
    Ok(Scenario { source, actions })
}

fn read_actions(document: &DeTable<'_>, reader: &mut Reader) -> Vec<TimedAction> {
    let mut root = Section::new("a scenario file", document, 0..0);
    let Some(list) = root.required("actions", reader) else {
        root.finish(reader);
        return Vec::new();
    };
    let sections = reader.tables("actions", list);
    let mut actions = Vec::new();
    for section in sections {
        actions.extend(action(section, reader));
    }
    root.finish(reader);
    actions
}

fn action(mut section: Section<'_>, reader: &mut Reader) -> Option<TimedAction> {
    let time = section.required("time", reader);
    let time = time.and_then(|value| reader.number("time", value));
    let until = section.number("until", reader);
    let variable = section.required("variable", reader);
    let variable = variable.and_then(|value| reader.text("variable", value));
    let action = section.required("action", reader);
    let action = action.and_then(|value| reader.choice("action", value));
    section.finish(reader);
    for time in time.iter().chain(&until) {
        if !time.value.is_finite() {
            let message = format!("the time is {} s; it must be a number", time.value);
            let problem = Problem::error("not-finite", message).at(&time.span);
            reader.problems.push(problem);
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
