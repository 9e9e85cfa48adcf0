//! V-12 to V-18: interfaces, default experiment, annotations.

use super::report_duplicates;
use crate::finding::{Findings, Severity};
use crate::literal;
use crate::model::Model;
use crate::rule::{Check, Rule};
use crate::schema::MISSPELT_ABILITIES;

pub(super) static RULES: &[Rule] = &[
    Rule {
        number: 12,
        title: "modelIdentifier is a C identifier and a safe file name",
        severity: Severity::Error,
        source: "3.3.1, 4.3.1",
        check: Check::Description(identifiers_are_of_c),
    },
    Rule {
        number: 13,
        title: "source files are listed once",
        severity: Severity::Error,
        source: "2.2.1",
        check: Check::Description(source_files_are_unique),
    },
    Rule {
        number: 14,
        title: "an FMU that can serialize its state can also get and set it",
        severity: Severity::Error,
        source: "3.3.1, 4.3.1",
        check: Check::Description(serialization_implies_states),
    },
    Rule {
        number: 15,
        title: "the default experiment can be run",
        severity: Severity::Error,
        source: "2.2.5",
        check: Check::Description(default_experiment_can_run),
    },
    Rule {
        number: 16,
        title: "log categories are there once",
        severity: Severity::Error,
        source: "2.2.4",
        check: Check::Description(log_categories_are_unique),
    },
    Rule {
        number: 17,
        title: "every tool has one annotation",
        severity: Severity::Error,
        source: "2.2.6",
        check: Check::Description(annotations_are_unique),
    },
    Rule {
        number: 18,
        title: "capability flags are spelt as in the standard",
        severity: Severity::Error,
        source: "3.3.1, 4.3.1",
        check: Check::Description(abilities_are_spelt_right),
    },
];

fn identifiers_are_of_c(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    for node in model.interfaces() {
        // Rule V-08 reports it if it is missing.
        let Some(identifier) = document.value(node, "modelIdentifier") else {
            continue;
        };
        let offset = document.attribute_offset(node, "modelIdentifier");
        if identifier.contains(['/', '\\', '\0']) || identifier == ".." || identifier.is_empty() {
            let message = format!("modelIdentifier {identifier:?} cannot be the name of a file");
            findings.graded_at(Severity::Fatal, offset, message);
        } else if !is_c_identifier(identifier) {
            let message = format!("modelIdentifier {identifier:?} is not a C identifier");
            findings.at(offset, message);
        }
    }
}

fn is_c_identifier(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

fn source_files_are_unique(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    for interface in model.interfaces() {
        for list in document.children_named(interface, "SourceFiles") {
            report_duplicates(names_in(model, list, "File"), "the source file", findings);
        }
    }
}

/// Names of the children of an element, with their offsets.
fn names_in<'m>(
    model: &'m Model<'_>,
    parent: gyrator_fmu::xml::Node,
    children: &'m str,
) -> impl Iterator<Item = (&'m str, usize)> {
    let document = model.document;
    document
        .children_named(parent, children)
        .filter_map(|node| {
            let name = document.value(node, "name")?;
            Some((name, document.offset(node)))
        })
}

fn serialization_implies_states(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    for node in model.interfaces() {
        let can = |name| document.value(node, name).and_then(literal::boolean) == Some(true);
        if can("canSerializeFMUstate") && !can("canGetAndSetFMUstate") {
            let message = "canSerializeFMUstate without canGetAndSetFMUstate";
            findings.at(
                document.attribute_offset(node, "canSerializeFMUstate"),
                message,
            );
        }
    }
}

fn default_experiment_can_run(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    let Some(node) = document.child(document.root(), "DefaultExperiment") else {
        return;
    };
    let number = |name| document.value(node, name).and_then(literal::double);
    let mut wrong = |name, message: String| {
        findings.at(document.attribute_offset(node, name), message);
    };
    for name in ["startTime", "stopTime", "tolerance", "stepSize"] {
        if let Some(value) = number(name).filter(|value| !value.is_finite()) {
            wrong(name, format!("{name} is {value}"));
        }
    }
    if let Some(tolerance) = number("tolerance").filter(|tolerance| *tolerance < 0.0) {
        wrong(
            "tolerance",
            format!("the tolerance {tolerance} is negative"),
        );
    }
    let step = number("stepSize");
    if let Some(step) = step.filter(|step| *step <= 0.0) {
        wrong("stepSize", format!("the step size {step} is not positive"));
    }
    let start = number("startTime").unwrap_or(0.0);
    let Some(stop) = number("stopTime") else {
        return;
    };
    if stop <= start {
        wrong(
            "stopTime",
            format!("the stop time {stop} is not after the start time {start}"),
        );
    } else if let Some(step) = step.filter(|step| *step > stop - start) {
        let span = stop - start;
        wrong(
            "stepSize",
            format!("the step size {step} is longer than the run of {span}"),
        );
    }
}

fn log_categories_are_unique(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    if let Some(list) = document.child(document.root(), "LogCategories") {
        report_duplicates(names_in(model, list, "Category"), "the category", findings);
    }
}

fn annotations_are_unique(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    let of_model = document.child(document.root(), "VendorAnnotations");
    let of_variables = model
        .variables
        .iter()
        .filter_map(|variable| document.child(variable.node, "Annotations"));
    for list in of_model.into_iter().chain(of_variables) {
        report_duplicates(names_in(model, list, "Tool"), "the tool", findings);
    }
}

fn abilities_are_spelt_right(model: &Model<'_>, findings: &mut Findings<'_>) {
    for node in model.interfaces() {
        for attribute in model.document.attributes(node) {
            let known = MISSPELT_ABILITIES
                .iter()
                .find(|(wrong, _)| *wrong == attribute.name);
            if let Some((wrong, right)) = known {
                findings.at(attribute.offset, format!("{wrong} should be {right}"));
            }
        }
    }
}
