//! A small pull reader over quick-xml: elements one after the other, with their places.
//!
//! It refuses what a model description never needs and an attacker likes: document types (and
//! with them all entities of one's own), deep nesting, elements with thousands of attributes.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::attributes::Attributes;
use quick_xml::events::{BytesStart, Event};

use crate::warning::Position;

/// Deepest nesting that is read. FMI 2.0 itself needs 5; vendor annotations may need more.
const MAX_DEPTH: usize = 256;
/// Most attributes an element may have. FMI 2.0 itself needs 16.
const MAX_ATTRIBUTES: usize = 256;

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("modelDescription.xml:{position}: {message}")]
pub struct XmlError {
    /// Place in the file.
    pub position: Position,
    /// What is wrong.
    pub message: String,
}

/// One start tag.
#[derive(Debug)]
pub(crate) struct Element<'a> {
    /// Name without prefix.
    pub(crate) name: &'a str,
    /// Byte offset of the `<`.
    pub(crate) offset: usize,
    /// Attributes that nobody has asked for yet.
    pub(crate) attributes: Vec<(&'a str, Cow<'a, str>)>,
}

impl<'a> Element<'a> {
    /// Takes the value of an attribute.
    pub(crate) fn take(&mut self, name: &str) -> Option<Cow<'a, str>> {
        let place = self.attributes.iter().position(|(key, _)| *key == name)?;
        Some(self.attributes.swap_remove(place).1)
    }
}

/// Reads elements from a text.
pub(crate) struct Reader<'a> {
    text: &'a str,
    events: quick_xml::Reader<&'a [u8]>,
    depth: usize,
    /// A place that was counted, to count on from: offset and its line.
    counted: (usize, u32),
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        // quick-xml leaves out a byte order mark, and its offsets with it.
        let text = text.trim_start_matches('\u{feff}');
        let mut events = quick_xml::Reader::from_str(text);
        events.config_mut().expand_empty_elements = true;
        Self {
            text,
            events,
            depth: 0,
            counted: (0, 1),
        }
    }

    /// Byte offset up to which the text was read.
    pub(crate) fn offset(&self) -> usize {
        usize::try_from(self.events.buffer_position()).unwrap_or(self.text.len())
    }

    /// The next child of the element that is open, or `None` at its end, which closes it.
    /// Text, comments and processing instructions are passed over.
    pub(crate) fn child(&mut self) -> Result<Option<Element<'a>>, XmlError> {
        loop {
            let offset = self.offset();
            match self.events.read_event() {
                Ok(Event::Start(tag)) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(
                            self.error(offset, format!("more than {MAX_DEPTH} levels deep"))
                        );
                    }
                    return self.element(&tag, offset).map(Some);
                }
                Ok(Event::End(_)) => {
                    self.depth -= 1;
                    return Ok(None);
                }
                Ok(Event::DocType(_)) => {
                    return Err(self.error(offset, "a DOCTYPE is not allowed".to_owned()));
                }
                Ok(Event::Eof) if self.depth > 0 => {
                    return Err(self.error(offset, "the file ends inside an element".to_owned()));
                }
                Ok(Event::Eof) => return Ok(None),
                Ok(_) => {}
                Err(error) => {
                    let place = usize::try_from(self.events.error_position()).unwrap_or(offset);
                    return Err(self.error(place, error.to_string()));
                }
            }
        }
    }

    /// Reads to the end of the element that is open.
    pub(crate) fn skip(&mut self) -> Result<(), XmlError> {
        let outer = self.depth;
        while self.depth >= outer {
            self.child()?;
        }
        Ok(())
    }

    /// Reads the element that is open to its end and returns what it holds, as written.
    pub(crate) fn inner_text(&mut self) -> Result<&'a str, XmlError> {
        let start = self.offset();
        self.skip()?;
        let inner = &self.text[start..self.offset().max(start)];
        Ok(inner.rfind("</").map_or("", |end| &inner[..end]).trim())
    }

    fn element(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<Element<'a>, XmlError> {
        let name_length = tag.name().as_ref().len();
        // The tag borrows from itself only; the same text, borrowed from the file, lives on.
        let text: &'a str = self.text;
        let content = text.get(offset + 1..offset + 1 + tag.len());
        let Some(content) = content.filter(|content| **content == **tag) else {
            return Err(self.error(offset, "the start tag cannot be read".to_owned()));
        };
        let name = &content[..name_length];
        let mut source = Attributes::new(content, name_length);
        let mut attributes: Vec<(&'a str, Cow<'a, str>)> = Vec::with_capacity(8);
        for attribute in source.with_checks(false) {
            let attribute = attribute.map_err(|error| self.error(offset, error.to_string()))?;
            let key: &'a str = attribute.key.into_inner();
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| self.error(offset, format!("attribute {key}: {error}")))?;
            if attributes.iter().any(|(known, _)| *known == key) {
                return Err(self.error(offset, format!("attribute {key} is given twice")));
            }
            if attributes.len() == MAX_ATTRIBUTES {
                let message = format!("more than {MAX_ATTRIBUTES} attributes");
                return Err(self.error(offset, message));
            }
            attributes.push((key, value));
        }
        let local = name.rsplit_once(':').map_or(name, |(_, local)| local);
        Ok(Element {
            name: local,
            offset,
            attributes,
        })
    }

    /// An error at a byte offset.
    pub(crate) fn error(&mut self, offset: usize, message: String) -> XmlError {
        XmlError {
            position: self.position(offset),
            message,
        }
    }

    /// Line and column of a byte offset.
    pub(crate) fn position(&mut self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line(offset);
        let line_start = self.text[..offset]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let column = self.text[line_start..offset].chars().count() + 1;
        Position {
            line,
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    /// Line of a byte offset; cheap while offsets ascend.
    pub(crate) fn line(&mut self, offset: usize) -> u32 {
        if offset < self.counted.0 {
            self.counted = (0, 1);
        }
        let (from, line) = self.counted;
        let newlines = self.text.as_bytes()[from..offset]
            .iter()
            .filter(|b| **b == b'\n')
            .count();
        let line = line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
        self.counted = (offset, line);
        line
    }
}
