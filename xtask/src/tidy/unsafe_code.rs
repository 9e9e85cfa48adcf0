//! `unsafe` lives in a named list of files; every other crate forbids it.

use super::rust_source::RustSource;
use super::{Finding, TextFile};

/// The files that may contain `unsafe`, and do.
pub(super) const FILES: &[&str] = &[
    "crates/fmu/src/float_control.rs",
    "crates/fmu/src/instance/calls.rs",
    "crates/fmu/src/instance/derivatives.rs",
    "crates/fmu/src/instance/making.rs",
    "crates/fmu/src/instance/pending.rs",
    "crates/fmu/src/instance/saved_state.rs",
    "crates/fmu/src/instance/values.rs",
    "crates/fmu/src/library.rs",
    "crates/fmu/src/logger.rs",
    "crates/worker/src/board.rs",
    "crates/worker/src/crash_handler.rs",
    "crates/worker/src/leaving.rs",
    "crates/worker/src/shared_memory.rs",
    "fmus/kit/src/crash.rs",
    "fmus/kit/src/export.rs",
    "fmus/kit/src/ffi/arguments.rs",
    "fmus/kit/src/ffi/instance.rs",
    "fmus/kit/src/ffi/states.rs",
    "fmus/kit/src/ffi/tests.rs",
    "fmus/kit/src/ffi/values.rs",
];

/// How far above an `unsafe` its comment may begin, in lines of the same statement.
const STATEMENT_LINES: usize = 8;

pub(super) fn check(files: &[TextFile], allowed: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut holders: Vec<&str> = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let source = match RustSource::parse(&file.text) {
            Ok(source) => source,
            Err(message) => {
                findings.push(Finding::new(&file.path, 0, message));
                continue;
            }
        };
        let Some(first) = source.unsafes.first() else {
            continue;
        };
        holders.push(&file.path);
        if !allowed.contains(&file.path.as_str()) {
            findings.push(Finding::new(
                &file.path,
                first.line,
                "unsafe outside the named files: do without it, or add the file to FILES in \
                 xtask/src/tidy/unsafe_code.rs",
            ));
        }
        let lines: Vec<&str> = file.text.lines().collect();
        for place in source.unsafes.iter().filter(|place| place.vouches) {
            if !has_safety_comment(&lines, place.line) {
                findings.push(Finding::new(
                    &file.path,
                    place.line,
                    "unsafe without a `// SAFETY:` comment above it",
                ));
            }
        }
    }
    for path in allowed.iter().filter(|path| !holders.contains(path)) {
        findings.push(Finding::new(
            path,
            0,
            "named for unsafe, but has none: strike it from FILES",
        ));
    }
    findings.extend(roots_without_forbid(files, allowed));
    findings
}

/// Looks upwards from line `line` (from 1) through its statement and the comment above.
fn has_safety_comment(lines: &[&str], line: usize) -> bool {
    if lines[line - 1].contains("// SAFETY:") {
        return true;
    }
    let above = lines[..line - 1].iter().rev().map(|text| text.trim());
    let mut code_lines = 0;
    for text in above {
        if text.starts_with("// SAFETY:") {
            return true;
        }
        if text.starts_with("//") || text.starts_with("#[") {
            continue;
        }
        code_lines += 1;
        let statement_ended = text.is_empty() || text.ends_with([';', '{', '}']);
        if statement_ended || code_lines > STATEMENT_LINES {
            return false;
        }
    }
    false
}

/// Roots of packages that hold none of the `allowed` files must forbid unsafe code.
fn roots_without_forbid(files: &[TextFile], allowed: &[&str]) -> Vec<Finding> {
    let packages = files
        .iter()
        .filter_map(|file| file.path.strip_suffix("Cargo.toml"));
    let safe = packages.filter(|package| !allowed.iter().any(|path| path.starts_with(package)));
    let mut findings = Vec::new();
    // The workspace's own manifest has no sources; its prefix is empty.
    for package in safe.filter(|package| !package.is_empty()) {
        for root in ["src/lib.rs", "src/main.rs"] {
            let path = format!("{package}{root}");
            let root = files.iter().find(|file| file.path == path);
            if root.is_some_and(|file| !file.text.contains("#![forbid(unsafe_code)]")) {
                findings.push(Finding::new(
                    &path,
                    1,
                    "crate root without #![forbid(unsafe_code)]",
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    fn messages(files: &[TextFile], allowed: &[&str]) -> Vec<String> {
        check(files, allowed)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    const SOUND: &str = "fn a() {\n    // SAFETY: f has no preconditions.\n    unsafe { f() }\n}\n";

    #[test]
    fn an_unlisted_file_with_unsafe_is_found() {
        let found = messages(&[file("a/src/x.rs", SOUND)], &[]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("a/src/x.rs:3: unsafe outside"),
            "{}",
            found[0]
        );
    }

    #[test]
    fn a_listed_file_without_unsafe_is_found() {
        let found = messages(&[file("a/src/x.rs", "fn a() {}")], &["a/src/x.rs"]);
        assert!(
            found[0].starts_with("a/src/x.rs: named for unsafe"),
            "{}",
            found[0]
        );
    }

    #[test]
    fn a_listed_file_with_reasons_is_fine() {
        assert!(messages(&[file("a/src/x.rs", SOUND)], &["a/src/x.rs"]).is_empty());
        let multi_line = "fn a() {\n    // SAFETY: the pointer\n    // is ours.\n    let status =\n        \
                          unsafe { f() };\n}\n";
        assert!(messages(&[file("a/src/x.rs", multi_line)], &["a/src/x.rs"]).is_empty());
    }

    #[test]
    fn a_reason_of_the_statement_before_does_not_count() {
        let text = "fn a() {\n    // SAFETY: no.\n    unsafe { f() };\n    unsafe { g() };\n}\n";
        let found = messages(&[file("a/src/x.rs", text)], &["a/src/x.rs"]);
        assert_eq!(
            found,
            ["a/src/x.rs:4: unsafe without a `// SAFETY:` comment above it"]
        );
    }

    #[test]
    fn safe_crates_forbid_unsafe_at_their_root() {
        let manifest = file("crates/a/Cargo.toml", "[package]");
        let open = file("crates/a/src/lib.rs", "//! A.\n");
        let closed = file("crates/a/src/lib.rs", "//! A.\n#![forbid(unsafe_code)]\n");
        assert_eq!(messages(&[manifest.clone(), open], &[]).len(), 1);
        assert!(messages(&[manifest, closed], &[]).is_empty());
    }
}
