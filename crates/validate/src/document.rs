//! The tree of a model description, with the place of every element and attribute.
//!
//! Unlike the reader of `gyrator-fmu`, which turns the text into a model and forgives, this keeps
//! what was written: order, unknown names, empty elements, text where none belongs.

use std::borrow::Cow;

use gyrator_fmu::Position;
use quick_xml::XmlVersion;
use quick_xml::events::attributes::Attributes;
use quick_xml::events::{BytesStart, Event};

/// Deepest nesting that is read. FMI 2.0 itself needs 5; annotations may need more.
const MAX_DEPTH: usize = 256;
/// Most attributes an element may have. FMI 2.0 itself needs 16.
const MAX_ATTRIBUTES: usize = 256;

/// Number of an element in its [`Document`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(u32);

/// An attribute as written, entities resolved.
#[derive(Debug, Clone)]
pub struct Attribute<'t> {
    /// Name with its prefix.
    pub name: &'t str,
    /// Value, white space normalised as XML prescribes.
    pub value: Cow<'t, str>,
    /// Byte offset of the name.
    pub offset: usize,
}

#[derive(Debug)]
struct Element<'t> {
    /// Name with its prefix.
    name: &'t str,
    /// Byte offset of the `<`.
    offset: usize,
    /// Its attributes: a range of the document's.
    attributes: (u32, u32),
    first_child: Option<Node>,
    next_sibling: Option<Node>,
    /// Byte offset of the first text that is not white space.
    text: Option<usize>,
}

/// A well-formed XML text as a tree.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    elements: Vec<Element<'t>>,
    attributes: Vec<Attribute<'t>>,
}

/// Why a text is not well-formed, or not to be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotWellFormed {
    /// Byte offset.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
}

impl<'t> Document<'t> {
    /// Reads a text.
    ///
    /// # Errors
    /// If it is not well-formed, has a DOCTYPE, or is nested out of all reason.
    pub fn parse(text: &'t str) -> Result<Self, NotWellFormed> {
        let mut builder = Builder {
            document: Self {
                text,
                elements: Vec::new(),
                attributes: Vec::new(),
            },
            open: Vec::new(),
        };
        let mut reader = quick_xml::Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        loop {
            let offset = usize::try_from(reader.buffer_position()).unwrap_or(text.len());
            let event = reader.read_event().map_err(|error| NotWellFormed {
                offset: usize::try_from(reader.error_position()).unwrap_or(offset),
                message: error.to_string(),
            })?;
            if !builder.take(&event, offset)? {
                break;
            }
        }
        Ok(builder.document)
    }

    /// The outermost element.
    #[must_use]
    pub const fn root(&self) -> Node {
        Node(0)
    }

    /// Name of an element, with its prefix.
    #[must_use]
    pub fn name(&self, node: Node) -> &'t str {
        self.element(node).name
    }

    /// Byte offset of the start of an element.
    #[must_use]
    pub fn offset(&self, node: Node) -> usize {
        self.element(node).offset
    }

    /// Byte offset of the first text in an element that is not white space.
    #[must_use]
    pub fn text_offset(&self, node: Node) -> Option<usize> {
        self.element(node).text
    }

    /// The attributes of an element, in the order of the text.
    #[must_use]
    pub fn attributes(&self, node: Node) -> &[Attribute<'t>] {
        let (from, to) = self.element(node).attributes;
        &self.attributes[from as usize..to as usize]
    }

    /// The attribute of this name.
    #[must_use]
    pub fn attribute(&self, node: Node, name: &str) -> Option<&Attribute<'t>> {
        let mut attributes = self.attributes(node).iter();
        attributes.find(|attribute| attribute.name == name)
    }

    /// The value of the attribute of this name.
    #[must_use]
    pub fn value(&self, node: Node, name: &str) -> Option<&str> {
        self.attribute(node, name)
            .map(|attribute| &*attribute.value)
    }

    /// Byte offset of an attribute, or of the element that lacks it.
    #[must_use]
    pub fn attribute_offset(&self, node: Node, name: &str) -> usize {
        let attribute = self.attribute(node, name);
        attribute.map_or_else(|| self.offset(node), |attribute| attribute.offset)
    }

    /// The children of an element, in the order of the text.
    pub fn children(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        let first = self.element(node).first_child;
        std::iter::successors(first, |child| self.element(*child).next_sibling)
    }

    /// The children with this name.
    pub fn children_named<'d>(
        &'d self,
        node: Node,
        name: &'d str,
    ) -> impl Iterator<Item = Node> + 'd {
        self.children(node)
            .filter(move |child| self.name(*child) == name)
    }

    /// The first child with this name.
    #[must_use]
    pub fn child(&self, node: Node, name: &str) -> Option<Node> {
        self.children(node).find(|child| self.name(*child) == name)
    }

    fn element(&self, node: Node) -> &Element<'t> {
        &self.elements[node.0 as usize]
    }
}

/// Line and column of a byte offset in a text.
#[must_use]
pub fn position(text: &str, offset: usize) -> Position {
    let before = &text[..text.floor_char_boundary(offset.min(text.len()))];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before[line_start..].chars().count() + 1;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Position {
        line: number(line),
        column: number(column),
    }
}

/// A document that is being read.
struct Builder<'t> {
    document: Document<'t>,
    /// The elements that are open, each with its last child so far.
    open: Vec<(Node, Option<Node>)>,
}

impl<'t> Builder<'t> {
    /// Takes an event in; false at the end of the text.
    fn take(&mut self, event: &Event<'_>, offset: usize) -> Result<bool, NotWellFormed> {
        match event {
            Event::Start(tag) => self.start(tag, offset)?,
            Event::End(_) => {
                self.open.pop();
            }
            Event::DocType(_) => return Err(wrong(offset, "a DOCTYPE is not allowed")),
            Event::Text(text) => self.text(!text.trim().is_empty(), offset)?,
            Event::CData(_) | Event::GeneralRef(_) => self.text(true, offset)?,
            Event::Eof if self.document.elements.is_empty() => {
                return Err(wrong(offset, "there is no element"));
            }
            Event::Eof if !self.open.is_empty() => {
                return Err(wrong(offset, "the file ends inside an element"));
            }
            Event::Eof => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    fn text(&mut self, is_visible: bool, offset: usize) -> Result<(), NotWellFormed> {
        match self.open.last() {
            _ if !is_visible => Ok(()),
            Some((node, _)) => {
                let element = &mut self.document.elements[node.0 as usize];
                element.text.get_or_insert(offset);
                Ok(())
            }
            None => Err(wrong(
                offset,
                "there is text outside of the outermost element",
            )),
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<(), NotWellFormed> {
        let number = u32::try_from(self.document.elements.len()).unwrap_or(u32::MAX);
        if self.open.len() >= MAX_DEPTH || number == u32::MAX {
            return Err(wrong(offset, format!("more than {MAX_DEPTH} levels deep")));
        }
        let node = Node(number);
        match self.open.last_mut() {
            Some((parent, last)) => {
                let link = match last {
                    Some(last) => &mut self.document.elements[last.0 as usize].next_sibling,
                    None => &mut self.document.elements[parent.0 as usize].first_child,
                };
                *link = Some(node);
                *last = Some(node);
            }
            None if number > 0 => {
                return Err(wrong(offset, "there is more than one outermost element"));
            }
            None => {}
        }
        self.open.push((node, None));
        let (name, attributes) = self.read_tag(tag, offset)?;
        self.document.elements.push(Element {
            name,
            offset,
            attributes,
            first_child: None,
            next_sibling: None,
            text: None,
        });
        Ok(())
    }

    /// Name and attributes of a start tag, borrowed from the text.
    fn read_tag(
        &mut self,
        tag: &BytesStart<'_>,
        offset: usize,
    ) -> Result<(&'t str, (u32, u32)), NotWellFormed> {
        let text: &'t str = self.document.text;
        let content = text
            .get(offset + 1..offset + 1 + tag.len())
            .filter(|content| **content == **tag)
            .ok_or_else(|| wrong(offset, "the start tag cannot be read"))?;
        let name_length = tag.name().as_ref().len();
        let from = self.document.attributes.len();
        for attribute in Attributes::new(content, name_length).with_checks(false) {
            let attribute = attribute.map_err(|error| wrong_attribute(offset, &error))?;
            let name: &'t str = attribute.key.into_inner();
            let place = offset + 1 + (name.as_ptr().addr() - content.as_ptr().addr());
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| wrong(place, format!("attribute {name}: {error}")))?;
            let own = &self.document.attributes[from..];
            if own.iter().any(|known| known.name == name) {
                return Err(wrong(place, format!("attribute {name} is given twice")));
            }
            if own.len() == MAX_ATTRIBUTES {
                return Err(wrong(
                    place,
                    format!("more than {MAX_ATTRIBUTES} attributes"),
                ));
            }
            let offset = place;
            self.document.attributes.push(Attribute {
                name,
                value,
                offset,
            });
        }
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let range = (number(from), number(self.document.attributes.len()));
        Ok((&content[..name_length], range))
    }
}

/// quick-xml tells the place in the tag in the message.
fn wrong_attribute(offset: usize, error: &dyn std::fmt::Display) -> NotWellFormed {
    let text = error.to_string();
    let place = text.strip_prefix("position ").and_then(|rest| {
        let (number, message) = rest.split_once(": ")?;
        Some((number.parse::<usize>().ok()?, message.to_owned()))
    });
    match place {
        Some((place, message)) => wrong(offset.saturating_add(place), message),
        None => wrong(offset, text),
    }
}

fn wrong(offset: usize, message: impl Into<String>) -> NotWellFormed {
    NotWellFormed {
        offset,
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_attributes_keep_their_places() {
        let text = "<?xml version=\"1.0\"?>\n<a x='1'>\n  <ä:b y=\"&lt;\" z='ü'/>t\n <c/></a>";
        let document = Document::parse(text).unwrap();
        let root = document.root();
        let names: Vec<_> = document
            .children(root)
            .map(|node| document.name(node))
            .collect();
        assert_eq!(names, ["ä:b", "c"]);
        let b = document.child(root, "ä:b").unwrap();
        assert_eq!(document.value(b, "y"), Some("<"));
        let z = document.attribute_offset(b, "z");
        let place = position(text, z);
        assert_eq!((place.line, place.column), (3, 17));
        assert_eq!(&text[document.text_offset(root).unwrap()..][..1], "t");
    }

    #[test]
    fn texts_that_are_no_xml_are_refused_with_their_place() {
        for (text, offset) in [
            ("", 0),
            ("<a>", 3),
            ("<a></b>", 3),
            ("<a/><b/>", 4),
            ("x<a/>", 0),
            ("<a b='1' b='2'/>", 9),
            ("<a b='&c;'/>", 3),
            ("<!DOCTYPE a><a/>", 0),
        ] {
            let error = Document::parse(text).unwrap_err();
            assert_eq!(error.offset, offset, "{text}: {}", error.message);
        }
        assert!(Document::parse(&"<a>".repeat(1000)).is_err());
    }
}
