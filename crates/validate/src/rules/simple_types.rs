//! V-32: types.

use gyrator_fmu::xml::Node;
use std::collections::BTreeMap;

use super::report_duplicates;
use crate::finding::{Findings, Severity};
use crate::literal;
use crate::model::{Model, SimpleType, TypeElement};
use crate::rule::{Check, Rule};

pub(super) static RULES: &[Rule] = &[Rule {
    number: 32,
    title: "types have unique names, items that are one to one, and ranges that are not empty",
    severity: Severity::Error,
    source: "2.2.3",
    check: Check::Description(types_are_sound),
}];

/// An item of an enumeration.
pub(super) struct EnumerationItem<'m> {
    pub(super) name: &'m str,
    pub(super) value: i32,
    node: Node,
}

/// The items of an enumeration that have a number.
pub(super) fn items<'m>(
    model: &'m Model<'_>,
    simple: &SimpleType<'_>,
) -> impl Iterator<Item = EnumerationItem<'m>> {
    let document = model.document;
    let nodes = simple
        .value
        .into_iter()
        .flat_map(|value| document.children_named(value, "Item"));
    nodes.filter_map(|node| {
        Some(EnumerationItem {
            name: document.value(node, "name").unwrap_or_default(),
            value: document.value(node, "value").and_then(literal::int)?,
            node,
        })
    })
}

fn types_are_sound(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    let named = model.types.iter();
    report_duplicates(
        named.map(|simple| (simple.name, document.offset(simple.node))),
        "the type",
        findings,
    );
    // The first variable of a name stands for its namesakes.
    let named = model.variables.iter().rev();
    let variables: BTreeMap<&str, usize> = named
        .map(|variable| (variable.name, variable.offset))
        .collect();
    for simple in &model.types {
        let name = simple.name;
        if let Some(offset) = variables.get(name) {
            let message = format!("the type {name:?} has the name of a variable");
            findings.at(*offset, message);
        }
        if simple.kind == Some(TypeElement::Enumeration) {
            items_are_one_to_one(model, simple, findings);
        }
        let number = |name| {
            document
                .value(simple.value?, name)
                .and_then(literal::double)
        };
        if let (Some(min), Some(max)) = (number("min"), number("max"))
            && max < min
        {
            let message = format!("{name}: max {max} is less than min {min}");
            findings.at(document.offset(simple.node), message);
        }
    }
}

fn items_are_one_to_one(model: &Model<'_>, simple: &SimpleType<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    let mut by_value: BTreeMap<i32, &str> = BTreeMap::new();
    let mut by_name: BTreeMap<&str, i32> = BTreeMap::new();
    for item in items(model, simple) {
        let offset = document.offset(item.node);
        if let Some(other) = by_value.insert(item.value, item.name) {
            let message = format!(
                "{}: the items {other:?} and {:?} have the value {}",
                simple.name, item.name, item.value
            );
            findings.at(offset, message);
        }
        if by_name.insert(item.name, item.value).is_some() {
            let message = format!("{}: the item {:?} is there twice", simple.name, item.name);
            findings.at(offset, message);
        }
    }
}
