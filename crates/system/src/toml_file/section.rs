//! Typed access to a table of the file: keys that are never read are reported as unknown.
//!
//! A reader takes keys one by one, with defaults that depend on others; a schema that generates it would have to say
//! all that, and errors with places would suffer. docs/reference/keys.md has what the reader does not know: meaning
//! and physical unit. When the reader meets an unknown key it names the known ones, which is what the test of
//! that page compares.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use toml::Spanned as Placed;
use toml::de::{DeTable, DeValue};

use crate::problem::{Problem, Source, Spanned, closest, did_you_mean};
use crate::system_file::{Choice, Value};

/// Keys of a system file that are not tables: below a table, TOML takes them for its keys.
const KEYS_OF_SYSTEMS: [&str; 2] = ["connections", "include"];

/// Problems and context collected while a document is read.
pub struct Reader {
    /// The problems found so far.
    pub problems: Vec<Problem>,
    source: Arc<Source>,
    /// Names of components that the document may refer to, besides its own.
    pub other_components: BTreeSet<String>,
}

impl Reader {
    /// A reader of `source` without problems yet.
    pub fn new(source: Arc<Source>) -> Self {
        Self {
            problems: Vec::new(),
            source,
            other_components: BTreeSet::new(),
        }
    }

    /// The text that is read.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// A path, which is relative to the folder of the file that names it.
    pub fn path(&self, text: Spanned<String>) -> Spanned<PathBuf> {
        let folder = self.source.folder_at(text.span.start);
        Spanned::new(folder.join(text.value), text.span)
    }

    /// Reports an error at a place.
    pub fn error(&mut self, rule: &'static str, message: impl Into<String>, span: &Range<usize>) {
        self.problems.push(Problem::error(rule, message).at(span));
    }

    /// Reports that `key` holds something else than `expected`. An empty value was made up by the
    /// parser, which has reported it.
    pub fn wrong_type(&mut self, key: &str, expected: &str, value: &Placed<DeValue<'_>>) {
        if value.span().is_empty() {
            return;
        }
        let message = format!(
            "`{key}` must be {expected}, not {}",
            describe(value.get_ref())
        );
        self.error("wrong-type", message, &value.span());
    }

    /// A number, whole or not.
    pub fn number(&mut self, key: &str, value: &Placed<DeValue<'_>>) -> Option<Spanned<f64>> {
        match self.scalar(key, "a number", value)?.value {
            Value::Real(number) => Some(Spanned::new(number, value.span())),
            // Beyond 2^53 a whole number is rounded, as in any number literal.
            Value::Integer(number) => Some(Spanned::new(number as f64, value.span())),
            Value::Boolean(_) | Value::String(_) => {
                self.wrong_type(key, "a number", value);
                None
            }
        }
    }

    /// A whole number of at least one.
    pub(super) fn count(&mut self, key: &str, value: &Placed<DeValue<'_>>) -> Option<u32> {
        let count = match self.scalar(key, "a whole number", value)?.value {
            Value::Integer(number) => u32::try_from(number).ok().filter(|number| *number > 0),
            _ => None,
        };
        if count.is_none() {
            let message = format!("`{key}` must be a whole number of at least 1");
            self.error("not-a-count", message, &value.span());
        }
        count
    }

    /// A string.
    pub fn text(&mut self, key: &str, value: &Placed<DeValue<'_>>) -> Option<Spanned<String>> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.wrong_type(key, "a string", value);
        }
        text.map(|text| Spanned::new(text.to_owned(), value.span()))
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, key: &str, value: &Placed<DeValue<'_>>) -> Option<Spanned<bool>> {
        let boolean = value.get_ref().as_bool();
        if boolean.is_none() {
            self.wrong_type(key, "true or false", value);
        }
        boolean.map(|boolean| Spanned::new(boolean, value.span()))
    }

    /// A number, boolean or string.
    pub fn scalar(
        &mut self,
        key: &str,
        expected: &str,
        value: &Placed<DeValue<'_>>,
    ) -> Option<Spanned<Value>> {
        let parsed = match value.get_ref() {
            DeValue::Boolean(boolean) => Some(Value::Boolean(*boolean)),
            DeValue::String(text) => Some(Value::String(text.clone().into_owned())),
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
                .ok()
                .map(Value::Integer),
            DeValue::Float(float) => {
                let number = float.as_str().parse().ok();
                number
                    .filter(|number| is_as_written(*number, float.as_str()))
                    .map(Value::Real)
            }
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                self.wrong_type(key, expected, value);
                return None;
            }
        };
        if parsed.is_none() {
            let message = format!("the number of `{key}` is too large");
            self.error("number-too-large", message, &value.span());
        }
        parsed.map(|parsed| Spanned::new(parsed, value.span()))
    }

    /// A word of a registry, alone or in a table with its parameters.
    pub fn choice(&mut self, key: &str, value: &Placed<DeValue<'_>>) -> Option<Choice> {
        let DeValue::Table(table) = value.get_ref() else {
            let expected = "a string or a table with `name`";
            let Some(word) = value.get_ref().as_str() else {
                self.wrong_type(key, expected, value);
                return None;
            };
            let name = Spanned::new(word.to_owned(), value.span());
            return Some(Choice {
                name,
                parameters: Vec::new(),
            });
        };
        let mut section = Section::new(format!("`{key}`"), table, value.span());
        let name = section.required_text("name", self);
        let mut parameters = Vec::new();
        for (parameter, value) in section.rest() {
            let scalar = self.scalar(&parameter.value, "a number, boolean or string", value);
            parameters.extend(scalar.map(|value| (parameter, value)));
        }
        Some(Choice {
            name: name?,
            parameters,
        })
    }

    /// Strings in a list; one alone counts as a list of one.
    pub fn texts(&mut self, key: &str, value: &Placed<DeValue<'_>>) -> Vec<Spanned<String>> {
        let texts = elements(value).iter();
        texts.filter_map(|text| self.text(key, text)).collect()
    }

    /// The tables in a list; one alone counts as a list of one.
    pub fn tables<'a>(&mut self, key: &str, value: &'a Placed<DeValue<'a>>) -> Vec<Section<'a>> {
        let mut sections = Vec::new();
        for element in elements(value) {
            match element.get_ref() {
                DeValue::Table(table) => {
                    sections.push(Section::new(
                        format!("an element of `{key}`"),
                        table,
                        element.span(),
                    ));
                }
                _ => self.wrong_type(key, "a list of tables", element),
            }
        }
        sections
    }
}

/// The elements of a list; a value alone is a list of one.
pub fn elements<'v, 'a>(value: &'v Placed<DeValue<'a>>) -> &'v [Placed<DeValue<'a>>] {
    match value.get_ref() {
        DeValue::Array(list) => list,
        _ => std::slice::from_ref(value),
    }
}

/// False if a finite literal became infinite.
fn is_as_written(number: f64, literal: &str) -> bool {
    number.is_finite() || literal.contains("inf") || literal.contains("nan")
}

fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A table of the file. Every key that is asked for becomes a known key.
pub struct Section<'a> {
    title: String,
    span: Range<usize>,
    entries: Vec<(Spanned<String>, &'a Placed<DeValue<'a>>)>,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// A table; messages call it `title`.
    pub fn new(title: impl Into<String>, table: &'a DeTable<'a>, span: Range<usize>) -> Self {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| (Spanned::new(key.get_ref().to_string(), key.span()), value))
            .collect();
        entries.sort_by_key(|(key, _)| key.span.start);
        Self {
            title: title.into(),
            span,
            entries,
            known: Vec::new(),
        }
    }

    /// Whether a key is there and has not been taken.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, _)| name.value == key)
    }

    /// Takes the value of a key.
    pub fn take(&mut self, key: &'static str) -> Option<&'a Placed<DeValue<'a>>> {
        self.known.push(key);
        let index = self
            .entries
            .iter()
            .position(|(name, _)| name.value == key)?;
        Some(self.entries.remove(index).1)
    }

    /// Takes the value of a key, and reports if it is missing.
    pub fn required(
        &mut self,
        key: &'static str,
        reader: &mut Reader,
    ) -> Option<&'a Placed<DeValue<'a>>> {
        let value = self.take(key);
        if value.is_none() {
            // A misspelt key says so itself.
            let misspelt = |name: &str| closest(name, self.known.iter().copied()) == Some(key);
            if !self.entries.iter().any(|(name, _)| misspelt(&name.value)) {
                let message = format!("{} needs `{key}`", self.title);
                reader
                    .problems
                    .push(Problem::error("missing-key", message).at(&self.span));
            }
        }
        value
    }

    /// Takes a string, and reports if it is missing.
    pub fn required_text(
        &mut self,
        key: &'static str,
        reader: &mut Reader,
    ) -> Option<Spanned<String>> {
        let value = self.required(key, reader)?;
        reader.text(key, value)
    }

    /// Takes a number.
    pub fn number(&mut self, key: &'static str, reader: &mut Reader) -> Option<Spanned<f64>> {
        self.take(key).and_then(|value| reader.number(key, value))
    }

    /// Takes a string.
    pub fn text(&mut self, key: &'static str, reader: &mut Reader) -> Option<Spanned<String>> {
        self.take(key).and_then(|value| reader.text(key, value))
    }

    /// Takes a truth value.
    pub fn boolean(&mut self, key: &'static str, reader: &mut Reader) -> Option<Spanned<bool>> {
        self.take(key).and_then(|value| reader.boolean(key, value))
    }

    /// Takes a word of a registry, alone or in a table with its parameters.
    pub fn choice(&mut self, key: &'static str, reader: &mut Reader) -> Option<Choice> {
        self.take(key).and_then(|value| reader.choice(key, value))
    }

    /// Takes a table.
    pub fn table(
        &mut self,
        key: &'static str,
        title: &str,
        reader: &mut Reader,
    ) -> Option<Section<'a>> {
        let value = self.take(key)?;
        let DeValue::Table(table) = value.get_ref() else {
            reader.wrong_type(key, "a table", value);
            return None;
        };
        Some(Section::new(title, table, value.span()))
    }

    /// Removes and returns all keys that were not read, in the order of the file.
    pub fn rest(
        &mut self,
    ) -> impl Iterator<Item = (Spanned<String>, &'a Placed<DeValue<'a>>)> + use<'a> {
        std::mem::take(&mut self.entries).into_iter()
    }

    /// Reports the keys that were not read.
    pub fn finish(self, reader: &mut Reader) {
        for (key, _) in &self.entries {
            let message = format!("unknown key `{}` in {}", key.value, self.title);
            let help = match did_you_mean(&key.value, self.known.iter().copied()) {
                _ if self.title.starts_with('[') && KEYS_OF_SYSTEMS.contains(&&*key.value) => {
                    "it is a key of the system file itself, and stands above the first [section]"
                        .to_owned()
                }
                Some(help) => help,
                None => format!("known keys: {}", self.known.join(", ")),
            };
            reader.problems.push(
                Problem::error("unknown-key", message)
                    .at(&key.span)
                    .help(help),
            );
        }
    }
}
