//! The tables of `docs/` that name sources and tests: every number has a row, every source and test exists.

use std::collections::BTreeSet;

use super::{Finding, TextFile};

/// A table: its file, the letter of its numbers, the last number.
const TABLES: &[(&str, char, usize)] = &[
    ("docs/conformance.md", 'C', 80),
    ("docs/reliability.md", 'R', 46),
];

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, letter, last) in TABLES {
        if let Some(file) = files.iter().find(|file| file.path == *path) {
            findings.extend(missing_numbers(file, *letter, *last));
            findings.extend(missing_sources(file, files));
            findings.extend(missing_tests(file, files));
        }
    }
    findings
}

/// The cells of a row of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('|')?;
    let row = row.strip_suffix('|').unwrap_or(row);
    Some(row.split('|').map(str::trim).collect())
}

/// The cells of a row that begins with a number, or with several.
fn numbered(line: &str, letter: char) -> Option<Vec<&str>> {
    let cells = cells(line)?;
    let first = cells.first()?.split(',').next()?;
    let number = first.strip_prefix(letter)?.strip_prefix('-')?;
    number.parse::<usize>().ok().map(|_| cells)
}

fn missing_numbers(file: &TextFile, letter: char, last: usize) -> Vec<Finding> {
    let rows = file.text.lines().filter_map(|line| numbered(line, letter));
    let numbers = rows.flat_map(|cells| cells[0].split(',').map(str::trim));
    let found: BTreeSet<&str> = numbers.collect();
    let all = (1..=last).map(|number| format!("{letter}-{number:02}"));
    all.filter(|number| !found.contains(number.as_str()))
        .map(|number| Finding::new(&file.path, 0, format!("{number} has no row")))
        .collect()
}

/// Code in a column that is called `where` is `PACKAGE/FILE` below `crates/`, without `src/`.
fn missing_sources(file: &TextFile, files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut column = None;
    for (number, line) in (1..).zip(file.text.lines()) {
        let cells = cells(line).unwrap_or_default();
        if cells.is_empty() || cells.contains(&"where") {
            column = cells.iter().position(|cell| *cell == "where");
            continue;
        }
        let cell = column.and_then(|column| cells.get(column));
        let names = cell
            .iter()
            .flat_map(|cell| cell.split('`').skip(1).step_by(2));
        for name in names {
            let (package, rest) = name.split_once('/').unwrap_or((name, "lib.rs"));
            let path = format!("crates/{package}/src/{rest}");
            let is_there = |file: &TextFile| {
                let further = file.path.strip_prefix(&path);
                further.is_some_and(|further| further.is_empty() || further.starts_with('/'))
            };
            if !files.iter().any(is_there) {
                findings.push(Finding::new(
                    &file.path,
                    number,
                    format!("there is no {path}"),
                ));
            }
        }
    }
    findings
}

/// Names in a last column that is called `tests` are functions of the sources.
fn missing_tests(file: &TextFile, files: &[TextFile]) -> Vec<Finding> {
    let tests = tests(files);
    let mut findings = Vec::new();
    let mut is_of_tests = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        let Some(last) = cells(line).and_then(|cells| cells.last().copied()) else {
            is_of_tests = false;
            continue;
        };
        if last == "tests" {
            is_of_tests = true;
            continue;
        }
        let is_rule = last.bytes().all(|byte| matches!(byte, b'-' | b':'));
        if !is_of_tests || is_rule {
            continue;
        }
        for name in last.split(',').map(|name| name.trim().trim_matches('`')) {
            if !tests.contains(name) {
                let message = format!("there is no test {name}");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

/// Names of all functions: tests are some of them.
fn tests(files: &[TextFile]) -> BTreeSet<&str> {
    let rust = files.iter().filter(|file| file.is_rust());
    let lines = rust.flat_map(|file| file.text.lines());
    lines
        .filter_map(|line| line.trim_start().strip_prefix("fn "))
        .filter_map(|rest| rest.split(['(', '<']).next())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn missing_rows_and_tests_are_found() {
        let mut table = String::from("| number | tests |\n|---|---|\n");
        for number in 1..=80 {
            if number != 7 {
                table += &format!("| C-{number:02} | asked | where | `sound`, `other` |\n");
            }
        }
        let test = file(
            "a/src/x.rs",
            "#[test]\nfn sound() {}\n#[test]\nfn other() {}\n",
        );
        let found = check(&[file("docs/conformance.md", &table), test]);
        let messages: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 1);
        assert!(messages[0].contains("C-07 has no row"), "{messages:?}");
        let lone = file("a/src/x.rs", "#[test]\nfn sound() {}\n");
        let found = check(&[file("docs/conformance.md", &table), lone]);
        assert_eq!(found.len(), 1 + 79);
        assert!(found[1].to_string().contains("there is no test other"));
    }

    #[test]
    fn missing_sources_are_found() {
        let table = "| number | where | tests |\n|---|---|---|\n| C-01 | `a/x.rs`, `a/b`, `a/y.rs` | `sound` |\n";
        let files = [
            file("crates/a/src/x.rs", ""),
            file("crates/a/src/b/mod.rs", ""),
        ];
        let found = missing_sources(&file("docs/conformance.md", table), &files);
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .to_string()
                .contains("there is no crates/a/src/y.rs")
        );
    }

    #[test]
    fn rows_without_a_number_name_tests_as_well() {
        let numbered = |number| format!("| C-{number:02} | asked | `sound` |\n");
        let mut text = String::from("| number | what | tests |\n|---|---|---|\n");
        text.extend((1..=80).map(numbered));
        text += "| **part** | | |\n\n| what | tests |\n|:--|---|\n| other | `gone`, `sound` |\n";
        text += "\n| a table | of something else |\n|---|---|\n| with | `words` |\n";
        let test = file("a/src/x.rs", "#[test]\nfn sound() {}\n");
        let found = check(&[file("docs/conformance.md", &text), test]);
        let messages: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].contains("there is no test gone"));
    }

    #[test]
    fn tables_that_are_not_there_are_not_missed() {
        assert!(check(&[]).is_empty());
    }
}
