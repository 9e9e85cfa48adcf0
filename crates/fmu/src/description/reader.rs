//! The elements of a model description one after the other, as its parser asks for them.

use std::borrow::Cow;

use crate::warning::Position;
use crate::xml::{Document, Node, NotWellFormed, position};

/// Error in the description, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("modelDescription.xml:{position}: {message}")]
pub struct XmlError {
    /// Place in the file.
    pub position: Position,
    /// Description of the error.
    pub message: String,
}

/// One start tag.
#[derive(Debug)]
pub(super) struct Element<'a> {
    /// Name without prefix.
    pub(super) name: &'a str,
    /// Byte offset of the `<`.
    pub(super) offset: usize,
    /// Attributes that were not asked for yet.
    pub(super) attributes: Vec<(&'a str, Cow<'a, str>)>,
    node: Node,
}

impl<'a> Element<'a> {
    /// Removes an attribute and returns its value.
    pub(super) fn take(&mut self, name: &str) -> Option<Cow<'a, str>> {
        let place = self.attributes.iter().position(|(key, _)| *key == name)?;
        Some(self.attributes.swap_remove(place).1)
    }
}

/// A place in the tree that moves on.
pub(super) struct Reader<'a> {
    text: &'a str,
    document: Document<'a>,
    /// For the level of the root and each open element: the next child.
    next: Vec<Option<Node>>,
    /// A place that was counted, to count on from: offset and its line.
    counted: (usize, u32),
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, XmlError> {
        let text = text.trim_start_matches('\u{feff}');
        let refuse = |NotWellFormed { offset, message }| XmlError {
            position: position(text, offset),
            message,
        };
        let document = Document::parse_leniently(text).map_err(refuse)?;
        Ok(Self {
            text,
            next: vec![Some(document.root())],
            document,
            counted: (0, 1),
        })
    }

    /// The next child of the element that is open, or `None` at its end, which closes it.
    pub(super) fn child(&mut self) -> Option<Element<'a>> {
        let next = self.next.last_mut()?;
        let Some(node) = *next else {
            self.next.pop();
            return None;
        };
        let document = &self.document;
        *next = document.next_sibling(node);
        self.next.push(document.first_child(node));
        let attributes = document.attributes(node).iter();
        Some(Element {
            name: document.local_name(node),
            offset: document.offset(node),
            attributes: attributes.map(|a| (a.name, a.value.clone())).collect(),
            node,
        })
    }

    /// Passes over the children of the element that is open.
    pub(super) fn skip(&mut self) {
        self.next.pop();
    }

    /// Passes over the children of the element that is open and returns them as written.
    pub(super) fn inner_text(&mut self, element: &Element<'a>) -> &'a str {
        self.skip();
        self.document.content(element.node).trim()
    }

    /// An error at a byte offset.
    pub(super) fn error(&mut self, offset: usize, message: String) -> XmlError {
        XmlError {
            position: self.position(offset),
            message,
        }
    }

    /// Line and column of a byte offset.
    pub(super) fn position(&mut self, offset: usize) -> Position {
        let start = self.text[..offset]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        Position {
            line: self.line(offset),
            ..position(&self.text[start..], offset - start)
        }
    }

    /// Line of a byte offset; cheap while offsets ascend.
    pub(super) fn line(&mut self, offset: usize) -> u32 {
        if offset < self.counted.0 {
            self.counted = (0, 1);
        }
        let (from, line) = self.counted;
        let lines = position(&self.text[from..], offset - from).line - 1;
        self.counted = (offset, line.saturating_add(lines));
        self.counted.1
    }
}
