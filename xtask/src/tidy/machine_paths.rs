//! Texts hold on any machine: no path of one.

use super::{Finding, TextFile};

/// This file has to name what it looks for.
const THIS_FILE: &str = "xtask/src/tidy/machine_paths.rs";

/// Folders of one machine or one user.
const MACHINE_PATHS: &[&str] = &["/home/", "/root/", "/work/", "/Users/"];

/// Tests may write such a path into a text; nothing else may rely on it.
const TEMPORARY_PATH: &str = "/tmp/";

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let own = files.iter().filter(|file| !is_of_others(&file.path));
    own.flat_map(findings_of).collect()
}

fn findings_of(file: &TextFile) -> Vec<Finding> {
    let before_tests = file.lines_before_tests();
    let mut findings = Vec::new();
    for (line, text) in (1..).zip(file.text.lines()) {
        let in_tests = file.is_test() || line > before_tests;
        let problems = problems(text, in_tests).into_iter();
        findings.extend(problems.map(|message| Finding::new(&file.path, line, message)));
    }
    findings
}

/// Texts that we did not write: licences, and the lock files that cargo writes.
fn is_of_others(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path == THIS_FILE || name.starts_with("LICENSE") || name == "Cargo.lock"
}

fn problems(line: &str, in_tests: bool) -> Vec<String> {
    let mut problems = Vec::new();
    let temporary = (!in_tests).then_some(&TEMPORARY_PATH);
    for path in MACHINE_PATHS.iter().chain(temporary) {
        if names_path(line, path) {
            problems.push(format!(
                "the path {path}… is one machine's: take a relative path or an argument"
            ));
        }
    }
    problems
}

/// True if `line` holds `path` at the start of a path: `/tmp/x`, not `target/tmp/x`.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-})".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(&[file(path, text)])
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn machine_paths_are_found() {
        let text = "see /home/me/x\nand target/tmp/x\nPath::new(\"/tmp/x\")\n";
        assert_eq!(lines_found("src/a.rs", text), [1, 3]);
    }

    #[test]
    fn tests_may_name_a_temporary_path() {
        assert!(lines_found("tests/a.rs", "\"/tmp/x\"").is_empty());
        let unit = "const A: &str = \"/tmp/x\";\n#[cfg(test)]\nmod tests { const A: &str = \"/tmp/x\"; }\n";
        assert_eq!(lines_found("src/a.rs", unit), [1]);
        assert_eq!(lines_found("tests/a.rs", "\"/home/x\""), [1]);
    }

    #[test]
    fn licences_are_left_alone() {
        assert!(lines_found("LICENSE-APACHE", "/home/x").is_empty());
    }
}
