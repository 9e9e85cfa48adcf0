//! The texts that a reader starts with exist and keep their form.

use super::{Finding, TextFile};

const ARCHITECTURE_LINES: usize = 150;

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let text = |path: &str| {
        files
            .iter()
            .find(|file| file.path == path)
            .map(|file| &file.text)
    };
    let mut findings = Vec::new();
    match text("CHANGELOG.md") {
        None => findings.push(Finding::new("CHANGELOG.md", 0, "missing")),
        Some(text) if !text.lines().any(is_unreleased) => {
            findings.push(Finding::new(
                "CHANGELOG.md",
                0,
                "no section `## [Unreleased]`",
            ));
        }
        Some(_) => {}
    }
    let lines = text("ARCHITECTURE.md").map(|text| text.lines().count());
    match lines {
        None => findings.push(Finding::new("ARCHITECTURE.md", 0, "missing")),
        Some(lines) if lines > ARCHITECTURE_LINES => {
            let message = format!("{lines} lines, {ARCHITECTURE_LINES} are allowed: one page");
            findings.push(Finding::new("ARCHITECTURE.md", 0, message));
        }
        Some(_) => {}
    }
    findings
}

fn is_unreleased(line: &str) -> bool {
    line.strip_prefix("## ")
        .is_some_and(|title| title.trim_matches(['[', ']', ' ']) == "Unreleased")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn missing_texts_are_found() {
        let paths: Vec<_> = check(&[]).into_iter().map(|f| f.path).collect();
        assert_eq!(paths, ["CHANGELOG.md", "ARCHITECTURE.md"]);
    }

    #[test]
    fn a_long_architecture_and_a_closed_change_log_are_found() {
        let long = "x\n".repeat(ARCHITECTURE_LINES + 1);
        let found = check(&[
            file("CHANGELOG.md", "## 1.0\n"),
            file("ARCHITECTURE.md", &long),
        ]);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn both_forms_of_the_unreleased_title_are_known() {
        for title in ["## [Unreleased]", "## Unreleased"] {
            let found = check(&[
                file("CHANGELOG.md", title),
                file("ARCHITECTURE.md", "# A\n"),
            ]);
            assert!(found.is_empty(), "{found:?}");
        }
    }
}
