//! Names that say nothing about what a module is for.

use super::{Finding, TextFile};

const NOT_ALLOWED: &[&str] = &[
    "utils", "util", "common", "core", "types", "helpers", "helper", "misc",
];

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for part in file.path.trim_end_matches(".rs").split('/') {
            if NOT_ALLOWED.contains(&part) {
                findings.push(Finding::new(&file.path, 0, advice(part)));
            }
        }
        for (line, text) in (1..).zip(file.text.lines()) {
            let words: Vec<&str> = text
                .split([' ', ';'])
                .filter(|word| !word.is_empty())
                .collect();
            if let ["mod", name, ..] | ["pub" | "pub(crate)" | "pub(super)", "mod", name, ..] =
                words[..]
                && NOT_ALLOWED.contains(&name)
            {
                findings.push(Finding::new(&file.path, line, advice(name)));
            }
        }
    }
    findings
}

fn advice(name: &str) -> String {
    format!("a module called `{name}` says nothing: name it after what it holds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn files_folders_and_inline_modules_are_found() {
        let found = check(&[
            file("crates/a/src/utils.rs", ""),
            file("crates/a/src/common/port.rs", ""),
            file("crates/a/src/lib.rs", "mod port;\n\nmod types {}\n"),
        ]);
        let places: Vec<_> = found.iter().map(|f| (f.path.as_str(), f.line)).collect();
        assert_eq!(
            places,
            [
                ("crates/a/src/utils.rs", 0),
                ("crates/a/src/common/port.rs", 0),
                ("crates/a/src/lib.rs", 3)
            ]
        );
    }

    #[test]
    fn names_that_only_contain_such_a_word_are_fine() {
        assert!(check(&[file("fmus/all-types/src/lib.rs", "mod variable_types;")]).is_empty());
    }
}
