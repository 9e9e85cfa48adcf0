//! Every rule, with an FMU that breaks it and one that does not.

#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod archives;
mod descriptions;
mod documentation;
mod robustness;

use gyrator_validate::{Finding, Report};

/// The findings of one rule.
fn of_rule(report: &Report, number: u8) -> Vec<&Finding> {
    let findings = report.findings.iter();
    findings.filter(|finding| finding.rule == number).collect()
}
