//! The rules, one file a group. A new rule is one entry in its group.

mod abilities;
mod aliases;
mod archive;
mod binaries;
mod document;
mod names;
mod ranges;
mod references;
mod repacking;
mod running;
mod simple_types;
mod start_values;
mod structure;
mod units;
mod variables;

pub(crate) use document::FMI_VERSION;
pub(crate) use references::MEETS_REFERENCE;
pub(crate) use running::REHEARSAL;

use crate::rule::Rule;

/// All rules, by group; numbers ascend within all of them.
pub static GROUPS: &[(&str, &[Rule])] = &[
    ("archive", archive::RULES),
    ("binaries", binaries::RULES),
    ("XML", document::RULES),
    ("interfaces", abilities::RULES),
    ("variables", variables::RULES),
    ("ranges", ranges::RULES),
    ("aliases", aliases::RULES),
    ("types", simple_types::RULES),
    ("units", units::RULES),
    ("structure", structure::RULES),
    ("running", running::RULES),
    ("references", references::RULES),
    ("start values", start_values::RULES),
];

/// All rules.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    GROUPS.iter().flat_map(|(_, rules)| rules.iter())
}

/// The rule of this number.
#[must_use]
pub fn rule(number: u8) -> Option<&'static Rule> {
    rules().find(|rule| rule.number == number)
}

/// Reports names that occur twice.
fn report_duplicates<'m>(
    named: impl Iterator<Item = (&'m str, usize)>,
    what: &str,
    findings: &mut crate::finding::Findings<'_>,
) {
    let mut seen = std::collections::BTreeSet::new();
    for (name, offset) in named {
        if !seen.insert(name) {
            findings.at(offset, format!("{what} {name:?} is there twice"));
        }
    }
}
