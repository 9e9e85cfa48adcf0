//! Attributes of all kinds, and what to say about wrong ones.

use std::borrow::Cow;
use std::str::FromStr;

use super::parser::Parser;
use super::reader::{Element, XmlError};
use crate::warning::{Position, Warning};

/// Most warnings that are kept; a file may earn one per variable.
const MAX_WARNINGS: usize = 200;

/// Warnings, up to a number.
pub(super) struct Warnings {
    kept: Vec<Warning>,
    dropped: usize,
}

impl Warnings {
    pub(super) fn new(kept: Vec<Warning>) -> Self {
        Self { kept, dropped: 0 }
    }

    fn is_full(&mut self) -> bool {
        let is_full = self.kept.len() >= MAX_WARNINGS;
        self.dropped += usize::from(is_full);
        is_full
    }

    /// All that were kept, and how many were not.
    pub(super) fn finish(mut self) -> Vec<Warning> {
        if self.dropped > 0 {
            let message = format!("{} more warnings about modelDescription.xml", self.dropped);
            self.kept.push(Warning::new(message));
        }
        self.kept
    }
}

impl<'a> Parser<'a> {
    /// A warning about the element at a byte offset.
    pub(super) fn warn(&mut self, offset: usize, message: String) {
        if !self.warnings.is_full() {
            let position = Some(self.xml.position(offset));
            self.warnings.kept.push(Warning { position, message });
        }
    }

    /// A warning about a variable whose place in the text is known by line only.
    pub(super) fn warn_at_line(&mut self, line: u32, name: &str, message: &str) {
        if !self.warnings.is_full() {
            let position = Some(Position { line, column: 1 });
            let message = format!("{name}: {message}");
            self.warnings.kept.push(Warning { position, message });
        }
    }

    /// An attribute without which nothing works.
    pub(super) fn required(
        &mut self,
        element: &mut Element<'a>,
        name: &str,
    ) -> Result<String, XmlError> {
        match element.take(name) {
            Some(value) => Ok(value.into_owned()),
            None => {
                let message = format!("{} has no attribute {name}", element.name);
                Err(self.xml.error(element.offset, message))
            }
        }
    }

    /// An attribute that the standard requires and that can be missed.
    pub(super) fn expected(&mut self, element: &mut Element<'a>, name: &str) -> String {
        element.take(name).map(Cow::into_owned).unwrap_or_else(|| {
            self.warn(
                element.offset,
                format!("{} has no attribute {name}", element.name),
            );
            String::new()
        })
    }

    pub(super) fn number<T: FromStr>(
        &mut self,
        element: &mut Element<'a>,
        name: &str,
    ) -> Option<T> {
        let value = element.take(name)?;
        let number = value.trim().parse().ok();
        if number.is_none() {
            let message = format!(
                "{name}={value:?} of {} is not a number; ignored",
                element.name
            );
            self.warn(element.offset, message);
        }
        number
    }

    pub(super) fn boolean(&mut self, element: &mut Element<'a>, name: &str) -> Option<bool> {
        let value = element.take(name)?;
        match value.trim() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => {
                let message = format!(
                    "{name}={value:?} of {} is not a boolean; ignored",
                    element.name
                );
                self.warn(element.offset, message);
                None
            }
        }
    }

    /// A boolean that is false unless given, also under names it is known to be misspelt by.
    pub(super) fn flag(
        &mut self,
        element: &mut Element<'a>,
        name: &str,
        misspelt: &[&str],
    ) -> bool {
        if let Some(value) = self.boolean(element, name) {
            return value;
        }
        for wrong in misspelt {
            if let Some(value) = self.boolean(element, wrong) {
                self.warn(element.offset, format!("{wrong} is taken as {name}"));
                return value;
            }
        }
        false
    }

    /// One of a set of words.
    pub(super) fn word<T: Copy>(
        &mut self,
        element: &mut Element<'a>,
        attribute: &str,
        words: &[T],
        name: fn(T) -> &'static str,
    ) -> Option<T> {
        let value = element.take(attribute)?;
        let found = words
            .iter()
            .copied()
            .find(|word| name(*word) == value.trim());
        if found.is_none() {
            self.warn(
                element.offset,
                format!("{attribute}={value:?} is not known; ignored"),
            );
        }
        found
    }

    /// Warns about the attributes that were not read.
    pub(super) fn done(&mut self, element: Element<'a>) {
        for (name, _) in &element.attributes {
            // Namespaces and schema locations belong to XML; real files carry them anywhere.
            if !name.starts_with("xml") && !name.starts_with("xsi:") {
                let message = format!("unknown attribute {name} of {}; ignored", element.name);
                self.warn(element.offset, message);
            }
        }
    }

    /// Ends an element that has no children of interest.
    pub(super) fn leaf(&mut self, element: Element<'a>) {
        self.done(element);
        self.xml.skip();
    }

    /// Passes over an element that the standard does not know.
    pub(super) fn unknown(&mut self, element: &Element<'a>) {
        self.warn(
            element.offset,
            format!("unknown element {}; ignored", element.name),
        );
        self.xml.skip();
    }
}

/// An optional text attribute.
pub(super) fn text(element: &mut Element<'_>, name: &str) -> Option<String> {
    element.take(name).map(Cow::into_owned)
}
