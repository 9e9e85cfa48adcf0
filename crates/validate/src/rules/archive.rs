//! V-01 to V-04 and V-06: the archive.

use crate::finding::{Findings, Severity};
use crate::rule::{Check, Rule};
use crate::subject::{ArchiveEntry, DESCRIPTION, Subject};

pub(super) static RULES: &[Rule] = &[
    Rule {
        number: 1,
        title: "the file is a ZIP archive whose entries can be unpacked without harm",
        severity: Severity::Fatal,
        source: "2.3; APPNOTE 4.4",
        check: Check::Archive(entries_are_harmless),
    },
    Rule {
        number: 2,
        title: "names in the archive have / between their parts",
        severity: Severity::Error,
        source: "APPNOTE 4.4.17",
        check: Check::Archive(names_have_slashes),
    },
    Rule {
        number: 3,
        title: "modelDescription.xml is at the root of the archive",
        severity: Severity::Fatal,
        source: "2.3",
        check: Check::Archive(has_description),
    },
    Rule {
        number: 4,
        title: "there is a binary or source code",
        severity: Severity::Fatal,
        source: "2.3",
        check: Check::Archive(has_code),
    },
    Rule {
        number: 6,
        title: "all other files of the archive are where they belong",
        severity: Severity::Note,
        source: "2.3",
        check: Check::Archive(extras_are_in_place),
    },
];

fn entries_are_harmless(subject: &Subject, findings: &mut Findings<'_>) {
    let contents = match &subject.archive {
        None => return,
        Some(Err(reason)) => {
            return findings.add(format!("it is not a readable ZIP archive: {reason}"));
        }
        Some(Ok(contents)) => contents,
    };
    let mut seen = std::collections::BTreeSet::new();
    for entry in &contents.entries {
        if let Some(harm) = harm(entry) {
            findings.add(format!("the entry {:?} {harm}", entry.raw));
        }
        if !entry.is_directory && !seen.insert(&entry.name) {
            findings.add(format!("the entry {:?} is there twice", entry.raw));
        }
        if entry.version_needed > 20 {
            let version = f32::from(entry.version_needed) / 10.0;
            let message = format!(
                "the entry {:?} needs version {version} of the ZIP format; FMI 2.0 allows 2.0",
                entry.raw
            );
            findings.graded(Severity::Warning, message);
        }
    }
    if contents.has_duplicates && seen.len() == contents.entries.len() {
        findings.add("two entries have the same name");
    }
}

/// Why an entry must not be unpacked.
fn harm(entry: &ArchiveEntry) -> Option<&'static str> {
    let name = entry.name.as_str();
    let mut parts = name.split('/');
    if name.starts_with('/') {
        Some("is an absolute path")
    } else if name.as_bytes().get(1) == Some(&b':') {
        Some("is a path with a drive")
    } else if parts.any(|part| part == "..") {
        Some("leads out of the archive")
    } else if name.chars().any(char::is_control) {
        Some("has control characters in its name")
    } else if entry.is_link {
        Some("is a symbolic link")
    } else if entry.is_encrypted {
        Some("is encrypted")
    } else if !entry.is_readable {
        Some("is compressed by a method that FMI 2.0 forbids")
    } else {
        None
    }
}

fn names_have_slashes(subject: &Subject, findings: &mut Findings<'_>) {
    let entries = subject
        .contents()
        .map_or(&[][..], |contents| &contents.entries);
    for entry in entries.iter().filter(|entry| entry.raw.contains('\\')) {
        findings.add(format!("the name {:?} has a backslash", entry.raw));
    }
}

fn has_description(subject: &Subject, findings: &mut Findings<'_>) {
    let Some(contents) = subject.contents() else {
        return;
    };
    if contents.file(DESCRIPTION).is_some() {
        if let Err(reason) = contents.description() {
            findings.add(format!("{DESCRIPTION} cannot be read: {reason}"));
        }
        return;
    }
    let misplaced = contents.entries.iter().find(|entry| {
        let file = entry.name.rsplit('/').next().unwrap_or_default();
        !entry.is_directory && file.eq_ignore_ascii_case(DESCRIPTION)
    });
    findings.add(match misplaced {
        Some(entry) => format!("there is no {DESCRIPTION} at the root, but {:?}", entry.raw),
        None => format!("there is no {DESCRIPTION}"),
    });
}

fn has_code(subject: &Subject, findings: &mut Findings<'_>) {
    let Some(contents) = subject.contents() else {
        return;
    };
    let platforms = contents.platforms();
    let mut files = contents.entries.iter().filter(|entry| !entry.is_directory);
    let has_sources = files.any(|entry| entry.name.starts_with("sources/"));
    if platforms.is_empty() && has_sources {
        findings.graded(
            Severity::Warning,
            "there is source code only; it has to be compiled before it can run",
        );
    } else if platforms.is_empty() {
        findings.add("there is neither a binary nor source code");
    }
}

fn extras_are_in_place(subject: &Subject, findings: &mut Findings<'_>) {
    const KNOWN: [&str; 9] = [
        "binaries",
        "documentation",
        "extra",
        "licenses",
        "resources",
        "sources",
        DESCRIPTION,
        "model.png",
        "terminalsAndIcons",
    ];
    let Some(contents) = subject.contents() else {
        return;
    };
    let mut unknown: Vec<&str> = contents
        .entries
        .iter()
        .filter_map(|entry| entry.name.split('/').next())
        .filter(|first| !first.is_empty() && !KNOWN.contains(first))
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    for name in unknown {
        findings.add(format!(
            "{name:?} at the root of the archive is not known to FMI 2.0"
        ));
    }
    let has_documentation = contents
        .entries
        .iter()
        .any(|entry| entry.name.starts_with("documentation/"));
    let index = "documentation/index.html";
    if has_documentation && contents.file(index).is_none() {
        findings.add(format!(
            "there is documentation, but no {index} to begin with"
        ));
    }
}
