//! Holds a document against the tables.

use gyrator_fmu::xml::{Attribute, Document, Node};

use super::elements::ROOT;
use super::{AttributeRule, Content, ElementRule, MISSPELT_ABILITIES, Particle, ValueType};
use crate::finding::Findings;
use crate::literal;

/// Reports everything in which a document differs from the tables.
pub(crate) fn check(document: &Document<'_>, findings: &mut Findings<'_>) {
    let root = document.root();
    let name = document.name(root);
    if name == ROOT.name {
        Checker { document, findings }.element(root, &ROOT);
    } else {
        let message = format!("the root element is {name}, not {}", ROOT.name);
        findings.at(document.offset(root), message);
    }
}

struct Checker<'c, 'f> {
    document: &'c Document<'c>,
    findings: &'c mut Findings<'f>,
}

impl Checker<'_, '_> {
    fn element(&mut self, node: Node, rule: &ElementRule) {
        if matches!(rule.content, Content::Anything) {
            return;
        }
        self.attributes(node, rule);
        let may_have_text = matches!(rule.content, Content::OneOfAnyKind);
        if let Some(offset) = self.document.text_offset(node).filter(|_| !may_have_text) {
            self.findings
                .at(offset, format!("there is text in {}", rule.name));
        }
        match rule.content {
            Content::Nothing => self.no_children(node, rule),
            Content::Sequence(parts) => self.sequence(node, rule, parts),
            Content::OneOfAnyKind => self.at_most_one_child(node, rule),
            Content::Anything => {}
        }
    }

    fn attributes(&mut self, node: Node, rule: &ElementRule) {
        let document = self.document;
        for attribute in document.attributes(node) {
            match rule
                .attributes
                .iter()
                .find(|known| known.name == attribute.name)
            {
                Some(known) => self.attribute(attribute, known),
                None if is_of_xml(attribute.name) || is_misspelt_ability(attribute.name) => {}
                None => {
                    let message = format!("{} has no attribute {}", rule.name, attribute.name);
                    self.findings.at(attribute.offset, message);
                }
            }
        }
        for required in rule.attributes.iter().filter(|known| known.is_required) {
            if document.attribute(node, required.name).is_none() {
                let message = format!("{} lacks the attribute {}", rule.name, required.name);
                self.findings.at(document.offset(node), message);
            }
        }
    }

    fn attribute(&mut self, attribute: &Attribute<'_>, rule: &AttributeRule) {
        if let Some(expected) = mismatch(&attribute.value, &rule.value) {
            let (name, value) = (rule.name, &attribute.value);
            let message = format!("{name}={value:?} is not {expected}");
            self.findings.at(attribute.offset, message);
        }
    }

    fn no_children(&mut self, node: Node, rule: &ElementRule) {
        if let Some(child) = self.document.children(node).next() {
            let message = format!(
                "{} must be empty, but there is {}",
                rule.name,
                self.document.name(child)
            );
            self.findings.at(self.document.offset(child), message);
        }
    }

    fn at_most_one_child(&mut self, node: Node, rule: &ElementRule) {
        if let Some(child) = self.document.children(node).nth(1) {
            let message = format!("{} has more than one element", rule.name);
            self.findings.at(self.document.offset(child), message);
        }
    }

    fn sequence(&mut self, node: Node, rule: &ElementRule, parts: &[Particle]) {
        let document = self.document;
        let mut counts = vec![0; parts.len()];
        let mut last = 0;
        for child in document.children(node) {
            let name = document.name(child);
            let offset = document.offset(child);
            let Some((place, found)) = find(parts, name) else {
                let message = format!("there is no element {name} in {}", rule.name);
                self.findings.at(offset, message);
                continue;
            };
            if place < last {
                let later = names(&parts[last]);
                self.findings
                    .at(offset, format!("{name} must stand before {later}"));
            }
            last = last.max(place);
            counts[place] += 1;
            if counts[place] == parts[place].most.saturating_add(1) {
                let message = format!(
                    "there are too many {} in {}",
                    names(&parts[place]),
                    rule.name
                );
                self.findings.at(offset, message);
            }
            self.element(child, found);
        }
        for (part, count) in parts.iter().zip(counts) {
            if count < part.least {
                let message = format!("{} has no {}", rule.name, names(part));
                self.findings.at(document.offset(node), message);
            }
        }
    }
}

/// The part with an element of this name.
fn find(parts: &[Particle], name: &str) -> Option<(usize, &'static ElementRule)> {
    parts.iter().enumerate().find_map(|(place, part)| {
        let found = part.choice.iter().find(|choice| choice.name == name)?;
        Some((place, *found))
    })
}

fn names(part: &Particle) -> String {
    let names: Vec<&str> = part.choice.iter().map(|choice| choice.name).collect();
    names.join(" or ")
}

/// Whether an attribute may stand anywhere: namespaces, and what ties a file to its schema.
fn is_of_xml(name: &str) -> bool {
    const OF_SCHEMAS: [&str; 4] = [
        "xsi:noNamespaceSchemaLocation",
        "xsi:schemaLocation",
        "xsi:type",
        "xsi:nil",
    ];
    name == "xmlns" || name.starts_with("xmlns:") || OF_SCHEMAS.contains(&name)
}

/// Whether rule V-18 reports it.
fn is_misspelt_ability(name: &str) -> bool {
    MISSPELT_ABILITIES.iter().any(|(wrong, _)| *wrong == name)
}

/// Name of the expected type if the value does not have it.
fn mismatch(value: &str, expected: &ValueType) -> Option<String> {
    let (is_right, name) = match expected {
        ValueType::Text => (true, ""),
        ValueType::Double => (literal::double(value).is_some(), "a number"),
        ValueType::Int => (literal::int(value).is_some(), "an integer of 32 bits"),
        ValueType::Unsigned => (
            literal::unsigned(value).is_some(),
            "an integer of 32 bits without sign",
        ),
        ValueType::Boolean => (
            literal::boolean(value).is_some(),
            "a boolean: true, false, 1 or 0",
        ),
        ValueType::DateTime => (
            literal::is_date_time(value),
            "a date and time such as 2026-11-20T08:21:02Z",
        ),
        ValueType::UnsignedList => (
            value
                .split_ascii_whitespace()
                .all(|number| literal::unsigned(number).is_some()),
            "a list of indices with blanks between",
        ),
        ValueType::Word(words) => {
            let is_right = words.contains(&value);
            return (!is_right).then(|| format!("one of {}", words.join(", ")));
        }
        ValueType::WordList(words) => {
            let mut found = value.split_ascii_whitespace();
            let is_right = found.all(|word| words.contains(&word));
            return (!is_right).then(|| format!("a list of {}", words.join(", ")));
        }
    };
    (!is_right).then(|| name.to_owned())
}
