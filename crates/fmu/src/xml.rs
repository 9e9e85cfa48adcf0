//! XML as a tree, with the place of every element and attribute in the text.
//!
//! The tree keeps what was written: order, prefixes, unknown names, empty elements, text that does not
//! belong. It refuses what descriptions of models and systems never need and an attacker likes. These are
//! document types (and with them all entities of one's own), deep nesting, elements with thousands
//! of attributes, elements by the million.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::attributes::Attributes;
use quick_xml::events::{BytesStart, Event};

use crate::warning::Position;

/// Deepest nesting that is read. FMI 2.0 itself needs 5; annotations may need more.
const MAX_DEPTH: usize = 256;
/// Most attributes an element may have. FMI 2.0 itself needs 16.
const MAX_ATTRIBUTES: usize = 256;
/// Most elements, and most attributes, of a document: they take less than 100 bytes each.
const MAX_ITEMS: usize = 10_000_000;

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
    /// Byte offsets of what stands between its tags.
    content: (usize, usize),
}

/// A well-formed XML text as a tree.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    elements: Vec<Element<'t>>,
    attributes: Vec<Attribute<'t>>,
    /// Byte offset of the first text outside of the root element.
    stray_text: Option<usize>,
}

/// Why a text is not well-formed, or not to be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotWellFormed {
    /// Byte offset.
    pub offset: usize,
    /// Description of the error.
    pub message: String,
}

impl<'t> Document<'t> {
    /// Reads a text.
    ///
    /// # Errors
    /// If it is not well-formed, has a DOCTYPE, or is nested out of all reason.
    pub fn parse(text: &'t str) -> Result<Self, NotWellFormed> {
        let document = Self::parse_leniently(text)?;
        match document.stray_text {
            Some(offset) => {
                let message = "there is text outside of the root element";
                Err(wrong(offset, message))
            }
            None => Ok(document),
        }
    }

    /// Reads a text and passes over text outside of the root element, as some exporters leave
    /// it behind the end.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_leniently(text: &'t str) -> Result<Self, NotWellFormed> {
        // quick-xml leaves out a byte order mark, and its offsets with it.
        let text = text.trim_start_matches('\u{feff}');
        let mut builder = Builder {
            document: Self {
                text,
                elements: Vec::new(),
                attributes: Vec::new(),
                stray_text: None,
            },
            open: Vec::new(),
        };
        let mut reader = quick_xml::Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        let place = |position: u64| usize::try_from(position).unwrap_or(text.len());
        loop {
            let from = place(reader.buffer_position());
            let event = reader.read_event();
            let event =
                event.map_err(|error| wrong(place(reader.error_position()), error.to_string()))?;
            let to = place(reader.buffer_position());
            if !builder.add(&event, (from, to))? {
                return Ok(builder.document);
            }
        }
    }

    /// The root element.
    #[must_use]
    pub const fn root(&self) -> Node {
        Node(0)
    }

    /// Name of an element, with its prefix.
    #[must_use]
    pub fn name(&self, node: Node) -> &'t str {
        self.element(node).name
    }

    /// Name of an element, without its prefix.
    #[must_use]
    pub fn local_name(&self, node: Node) -> &'t str {
        let name = self.name(node);
        name.rsplit_once(':').map_or(name, |(_, local)| local)
    }

    /// The text between the tags of an element, as written.
    #[must_use]
    pub fn content(&self, node: Node) -> &'t str {
        let (from, to) = self.element(node).content;
        self.text.get(from..to).unwrap_or_default()
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
        std::iter::successors(self.first_child(node), |child| self.next_sibling(*child))
    }

    /// The first child of an element.
    #[must_use]
    pub fn first_child(&self, node: Node) -> Option<Node> {
        self.element(node).first_child
    }

    /// The element after this one in its parent.
    #[must_use]
    pub fn next_sibling(&self, node: Node) -> Option<Node> {
        self.element(node).next_sibling
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
    Position {
        line: index(line),
        column: index(column),
    }
}

/// A document that is being read.
struct Builder<'t> {
    document: Document<'t>,
    /// The elements that are open, each with its last child so far.
    open: Vec<(Node, Option<Node>)>,
}

impl<'t> Builder<'t> {
    /// Adds an event that stands between two byte offsets; false at the end of the text.
    fn add(
        &mut self,
        event: &Event<'_>,
        (from, to): (usize, usize),
    ) -> Result<bool, NotWellFormed> {
        match event {
            Event::Start(tag) => self.start(tag, (from, to))?,
            Event::End(_) => {
                if let Some((node, _)) = self.open.pop() {
                    self.document.elements[node.0 as usize].content.1 = from;
                }
            }
            Event::DocType(_) => return Err(wrong(from, "a DOCTYPE is not allowed")),
            Event::Text(text) if !text.trim().is_empty() => self.text(from),
            Event::CData(_) | Event::GeneralRef(_) => self.text(from),
            Event::Eof if self.document.elements.is_empty() => {
                return Err(wrong(from, "there is no element"));
            }
            Event::Eof if !self.open.is_empty() => {
                return Err(wrong(from, "the file ends inside an element"));
            }
            Event::Eof => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    fn text(&mut self, offset: usize) {
        let text = match self.open.last() {
            Some((node, _)) => &mut self.document.elements[node.0 as usize].text,
            None => &mut self.document.stray_text,
        };
        text.get_or_insert(offset);
    }

    fn start(
        &mut self,
        tag: &BytesStart<'_>,
        (offset, end): (usize, usize),
    ) -> Result<(), NotWellFormed> {
        let number = self.document.elements.len();
        if self.open.len() >= MAX_DEPTH {
            return Err(wrong(offset, format!("more than {MAX_DEPTH} levels deep")));
        }
        if number.max(self.document.attributes.len()) >= MAX_ITEMS {
            let message = format!("more than {MAX_ITEMS} elements or attributes");
            return Err(wrong(offset, message));
        }
        let node = Node(index(number));
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
                return Err(wrong(offset, "there is a second root element"));
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
            content: (end, end),
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
        let range = (index(from), index(self.document.attributes.len()));
        Ok((&content[..name_length], range))
    }
}

fn index(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The message of quick-xml contains the place in the tag.
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
        assert_eq!(document.local_name(b), "b");
        assert_eq!(document.content(b), "");
        assert!(document.content(root).ends_with("t\n <c/>"));
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
        assert!(Document::parse("<a/>x").is_err() && Document::parse_leniently("<a/>x").is_ok());
    }
}
