//! V-07 to V-11: the description as a document.

use gyrator_fmu::xml::Document;

use crate::finding::{Findings, Severity};
use crate::model::Model;
use crate::rule::{Check, Rule};
use crate::subject::Subject;

/// Number of the rule on the version of FMI.
pub(crate) const FMI_VERSION: u8 = 9;

pub(super) static RULES: &[Rule] = &[
    Rule {
        number: 7,
        title: "the description is well-formed XML in UTF-8 without a DOCTYPE",
        severity: Severity::Fatal,
        source: "2.2",
        check: Check::Archive(is_well_formed),
    },
    Rule {
        number: 8,
        title: "the description has the elements and attributes of the schema, in its order",
        severity: Severity::Error,
        source: "2.2, fmi2ModelDescription.xsd",
        check: Check::Description(has_the_structure_of_the_schema),
    },
    Rule {
        number: FMI_VERSION,
        title: "fmiVersion is 2.0",
        severity: Severity::Fatal,
        source: "2.2.1",
        check: Check::Description(is_of_version_2),
    },
    Rule {
        number: 10,
        title: "the model has a name and a GUID",
        severity: Severity::Error,
        source: "2.2.1",
        check: Check::Description(has_name_and_guid),
    },
    Rule {
        number: 11,
        title: "there is ModelExchange or CoSimulation, each once at most",
        severity: Severity::Fatal,
        source: "2.2.1",
        check: Check::Description(has_an_interface),
    },
];

fn is_well_formed(subject: &Subject, findings: &mut Findings<'_>) {
    for warning in &subject.encoding {
        findings.graded(Severity::Warning, &warning.message);
    }
    if let Some(Err(wrong)) = subject.text.as_deref().map(Document::parse) {
        findings.at(wrong.offset, wrong.message);
    }
}

fn has_the_structure_of_the_schema(model: &Model<'_>, findings: &mut Findings<'_>) {
    crate::schema::check(model.document, findings);
}

fn is_of_version_2(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    let root = document.root();
    let offset = document.attribute_offset(root, "fmiVersion");
    match document.value(root, "fmiVersion") {
        Some("2.0") => {}
        Some(version) if version.trim().starts_with("2.0") => {
            let message = format!("fmiVersion is {version:?}; also minor versions have to say 2.0");
            findings.graded_at(Severity::Error, offset, message);
        }
        Some(version) => {
            let message =
                format!("fmiVersion is {version:?}: no rule of FMI 2.0 but this one is checked");
            findings.at(offset, message);
        }
        None => findings.at(offset, "there is no fmiVersion"),
    }
}

fn has_name_and_guid(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    let root = document.root();
    for name in ["modelName", "guid"] {
        let offset = document.attribute_offset(root, name);
        match document.value(root, name) {
            None => findings.at(offset, format!("there is no {name}")),
            Some(value) if value.trim().is_empty() => {
                let grade = if name == "guid" {
                    Severity::Error
                } else {
                    Severity::Warning
                };
                findings.graded_at(grade, offset, format!("{name} is empty"));
            }
            Some(_) => {}
        }
    }
}

fn has_an_interface(model: &Model<'_>, findings: &mut Findings<'_>) {
    let document = model.document;
    let root = document.root();
    if model.interfaces().next().is_none() {
        findings.at(
            document.offset(root),
            "there is neither ModelExchange nor CoSimulation",
        );
    }
    for name in ["ModelExchange", "CoSimulation"] {
        if let Some(second) = document.children_named(root, name).nth(1) {
            findings.graded_at(
                Severity::Error,
                document.offset(second),
                format!("{name} is there twice"),
            );
        }
    }
}
