//! V-51 to V-53: reference results.

use crate::finding::{Findings, Severity};
use crate::reference::Manifest;
use crate::rule::{Check, Rule};
use crate::subject::Subject;

/// The rule that stands for a run that is compared.
pub(crate) static MEETS_REFERENCE: Rule = Rule {
    number: 51,
    title: "the results lie in the tube of fmi-cross-check around the reference",
    severity: Severity::Error,
    source: "fmi-cross-check, rules 4.1; FMPy 0.3",
    check: Check::Reference,
};

pub(super) static RULES: &[Rule] = &[
    Rule {
        number: MEETS_REFERENCE.number,
        title: MEETS_REFERENCE.title,
        severity: MEETS_REFERENCE.severity,
        source: MEETS_REFERENCE.source,
        check: MEETS_REFERENCE.check,
    },
    Rule {
        number: 52,
        title: "the results meet the reference within its tolerance",
        severity: Severity::Error,
        source: "fmi-cross-check, rules 4.1, RelTol",
        check: Check::Reference,
    },
    Rule {
        number: 53,
        title: "the files that the manifest of references names are there",
        severity: Severity::Warning,
        source: "FMI-LS-REF 1.0.0-alpha.1",
        check: Check::Archive(related_files_are_there),
    },
];

fn related_files_are_there(subject: &Subject, findings: &mut Findings<'_>) {
    let (contents, manifest) = match Manifest::of(subject) {
        None => return,
        Some(Err(reason)) => return findings.add(format!("the manifest cannot be read: {reason}")),
        Some(Ok(found)) => found,
    };
    for related in &manifest.related {
        if let Some(entry) = related.entry()
            && contents.file(&entry).is_none()
        {
            findings.add(format!("{entry} is not there"));
        }
        let main = related.role.split('/').next().unwrap_or_default();
        if !ROLES.contains(&main) {
            findings.add(format!(
                "{}: there is no role {:?}",
                related.source, related.role
            ));
        }
    }
}

/// Roles of files, without their parts after a slash.
const ROLES: [&str; 19] = [
    "configuration",
    "delivery",
    "document",
    "experiment",
    "meta-data",
    "method",
    "model",
    "other",
    "parameter",
    "rationale",
    "report",
    "request",
    "requirement",
    "result",
    "serialized-state",
    "signature",
    "specification",
    "system",
    "testcase",
];
