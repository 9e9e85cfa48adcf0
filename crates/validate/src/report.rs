//! Holds an FMU against the rules.

use std::io;
use std::path::Path;

use gyrator_fmu::xml::Document;
use gyrator_fmu::{Limits, Position};
use serde::Serialize;

use crate::finding::{Finding, Findings, Severity};
use crate::model::Model;
use crate::positions::Positions;
use crate::rule::{Check, Rule};
use crate::rules::{FMI_VERSION, rules};
use crate::subject::Subject;

/// All that was found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Violations by rule, and by place within one.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Number of findings of this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings
            .filter(|finding| finding.severity == severity)
            .count()
    }

    /// Adds findings from elsewhere.
    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.sort();
    }

    fn sort(&mut self) {
        let findings = &mut self.findings;
        findings.sort_by_key(|finding| (finding.rule, finding.line, finding.column));
    }

    /// The worst severity; `None` without findings.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

/// Looks at an FMU, or at a `modelDescription.xml` alone, without running anything.
///
/// # Errors
/// If the file cannot be read. A file that is not an FMU gives findings.
pub fn examine(path: &Path) -> io::Result<Report> {
    Ok(examine_subject(&Subject::read(path, Limits::default())?))
}

/// Looks at what was read already.
#[must_use]
pub fn examine_subject(subject: &Subject) -> Report {
    let text = subject.text.as_deref().unwrap_or_default();
    let positions = Positions::new(text);
    let document = Document::parse(text).ok();
    let model = document.as_ref().map(Model::new);
    let mut report = Report::default();
    let of_other_version = model.as_ref().is_some_and(is_of_other_version);
    for rule in rules().filter(|rule| !of_other_version || rule.number == FMI_VERSION) {
        check(
            rule,
            subject,
            model.as_ref(),
            &|offset| positions.at(offset),
            &mut report.findings,
        );
    }
    report
        .findings
        .sort_by_key(|finding| (finding.rule, finding.line, finding.column));
    report
}

/// Whether the description is one of FMI 1.0 or 3.0, which all other rules would find wrong.
fn is_of_other_version(model: &Model<'_>) -> bool {
    let root = model.document.root();
    let version = model.document.value(root, "fmiVersion");
    version.is_some_and(|version| !version.trim().starts_with("2.0"))
}

fn check(
    rule: &Rule,
    subject: &Subject,
    model: Option<&Model<'_>>,
    positions: &dyn Fn(usize) -> Position,
    kept: &mut Vec<Finding>,
) {
    let mut findings = Findings::new(rule.number, rule.severity, kept, positions);
    match rule.check {
        Check::Archive(look) => look(subject, &mut findings),
        Check::Description(look) => {
            if let Some(model) = model {
                look(model, &mut findings);
            }
        }
        Check::Dynamic(_) | Check::Repeated(_) | Check::Reference => {}
    }
    findings.finish();
}
