//! JSON with the places of its values in the text of all files.

use std::ops::Range;

use gyrator_system::{Problem, Spanned, did_you_mean};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Deserializer;

use crate::tree::Reader;

/// A value of a text that is known to be JSON.
#[derive(Clone, Copy)]
pub(super) struct Json<'t> {
    text: &'t str,
    /// Its offset in the source.
    start: usize,
}

/// A member of an object: its name and its value.
pub(super) type Member<'t> = (Spanned<String>, Json<'t>);

/// The value of a text that starts at this offset of the source.
pub(super) fn parse<'t>(text: &'t str, start: usize, reader: &mut Reader<'_>) -> Option<Json<'t>> {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        let mut before = text
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1));
        let line: usize = before.by_ref().map(str::len).sum();
        let offset = text.floor_char_boundary(line + error.column().saturating_sub(1));
        let end = text.ceil_char_boundary(offset + 1);
        let message = format!("this is no JSON: {error}");
        let span = start + offset..start + end;
        reader.error("syntax", message, &span);
        return None;
    }
    let whole = Json { text, start };
    Some(whole.part(text.trim()))
}

/// The first value of a text, and what comes after it.
fn split_value(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let _ = values.next();
    text.split_at(values.byte_offset())
}

impl<'t> Json<'t> {
    /// A slice of its text.
    fn part(&self, text: &'t str) -> Self {
        let start = self.start + (text.as_ptr().addr() - self.text.as_ptr().addr());
        Self { text, start }
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.text).ok()
    }

    pub(super) fn text(&self) -> Option<Spanned<String>> {
        Some(Spanned::new(self.read()?, self.span()))
    }

    pub(super) fn number(&self) -> Option<f64> {
        self.read()
    }

    pub(super) fn integer(&self) -> Option<i64> {
        self.read()
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        self.read()
    }

    /// Whether it says nothing: `null`, `false`, or nothing in quotes, brackets or braces.
    pub(super) fn is_nothing(&self) -> bool {
        let inner = |open, close| Some(self.text.strip_prefix(open)?.strip_suffix(close)?.trim());
        let pairs = [('{', '}'), ('[', ']'), ('"', '"')];
        let mut inner = pairs
            .into_iter()
            .filter_map(|(open, close)| inner(open, close));
        matches!(self.text, "null" | "false") || inner.any(str::is_empty)
    }

    /// The members of an object.
    pub(super) fn members(&self) -> Option<Vec<Member<'t>>> {
        let mut rest = self.text.strip_prefix('{')?;
        let mut members = Vec::new();
        loop {
            rest = rest.trim_start_matches([' ', '\t', '\r', '\n', ',']);
            if !rest.starts_with('"') {
                return Some(members);
            }
            let (name, after) = split_value(rest);
            let (value, after) = split_value(after.trim_start().strip_prefix(':')?);
            members.push((self.part(name).text()?, self.part(value)));
            rest = after;
        }
    }

    /// The values of a list.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        let mut rest = self.text.strip_prefix('[')?;
        let mut items = Vec::new();
        loop {
            rest = rest.trim_start_matches([' ', '\t', '\r', '\n', ',']);
            if rest.is_empty() || rest.starts_with(']') {
                return Some(items);
            }
            let (value, after) = split_value(rest);
            if value.is_empty() {
                return Some(items);
            }
            items.push(self.part(value));
            rest = after;
        }
    }

    /// Reports a value that is of another type.
    pub(super) fn wrong(&self, name: &str, expected: &str, reader: &mut Reader<'_>) {
        let shown: String = self.text.chars().take(40).collect();
        let message = format!("`{name}` must be {expected}, not `{shown}`");
        reader.error("wrong-type", message, &self.span());
    }
}

/// An object whose keys are known.
#[derive(Clone)]
pub(super) struct Object<'t>(Vec<Member<'t>>);

impl<'t> Object<'t> {
    /// Reads an object, and reports keys that are not known or given again.
    pub(super) fn new(name: &str, json: Json<'t>, known: &[&str], reader: &mut Reader<'_>) -> Self {
        let Some(members) = json.members() else {
            json.wrong(name, "an object in braces", reader);
            return Self(Vec::new());
        };
        for (place, (key, _)) in members.iter().enumerate() {
            let problem = if !known.contains(&&*key.value) {
                let message = format!("unknown key `{}`; ignored", key.value);
                let help = did_you_mean(&key.value, known.iter().copied());
                Problem::warning("unknown-key", message).advised(help)
            } else if members[..place]
                .iter()
                .any(|(other, _)| other.value == key.value)
            {
                let message = format!("`{}` is given again; the last value counts", key.value);
                Problem::warning("repeated-key", message)
            } else {
                continue;
            };
            reader.problems.push(problem.at(&key.span));
        }
        Self(members)
    }

    /// The value of a key, if it is there and not `null`.
    pub(super) fn get(&self, key: &str) -> Option<Json<'t>> {
        let mut members = self.0.iter().rev();
        let (_, value) = members.find(|(known, _)| known.value == key)?;
        (value.text != "null").then_some(*value)
    }

    /// A number of a key.
    pub(super) fn number(&self, key: &str, reader: &mut Reader<'_>) -> Option<Spanned<f64>> {
        let value = self.get(key)?;
        let number = value.number();
        if number.is_none() {
            value.wrong(key, "a number", reader);
        }
        Some(Spanned::new(number?, value.span()))
    }
}
