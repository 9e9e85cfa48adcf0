//! V-19 to V-27 and V-31: variables one by one.

use gyrator_fmu::{Causality, Initial, Variability};

use super::{names, report_duplicates};
use crate::finding::{Findings, Severity};
use crate::literal;
use crate::model::{Model, TypeElement, Variable, legal_initial, place};
use crate::rule::{Check, Rule};

pub(super) static RULES: &[Rule] = &[
    Rule {
        number: 19,
        title: "names of variables are unique and follow the naming convention",
        severity: Severity::Error,
        source: "2.2.7, 2.2.9",
        check: Check::Description(names_are_right),
    },
    Rule {
        number: 20,
        title: "causality, variability and initial go together",
        severity: Severity::Error,
        source: "2.2.7, tables of cases A to E",
        check: Check::Description(combinations_are_legal),
    },
    Rule {
        number: 21,
        title: "start values are there where they are needed",
        severity: Severity::Error,
        source: "2.2.7, start",
        check: Check::Description(starts_are_there),
    },
    Rule {
        number: 22,
        title: "start values are not there where they have no meaning",
        severity: Severity::Error,
        source: "2.2.7, start",
        check: Check::Description(starts_are_not_too_many),
    },
    Rule {
        number: 23,
        title: "inputs and the independent variable have no initial",
        severity: Severity::Error,
        source: "2.2.7, initial",
        check: Check::Description(initial_is_not_for_inputs),
    },
    Rule {
        number: 24,
        title: "only reals are continuous",
        severity: Severity::Error,
        source: "2.2.7, variability",
        check: Check::Description(only_reals_are_continuous),
    },
    Rule {
        number: 25,
        title: "there is at most one independent variable, a real",
        severity: Severity::Error,
        source: "2.2.7, causality",
        check: Check::Description(one_independent_variable),
    },
    Rule {
        number: 26,
        title: "canHandleMultipleSetPerTimeInstant is for inputs in model exchange",
        severity: Severity::Error,
        source: "2.2.7",
        check: Check::Description(multiple_sets_are_for_inputs),
    },
    Rule {
        number: 27,
        title: "reinit is for continuous states in model exchange",
        severity: Severity::Error,
        source: "2.2.7, reinit",
        check: Check::Description(reinit_is_for_states),
    },
    Rule {
        number: 31,
        title: "derivatives are of another real variable",
        severity: Severity::Error,
        source: "2.2.7, derivative",
        check: Check::Description(derivatives_lead_to_reals),
    },
];

fn names_are_right(model: &Model<'_>, findings: &mut Findings<'_>) {
    let named = model.variables.iter();
    report_duplicates(
        named.map(|variable| (variable.name, variable.offset)),
        "the variable",
        findings,
    );
    let root = model.document.root();
    let convention = model.document.value(root, "variableNamingConvention");
    for variable in &model.variables {
        let name = variable.name;
        if name.is_empty() {
            findings.at(variable.offset, "a variable has no name");
        } else if convention == Some("structured") {
            if let Err(rest) = names::structured(name) {
                let message = match rest {
                    "" => format!("{name:?} is not a structured name: it ends too early"),
                    _ => format!("{name:?} is not a structured name from {rest:?} on"),
                };
                findings.at(variable.offset, message);
            }
        } else if name.contains(['\r', '\n', '\t']) {
            let message = format!("{name:?} has a line feed, carriage return or tabulator");
            findings.at(variable.offset, message);
        }
        let is_derivative = name.starts_with("der(") && convention == Some("structured");
        if is_derivative && variable.kind.is_some_and(|kind| kind != TypeElement::Real) {
            findings.at(
                variable.offset,
                format!("{name:?} is a derivative, but no Real"),
            );
        }
    }
}

/// Whether the variability is the default, which fits reals only: rule V-24 reports it.
fn is_continuous_by_mistake(model: &Model<'_>, variable: &Variable<'_>) -> bool {
    let is_given = model
        .document
        .attribute(variable.node, "variability")
        .is_some();
    !is_given && variable.kind.is_some_and(|kind| kind != TypeElement::Real)
}

fn combinations_are_legal(model: &Model<'_>, findings: &mut Findings<'_>) {
    for variable in &model.variables {
        let (Some(causality), Some(variability)) = (variable.causality, variable.variability)
        else {
            continue;
        };
        if is_continuous_by_mistake(model, variable) {
            continue;
        }
        let name = variable.name;
        let Some(legal) = legal_initial(causality, variability) else {
            let message = format!(
                "{name}: causality {} and variability {} do not go together",
                causality.name(),
                variability.name()
            );
            findings.at(variable.offset, message);
            continue;
        };
        let initial = variable.initial.filter(|initial| !legal.contains(initial));
        // Rule V-23 reports variables that must not have it at all.
        if let Some(initial) = initial.filter(|_| !legal.is_empty()) {
            let message = format!(
                "{name}: initial={} does not go with causality {} and variability {}",
                initial.name(),
                causality.name(),
                variability.name()
            );
            findings.at(variable.offset, message);
        }
    }
}

fn starts_are_there(model: &Model<'_>, findings: &mut Findings<'_>) {
    for variable in model
        .variables
        .iter()
        .filter(|variable| variable.start.is_none())
    {
        let needs = match (variable.causality, variable.variability) {
            (Some(Causality::Input), _) => "an input",
            (Some(Causality::Parameter), _) => "a parameter",
            (_, Some(Variability::Constant)) => "a constant",
            _ => match variable.effective_initial() {
                Some(Initial::Exact) => "with initial=exact",
                Some(Initial::Approx) => "with initial=approx",
                _ => continue,
            },
        };
        if variable.value.is_some() {
            let message = format!("{}, {needs}, has no start value", variable.name);
            findings.at(variable.offset, message);
        }
    }
}

fn starts_are_not_too_many(model: &Model<'_>, findings: &mut Findings<'_>) {
    for variable in model
        .variables
        .iter()
        .filter(|variable| variable.start.is_some())
    {
        if variable.causality == Some(Causality::Independent) {
            let message = format!(
                "{}, the independent variable, has a start value",
                variable.name
            );
            findings.at(variable.offset, message);
        } else if variable.effective_initial() == Some(Initial::Calculated)
            && !is_continuous_by_mistake(model, variable)
        {
            let message = format!("{} is calculated, but has a start value", variable.name);
            findings.at(variable.offset, message);
        }
    }
}

fn initial_is_not_for_inputs(model: &Model<'_>, findings: &mut Findings<'_>) {
    for variable in &model.variables {
        let is_meant = matches!(
            variable.causality,
            Some(Causality::Input | Causality::Independent)
        );
        if is_meant && model.document.attribute(variable.node, "initial").is_some() {
            let offset = model.document.attribute_offset(variable.node, "initial");
            findings.at(offset, format!("{} must not have initial", variable.name));
        }
    }
}

fn only_reals_are_continuous(model: &Model<'_>, findings: &mut Findings<'_>) {
    for variable in &model.variables {
        let Some(kind) = variable.kind.filter(|kind| *kind != TypeElement::Real) else {
            continue;
        };
        if variable.variability == Some(Variability::Continuous) {
            let (name, kind) = (variable.name, kind.name());
            let message = if is_continuous_by_mistake(model, variable) {
                format!("{name}: without variability it is continuous, which no {kind} can be")
            } else {
                format!("{name}: no {kind} can be continuous")
            };
            findings.at(variable.offset, message);
        }
    }
}

fn one_independent_variable(model: &Model<'_>, findings: &mut Findings<'_>) {
    let is_independent =
        |variable: &&Variable<'_>| variable.causality == Some(Causality::Independent);
    for (number, variable) in model.variables.iter().filter(is_independent).enumerate() {
        let name = variable.name;
        if number > 0 {
            findings.at(
                variable.offset,
                format!("{name} is a second independent variable"),
            );
        }
        if variable.kind.is_some_and(|kind| kind != TypeElement::Real) {
            findings.at(
                variable.offset,
                format!("{name}, the independent variable, is not a Real"),
            );
        }
    }
}

fn multiple_sets_are_for_inputs(model: &Model<'_>, findings: &mut Findings<'_>) {
    const ATTRIBUTE: &str = "canHandleMultipleSetPerTimeInstant";
    for variable in &model.variables {
        let Some(attribute) = model.document.attribute(variable.node, ATTRIBUTE) else {
            continue;
        };
        if variable.causality != Some(Causality::Input) {
            findings.at(attribute.offset, format!("{} is no input", variable.name));
        } else if !model.has_interface("ModelExchange") {
            let message = format!("{}: the FMU is not for model exchange", variable.name);
            findings.at(attribute.offset, message);
        }
    }
}

fn reinit_is_for_states(model: &Model<'_>, findings: &mut Findings<'_>) {
    for (index, variable) in model.variables.iter().enumerate() {
        if model.own(variable, "reinit").and_then(literal::boolean) != Some(true) {
            continue;
        }
        if !model.is_state(index) {
            let message = format!("{} has reinit and is not a continuous state", variable.name);
            findings.at(variable.offset, message);
        } else if !model.has_interface("ModelExchange") {
            let message = format!(
                "{} has reinit; the FMU is not for model exchange",
                variable.name
            );
            findings.at(variable.offset, message);
        }
    }
}

fn derivatives_lead_to_reals(model: &Model<'_>, findings: &mut Findings<'_>) {
    for (own, variable) in model.variables.iter().enumerate() {
        let Some(written) = model.own(variable, "derivative") else {
            continue;
        };
        // Rule V-08 reports it if it is not a number.
        let Some(index) = literal::unsigned(written) else {
            continue;
        };
        let name = variable.name;
        let wrong = match model.variable(index) {
            None => format!("there are {} variables", model.variables.len()),
            Some(_) if place(index) == Some(own) => "that is the variable itself".to_owned(),
            Some(state) if state.kind.is_some_and(|kind| kind != TypeElement::Real) => {
                format!("{} is no Real", state.name)
            }
            Some(_) => continue,
        };
        findings.at(
            variable.offset,
            format!("{name} is the derivative of number {index}: {wrong}"),
        );
    }
}
