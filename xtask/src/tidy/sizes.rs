//! Files stay short enough to be read; of functions, clippy sees to that (`too_many_lines`).

use super::{Finding, TextFile};

/// Most lines of a file; tests are not counted.
const LIMIT: usize = 600;

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let files = files
        .iter()
        .filter(|file| file.is_rust() && !file.is_test());
    let finding = |file: &TextFile| {
        let lines = file.lines_before_tests();
        let message = format!("{lines} lines without tests, {LIMIT} are allowed: split it");
        (lines > LIMIT).then(|| Finding::new(&file.path, 0, message))
    };
    files.filter_map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn long_files_are_found_and_tests_are_not_counted() {
        let lines = "//\n".repeat(LIMIT);
        let tests = format!("{lines}#[cfg(test)]\nmod tests {{\n{lines}}}\n");
        let apart = format!("{lines}#[cfg(test)]\nmod tests;\n");
        let all = [
            ("a.rs", &lines),
            ("b.rs", &tests),
            ("c.rs", &apart),
            ("tests/d.rs", &apart),
        ];
        let found = check(&all.map(|(path, text)| file(path, text)));
        let places: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            places,
            ["c.rs: 602 lines without tests, 600 are allowed: split it"]
        );
    }
}
