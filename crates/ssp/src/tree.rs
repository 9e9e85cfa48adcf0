//! XML elements with their places in the text of all files, and the problems found in them.
//!
//! Elements are known by their names without prefix: which prefix stands for which namespace
//! differs from tool to tool, and no two namespaces of SSP share a name in one place.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use gyrator_fmu::xml::{Document, Node};
use gyrator_fmu::{Limits, decode_xml};
use gyrator_system::{Problem, Source, Spanned, did_you_mean};

use crate::package::{Package, Reference};

/// Attributes of any element.
const COMMON_ATTRIBUTES: &[&str] = &["id", "description"];
/// Children of many elements that change nothing in a simulation, and annotations, which are read
/// by the code that understands them.
const COMMON_CHILDREN: &[&str] = &[
    "Annotations",
    "MetaData",
    "Signature",
    "ElementGeometry",
    "ConnectorGeometry",
    "ConnectionGeometry",
    "SystemGeometry",
    "GraphicalElements",
];
/// Attributes of the root elements that name the origin of a file.
pub(crate) const ORIGIN: &[&str] = &[
    "version",
    "name",
    "author",
    "fileversion",
    "copyright",
    "license",
    "generationTool",
    "generationDateAndTime",
];

/// Reads the files of one system.
pub(crate) struct Reader<'p> {
    pub(crate) package: &'p Package,
    pub(crate) limits: Limits,
    /// The texts of all files so far.
    pub(crate) source: Source,
    pub(crate) problems: Vec<Problem>,
    /// Warnings that were given and are not repeated.
    said: BTreeSet<String>,
}

impl<'p> Reader<'p> {
    pub(crate) fn new(package: &'p Package, limits: Limits) -> Self {
        Self {
            package,
            limits,
            source: Source::default(),
            problems: Vec::new(),
            said: BTreeSet::new(),
        }
    }

    pub(crate) fn error(&mut self, rule: &'static str, message: String, span: &Range<usize>) {
        self.problems.push(Problem::error(rule, message).at(span));
    }

    /// Reports a thing that is not supported, at its first place.
    pub(crate) fn unsupported(&mut self, thing: &str, span: &Range<usize>) {
        if self.said.insert(thing.to_owned()) {
            let text = format!("not supported and ignored: {thing}");
            self.problems
                .push(Problem::warning("not-supported", text).at(span));
        }
    }

    /// Whether a thing is said for the first time.
    pub(crate) fn is_new(&mut self, thing: String) -> bool {
        self.said.insert(thing)
    }

    /// Reads a file to text and appends it to the source. `place` is the reference to it.
    pub(crate) fn open(
        &mut self,
        file: &Reference,
        place: &Range<usize>,
    ) -> Option<(String, usize)> {
        let shown = file.shown.display();
        let metadata = std::fs::metadata(&file.path).ok();
        let limit = self.limits.description_size;
        let refusal = match metadata.map(|metadata| (metadata.is_file(), metadata.len())) {
            // A pipe or a terminal might never end.
            Some((false, _)) => Some("is no file".to_owned()),
            Some((true, size)) if size > limit => {
                Some(format!("has {size} bytes, more than the limit of {limit}"))
            }
            _ => None,
        };
        if let Some(refusal) = refusal {
            self.error("file-not-read", format!("{shown} {refusal}"), place);
            return None;
        }
        let bytes = match std::fs::read(&file.path) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.error("file-not-read", format!("{shown}: {error}"), place);
                return None;
            }
        };
        let mut warnings = Vec::new();
        let text = decode_xml(&shown.to_string(), &bytes, &mut warnings);
        for warning in warnings {
            // A file may be referred to many times.
            if self.is_new(warning.message.clone()) {
                self.problems
                    .push(Problem::warning("encoding", warning.message));
            }
        }
        let text = text.trim_start_matches('\u{feff}').to_owned();
        let start = self.append(&file.shown, &text);
        Some((text, start))
    }

    /// Appends the text of a file to the source, the first as its own; returns its offset.
    pub(crate) fn append(&mut self, path: &Path, text: &str) -> usize {
        let source = &mut self.source;
        if source.path.as_os_str().is_empty() {
            source.path = path.to_owned();
        } else {
            source.text.push('\n');
            let start = source.text.len();
            source.included.push((start, path.to_owned()));
        }
        let start = source.text.len();
        source.text.push_str(text);
        start
    }

    /// The tree of a text that starts at this offset of the source.
    pub(crate) fn tree<'t>(&mut self, text: &'t str, start: usize) -> Option<Tree<'t>> {
        match Document::parse(text) {
            Ok(document) => Some(Tree {
                document,
                text,
                start,
            }),
            Err(error) => {
                let at = start + text.floor_char_boundary(error.offset);
                let end = start + text.ceil_char_boundary(error.offset + 1);
                let message = format!("this is not well-formed XML: {}", error.message);
                self.error("syntax", message, &(at..end));
                None
            }
        }
    }
}

/// The tree of one file.
pub(crate) struct Tree<'t> {
    document: Document<'t>,
    text: &'t str,
    /// Offset of the text in the source.
    start: usize,
}

impl Tree<'_> {
    /// The root element.
    pub(crate) fn root(&self) -> Element<'_> {
        Element {
            tree: self,
            node: self.document.root(),
        }
    }
}

/// An element of a tree.
#[derive(Clone, Copy)]
pub(crate) struct Element<'t> {
    tree: &'t Tree<'t>,
    node: Node,
}

impl<'t> Element<'t> {
    /// Name without prefix.
    pub(crate) fn name(&self) -> &'t str {
        self.tree.document.local_name(self.node)
    }

    /// Place of the start of its tag.
    pub(crate) fn span(&self) -> Range<usize> {
        let offset = self.tree.document.offset(self.node);
        let end = offset + 1 + self.tree.document.name(self.node).len();
        self.place(offset..end)
    }

    /// The text between its tags as written, and its place.
    pub(crate) fn content(&self) -> (&'t str, Range<usize>) {
        let content = self.tree.document.content(self.node);
        let start = self.tree.text.as_ptr().addr();
        // An empty text may lie anywhere.
        let offset = content.as_ptr().addr().checked_sub(start);
        let offset = offset.filter(|offset| offset + content.len() <= self.tree.text.len());
        let offset = offset.unwrap_or_else(|| self.tree.document.offset(self.node));
        (content, self.place(offset..offset + content.len()))
    }

    fn place(&self, range: Range<usize>) -> Range<usize> {
        self.tree.start + range.start..self.tree.start + range.end
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = Self> + use<'t> {
        let tree = self.tree;
        tree.document
            .children(self.node)
            .map(move |node| Element { tree, node })
    }

    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = Self> {
        self.children().filter(move |child| child.name() == name)
    }

    pub(crate) fn child(&self, name: &str) -> Option<Self> {
        self.children().find(|child| child.name() == name)
    }

    /// The elements of this name in the child that lists them.
    pub(crate) fn listed(&self, list: &str, name: &str) -> Vec<Self> {
        let mut found = Vec::new();
        for list in self.children().filter(|child| child.name() == list) {
            found.extend(list.children().filter(|child| child.name() == name));
        }
        found
    }

    /// An attribute and the place of its value.
    pub(crate) fn text(&self, name: &str) -> Option<Spanned<String>> {
        let attribute = self.tree.document.attribute(self.node, name)?;
        let text = self.tree.text;
        let name_end = attribute.offset + attribute.name.len();
        let quote = text[name_end..].find(['"', '\'']);
        let span = quote.and_then(|quote| {
            let start = name_end + quote + 1;
            let mark = text[start - 1..].chars().next()?;
            let length = text[start..].find(mark)?;
            // An empty place would count as none.
            Some(if length == 0 {
                attribute.offset..start + 1
            } else {
                start..start + length
            })
        });
        let span = span.unwrap_or(attribute.offset..name_end);
        Some(Spanned::new(attribute.value.to_string(), self.place(span)))
    }

    /// An attribute that has to be there.
    pub(crate) fn required(&self, name: &str, reader: &mut Reader<'_>) -> Option<Spanned<String>> {
        let value = self.text(name);
        if value.is_none() {
            let message = format!("`{}` needs the attribute `{name}`", self.name());
            reader.error("missing-attribute", message, &self.span());
        }
        value
    }

    /// A number, as XML Schema writes it.
    pub(crate) fn number(&self, name: &str, reader: &mut Reader<'_>) -> Option<Spanned<f64>> {
        self.parsed(name, "a number", reader)
    }

    /// `true` or `false`, or 1 or 0.
    pub(crate) fn flag(&self, name: &str, reader: &mut Reader<'_>) -> Option<bool> {
        let value = self.text(name)?;
        let flag = boolean(&value.value);
        if flag.is_none() {
            reader.error(
                "wrong-type",
                not_a(name, "true or false", &value),
                &value.span,
            );
        }
        flag
    }

    /// An attribute that is parsed.
    pub(crate) fn parsed<T: FromStr>(
        &self,
        name: &str,
        expected: &str,
        reader: &mut Reader<'_>,
    ) -> Option<Spanned<T>> {
        let text = self.text(name)?;
        match text.value.trim().parse() {
            Ok(value) => Some(Spanned::new(value, text.span)),
            Err(_) => {
                reader.error("wrong-type", not_a(name, expected, &text), &text.span);
                None
            }
        }
    }

    /// Reports attributes and children that the standard does not have here, each once.
    pub(crate) fn expect(&self, attributes: &[&str], children: &[&str], reader: &mut Reader<'_>) {
        for attribute in self.tree.document.attributes(self.node) {
            let name = attribute.name;
            // Namespaces and schema locations belong to XML, and a prefix to a vendor.
            let is_foreign = name.starts_with("xml") || name.contains(':');
            if !is_foreign && !attributes.contains(&name) && !COMMON_ATTRIBUTES.contains(&name) {
                let start = attribute.offset;
                let span = self.place(start..start + name.len());
                self.unknown("attribute", name, attributes, &span, reader);
            }
        }
        for child in self.children() {
            let name = child.name();
            if !children.contains(&name) && !COMMON_CHILDREN.contains(&name) {
                self.unknown("element", name, children, &child.span(), reader);
            }
        }
    }

    fn unknown(
        &self,
        what: &str,
        name: &str,
        known: &[&str],
        span: &Range<usize>,
        reader: &mut Reader<'_>,
    ) {
        let message = format!("unknown {what} `{name}` in `{}`; ignored", self.name());
        if reader.is_new(message.clone()) {
            let rule = match what {
                "attribute" => "unknown-attribute",
                _ => "unknown-element",
            };
            let problem = Problem::warning(rule, message).at(span);
            let help = did_you_mean(name, known.iter().copied());
            reader.problems.push(problem.advised(help));
        }
    }
}

/// A Boolean of XML Schema.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.trim() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn not_a(name: &str, expected: &str, found: &Spanned<String>) -> String {
    format!("`{name}` must be {expected}, not `{}`", found.value)
}
