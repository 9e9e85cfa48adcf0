//! V-30: variables that share one value.

use gyrator_fmu::{Causality, Variability};

use crate::finding::{Findings, Severity};
use crate::model::{Model, TypeElement, Variable};
use crate::rule::{Check, Rule};

pub(super) static RULES: &[Rule] = &[Rule {
    number: 30,
    title: "variables that share a value reference can be one value",
    severity: Severity::Error,
    source: "2.2.7, alias variables",
    check: Check::Description(aliases_agree),
}];

fn aliases_agree(model: &Model<'_>, findings: &mut Findings<'_>) {
    for set in model.aliases() {
        let first = set[0];
        let rest = &set[1..];
        let is_constant =
            |variable: &Variable<'_>| variable.variability == Some(Variability::Constant);
        for variable in rest {
            let pair = format!("{} and {} share a value", first.name, variable.name);
            if is_constant(variable) != is_constant(first) {
                findings.at(variable.offset, format!("{pair}, but only one is constant"));
            } else if is_constant(variable) && variable.start != first.start {
                findings.at(
                    variable.offset,
                    format!("{pair}, constant, but start differently"),
                );
            }
            if let Some(message) = units_disagree(model, first, variable) {
                findings.at(variable.offset, format!("{pair}, but {message}"));
            }
            if variable.variability != first.variability && !is_constant(variable) {
                let message = format!("{pair}, but their variability differs");
                findings.graded_at(Severity::Warning, variable.offset, message);
            }
        }
        if !is_constant(first) {
            one_is_settable(&set, findings);
        }
    }
}

/// At most one of them can be set, has a start value, and none if one is the time.
fn one_is_settable(set: &[&Variable<'_>], findings: &mut Findings<'_>) {
    let is_settable = |variable: &&&Variable<'_>| {
        matches!(
            variable.causality,
            Some(Causality::Input | Causality::Parameter)
        )
    };
    let mut settable = set.iter().filter(is_settable);
    let first = settable.next();
    if let (Some(first), Some(second)) = (first, settable.next()) {
        let message = format!("{} and {} set the same value", first.name, second.name);
        findings.at(second.offset, message);
    }
    let mut independent = set
        .iter()
        .filter(|v| v.causality == Some(Causality::Independent));
    if let (Some(first), Some(time)) = (first, independent.next()) {
        let message = format!(
            "{} would set the independent variable {}",
            first.name, time.name
        );
        findings.at(first.offset, message);
    }
    let mut started = set.iter().filter(|variable| variable.start.is_some());
    if let (Some(first), Some(second)) = (started.next(), started.next()) {
        let message = format!(
            "{} and {} share a value, and both start it",
            first.name, second.name
        );
        findings.at(second.offset, message);
    }
}

fn units_disagree(model: &Model<'_>, a: &Variable<'_>, b: &Variable<'_>) -> Option<String> {
    let both_are_real = a.kind == Some(TypeElement::Real) && b.kind == Some(TypeElement::Real);
    let (Some(of_a), Some(of_b)) = (model.inherited(a, "unit"), model.inherited(b, "unit")) else {
        return None;
    };
    if !both_are_real || of_a == of_b {
        return None;
    }
    // Two names of one unit have the same base unit.
    let base = |unit: &str| {
        let node = model.document.child(model.unit(unit)?.node, "BaseUnit")?;
        let mut attributes: Vec<_> = model
            .document
            .attributes(node)
            .iter()
            .map(|attribute| (attribute.name, attribute.value.as_ref()))
            .filter(|(_, value)| *value != "0")
            .collect();
        attributes.sort_unstable();
        Some(attributes)
    };
    match (base(of_a), base(of_b)) {
        (Some(of_a), Some(of_b)) if of_a == of_b => None,
        _ => Some(format!("one is in {of_a:?}, the other in {of_b:?}")),
    }
}
