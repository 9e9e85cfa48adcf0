//! V-33: units.

use gyrator_fmu::xml::Node;

use super::report_duplicates;
use crate::finding::{Findings, Severity};
use crate::literal;
use crate::model::{Model, TypeElement};
use crate::rule::{Check, Rule};

pub(super) static RULES: &[Rule] = &[Rule {
    number: 33,
    title: "units have unique names and factors, and those that are used are defined",
    severity: Severity::Error,
    source: "2.2.2",
    check: Check::Description(units_are_sound),
}];

fn units_are_sound(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    let named = model.units.iter();
    report_duplicates(
        named.map(|unit| (unit.name, document.offset(unit.node))),
        "the unit",
        findings,
    );
    for unit in &model.units {
        let display = document.children_named(unit.node, "DisplayUnit");
        report_duplicates(
            display.map(|node| (name_of(model, node), document.offset(node))),
            "the display unit",
            findings,
        );
        let factors = document.children(unit.node).filter_map(|node| {
            let factor = document.value(node, "factor").and_then(literal::double)?;
            Some((node, factor))
        });
        for (node, factor) in factors.filter(|(_, factor)| *factor == 0.0 || !factor.is_finite()) {
            let message = format!("the factor of {:?} is {factor}", unit.name);
            findings.at(document.attribute_offset(node, "factor"), message);
        }
    }
    for simple in &model.types {
        if let Some(value) = simple
            .value
            .filter(|_| simple.kind == Some(TypeElement::Real))
        {
            let own = |name| document.value(value, name);
            let units = (own("unit"), own("displayUnit"));
            used_units_are_defined(model, simple.name, document.offset(value), units, findings);
        }
    }
    for variable in &model.variables {
        let own = |name| model.own(variable, name);
        let Some(value) = variable
            .value
            .filter(|_| own("unit").or(own("displayUnit")).is_some())
        else {
            continue;
        };
        // A display unit may belong to the unit of the declared type.
        let units = (model.inherited(variable, "unit"), own("displayUnit"));
        used_units_are_defined(
            model,
            variable.name,
            document.offset(value),
            units,
            findings,
        );
    }
}

fn name_of<'m>(model: &'m Model<'_>, node: Node) -> &'m str {
    model.document.value(node, "name").unwrap_or_default()
}

fn used_units_are_defined(
    model: &Model<'_>,
    user: &str,
    offset: usize,
    (unit, display): (Option<&str>, Option<&str>),
    findings: &mut Findings<'_>,
) {
    let Some(name) = unit else {
        if let Some(display) = display {
            let message = format!("{user} has the display unit {display:?}, but no unit");
            findings.at(offset, message);
        }
        return;
    };
    let Some(unit) = model.unit(name) else {
        findings.at(offset, format!("{user}: the unit {name:?} is not defined"));
        return;
    };
    let mut defined = model.document.children_named(unit.node, "DisplayUnit");
    if let Some(display) = display
        && !defined.any(|node| name_of(model, node) == display)
    {
        let message = format!("{user}: {name:?} has no display unit {display:?}");
        findings.at(offset, message);
    }
}
