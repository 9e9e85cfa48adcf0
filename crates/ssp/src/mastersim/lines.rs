//! Lines of a project: a keyword and what follows it. A line that begins with `#` is a comment.

use std::collections::BTreeMap;
use std::ops::Range;

use gyrator_system::{Problem, Spanned, did_you_mean};

use crate::tree::Reader;

/// Keywords with one value each.
const SETTINGS: [&str; 17] = [
    "tStart",
    "tEnd",
    "hMax",
    "hMin",
    "hFallBackLimit",
    "hStart",
    "hOutputMin",
    "outputTimeUnit",
    "adjustStepSize",
    "preventOversteppingOfEndTime",
    "absTol",
    "relTol",
    "MasterMode",
    "ErrorControlMode",
    "maxIterations",
    "writeInternalVariables",
    "writeUnconnectedFileReaderVars",
];

/// Keywords of lines that may be repeated.
const LISTS: [&str; 4] = ["simulator", "graph", "parameter", "outputOnly"];

/// Units of time and their seconds (`project_reference.adoc`): a year has 365 days.
const UNITS: [(&str, f64); 6] = [
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3600.0),
    ("d", 86400.0),
    ("a", 365.0 * 86400.0),
];

/// A line that is no comment and not empty.
pub(super) struct Line<'t> {
    pub(super) key: Spanned<&'t str>,
    /// What follows the keyword, without spaces around it.
    pub(super) rest: Spanned<&'t str>,
}

/// The lines of a text that starts at this offset of the source.
pub(super) fn lines(text: &str, start: usize) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    let mut offset = start;
    for line in text.split_inclusive('\n') {
        let trimmed = placed(line, offset);
        offset += line.len();
        if trimmed.value.is_empty() || trimmed.value.starts_with('#') {
            continue;
        }
        let end = trimmed.value.find([' ', '\t']);
        let (key, rest) = trimmed.value.split_at(end.unwrap_or(trimmed.value.len()));
        let rest = placed(rest, trimmed.span.start + key.len());
        let key = placed(key, trimmed.span.start);
        found.push(Line { key, rest });
    }
    found
}

/// A part of the source without spaces around it.
fn placed(text: &str, offset: usize) -> Spanned<&str> {
    let start = offset + text.len() - text.trim_start().len();
    let trimmed = text.trim();
    Spanned::new(trimmed, start..start + trimmed.len())
}

impl<'t> Line<'t> {
    /// The words after the keyword; quotes hold spaces together and do not belong to a word.
    pub(super) fn words(&self) -> Vec<Spanned<&'t str>> {
        let (text, start) = (self.rest.value, self.rest.span.start);
        let mut words = Vec::new();
        let mut rest = text;
        loop {
            rest = rest.trim_start();
            let begin = start + text.len() - rest.len();
            let (skipped, end) = match rest.strip_prefix('"') {
                Some(inner) => (1, inner.find('"').map(|end| 1 + end)),
                None if rest.is_empty() => return words,
                None => (0, rest.find([' ', '\t'])),
            };
            let end = end.unwrap_or(rest.len());
            let word = Spanned::new(&rest[skipped..end], begin + skipped..begin + end);
            words.push(word);
            rest = rest[end..].strip_prefix('"').unwrap_or(&rest[end..]);
        }
    }

    /// The place of the whole line.
    pub(super) fn span(&self) -> Range<usize> {
        self.key.span.start..self.rest.span.end.max(self.key.span.end)
    }
}

/// The keywords with one value, as a project gives them.
pub(super) struct Settings<'t>(BTreeMap<&'static str, Spanned<&'t str>>);

impl<'t> Settings<'t> {
    pub(super) fn new(lines: &[Line<'t>], reader: &mut Reader<'_>) -> Self {
        let mut settings = Self(BTreeMap::new());
        for line in lines {
            let key = line.key.value;
            let Some(known) = SETTINGS.iter().find(|known| **known == key) else {
                unknown(line, reader);
                continue;
            };
            if settings.0.insert(known, line.rest.clone()).is_some() {
                let message = format!("`{key}` is given again; the last line counts");
                let problem = Problem::warning("repeated-key", message);
                reader.problems.push(problem.at(&line.key.span));
            }
        }
        settings
    }

    /// The value, if the project has one.
    pub(super) fn get(&self, key: &str) -> Option<&Spanned<&'t str>> {
        self.0.get(key)
    }

    /// A time with its unit, s.
    pub(super) fn time(&self, key: &str, default: f64, reader: &mut Reader<'_>) -> Spanned<f64> {
        let Some(given) = self.get(key) else {
            return Spanned::unplaced(default);
        };
        let mut words = given.value.split_whitespace();
        let number = words.next().and_then(|word| word.parse::<f64>().ok());
        let unit = words.next();
        let factor = UNITS.iter().find(|(name, _)| Some(*name) == unit);
        let value = match (number, factor, words.next()) {
            (Some(number), Some((_, factor)), None) if number.is_finite() => number * factor,
            _ => {
                let example = format!("`{key} 10 s`; units are ms, s, min, h, d and a");
                self.wrong(key, "a number and a unit of time", &example, reader);
                default
            }
        };
        Spanned::new(value, given.span.clone())
    }

    /// A number that is not negative.
    pub(super) fn number(&self, key: &str, default: f64, reader: &mut Reader<'_>) -> Spanned<f64> {
        let Some(given) = self.get(key) else {
            return Spanned::unplaced(default);
        };
        let number = given.value.parse::<f64>().ok();
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        if number.is_none() {
            self.wrong(
                key,
                "a number of at least 0",
                &format!("`{key} {default}`"),
                reader,
            );
        }
        Spanned::new(number.unwrap_or(default), given.span.clone())
    }

    /// A whole number.
    pub(super) fn count(&self, key: &str, default: u32, reader: &mut Reader<'_>) -> u32 {
        let Some(given) = self.get(key) else {
            return default;
        };
        let count = given.value.parse().ok().filter(|count| *count > 0);
        count.unwrap_or_else(|| {
            self.wrong(
                key,
                "a whole number from 1",
                &format!("`{key} {default}`"),
                reader,
            );
            default
        })
    }

    /// Whether something is on.
    pub(super) fn flag(&self, key: &str, default: bool, reader: &mut Reader<'_>) -> bool {
        match self.get(key).map(|given| given.value) {
            None => default,
            Some("true" | "yes" | "1") => true,
            Some("false" | "no" | "0") => false,
            Some(_) => {
                self.wrong(key, "`yes` or `no`", &format!("`{key} no`"), reader);
                default
            }
        }
    }

    /// One of these words, the first if the project has none.
    pub(super) fn word(
        &self,
        key: &str,
        words: &[&'static str],
        reader: &mut Reader<'_>,
    ) -> &'static str {
        let Some(given) = self.get(key) else {
            return words[0];
        };
        let found = words.iter().find(|word| **word == given.value);
        found.copied().unwrap_or_else(|| {
            let known = words.join("`, `");
            let message = format!("`{key}` must be one of `{known}`, not `{}`", given.value);
            let help = did_you_mean(given.value, words.iter().copied());
            let problem = Problem::error("unknown-word", message).at(&self.place(key));
            reader.problems.push(problem.advised(help));
            words[0]
        })
    }

    /// The place of a value, or of nothing.
    pub(super) fn place(&self, key: &str) -> Range<usize> {
        self.get(key).map_or(0..0, |given| given.span.clone())
    }

    fn wrong(&self, key: &str, expected: &str, example: &str, reader: &mut Reader<'_>) {
        let found = self.get(key).map_or("", |given| given.value);
        let message = format!("`{key}` must be {expected}, not `{found}`");
        // A value may be asked for more than once.
        if reader.is_new(message.clone()) {
            let problem = Problem::error("wrong-type", message).at(&self.place(key));
            reader
                .problems
                .push(problem.help(format!("write it as {example}")));
        }
    }
}

/// Reports keywords that mean nothing here.
fn unknown(line: &Line<'_>, reader: &mut Reader<'_>) {
    let key = line.key.value;
    let problem = match key {
        "outputOnly" => {
            let message = "`outputOnly` is ignored, as MasterSim does: all outputs are recorded";
            let problem = Problem::warning("not-supported", message);
            problem.help("name those that you want with --output-variable")
        }
        _ if LISTS.contains(&key) => return,
        _ => {
            let known = SETTINGS.iter().chain(&LISTS).copied();
            let message = format!("unknown keyword `{key}`; ignored");
            Problem::warning("unknown-key", message).advised(did_you_mean(key, known))
        }
    };
    reader.problems.push(problem.at(&line.key.span));
}
