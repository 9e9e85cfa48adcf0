//! Files and functions stay short enough to be read.

use super::rust_source::RustSource;
use super::{Finding, TextFile};

/// How many lines are too many; tests are not counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    file: usize,
    function: usize,
}

pub(super) const LIMITS: Limits = Limits {
    file: 600,
    function: 80,
};

pub(super) fn check(files: &[TextFile], limits: Limits) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.is_rust() && !file.is_test())
    {
        // A file that is not Rust is reported by the rule about unsafe code.
        let Ok(source) = RustSource::parse(&file.text) else {
            continue;
        };
        let test_lines: usize = source
            .test_modules
            .iter()
            .cloned()
            .map(Iterator::count)
            .sum();
        let lines = file.text.lines().count() - test_lines;
        if lines > limits.file {
            let message = format!(
                "{lines} lines without tests, {} are allowed: split it",
                limits.file
            );
            findings.push(Finding::new(&file.path, 0, message));
        }
        for function in source.functions {
            let first = *function.lines.start();
            let lines = function.lines.count();
            if lines > limits.function {
                let message = format!(
                    "function `{}` has {lines} lines, {} are allowed: split it",
                    function.name, limits.function
                );
                findings.push(Finding::new(&file.path, first, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    const SMALL: Limits = Limits {
        file: 6,
        function: 3,
    };

    #[test]
    fn long_files_and_functions_are_found() {
        let found = check(
            &[file("a.rs", "\nfn b() {\n    1;\n    2;\n}\n\n\n")],
            SMALL,
        );
        let places: Vec<_> = found.iter().map(|f| (f.line, f.message.as_str())).collect();
        assert_eq!(
            places,
            [
                (0, "7 lines without tests, 6 are allowed: split it"),
                (2, "function `b` has 4 lines, 3 are allowed: split it")
            ]
        );
    }

    #[test]
    fn tests_are_not_counted() {
        let inline = "#[cfg(test)]\nmod tests {\n    fn b() {\n        1;\n        2;\n    }\n}\n";
        let found = check(
            &[
                file("a.rs", inline),
                file("tests/a.rs", "fn b() {\n\n\n\n}\n"),
            ],
            SMALL,
        );
        assert!(found.is_empty(), "{found:?}");
    }
}
