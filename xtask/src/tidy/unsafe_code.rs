//! `unsafe` lives in a named list of files; every other crate forbids it.

use super::{Finding, TextFile};

/// This file has to name what it looks for.
const THIS_FILE: &str = "xtask/src/tidy/unsafe_code.rs";

/// The files that may contain `unsafe`, and do.
pub(super) const FILES: &[&str] = &[
    "crates/capi/src/arguments.rs",
    "crates/capi/src/callback_unit.rs",
    "crates/capi/src/error.rs",
    "crates/capi/src/interface_model.rs",
    "crates/capi/src/run.rs",
    "crates/capi/src/system.rs",
    "crates/fmu/src/c_library.rs",
    "crates/fmu/src/float_control.rs",
    "crates/fmu/src/functions.rs",
    "crates/fmu/src/instance/calls.rs",
    "crates/fmu/src/instance/derivatives.rs",
    "crates/fmu/src/instance/lane.rs",
    "crates/fmu/src/instance/making.rs",
    "crates/fmu/src/instance/pending.rs",
    "crates/fmu/src/instance/saved_state.rs",
    "crates/fmu/src/instance/values.rs",
    "crates/fmu/src/library.rs",
    "crates/fmu/src/logger.rs",
    "crates/fmu/src/surroundings.rs",
    "crates/fmu/src/surroundings/unix.rs",
    "crates/fmu/src/thread_team/team.rs",
    "crates/worker/src/board.rs",
    "crates/worker/src/crash_handler.rs",
    "crates/worker/src/leaving.rs",
    "crates/worker/src/process.rs",
    "crates/worker/src/shared_memory.rs",
    "crates/worker/src/signals.rs",
    "fmus/kit/src/crash.rs",
    "fmus/kit/src/export.rs",
    "fmus/kit/src/ffi/arguments.rs",
    "fmus/kit/src/ffi/instance.rs",
    "fmus/kit/src/ffi/states.rs",
    "fmus/kit/src/ffi/tests.rs",
    "fmus/kit/src/ffi/values.rs",
];

/// Signs of a line of a file with unsafe code: the block, or the exception from the lint
/// `unsafe_code`, without which rustc takes none (blocks of macros are for other crates).
const SIGNS: &[&str] = &["unsafe {", "(unsafe_code", " unsafe_code,"];

pub(super) fn check(files: &[TextFile], allowed: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.is_rust() && file.path != THIS_FILE)
    {
        let place = file.text.lines().position(has_sign);
        match (place, allowed.contains(&file.path.as_str())) {
            (Some(line), false) => findings.push(Finding::new(
                &file.path,
                line + 1,
                format!("unsafe outside the named files: do without it, or add the file to FILES in {THIS_FILE}"),
            )),
            (None, true) => findings.push(Finding::new(
                &file.path,
                0,
                "named for unsafe, but has none: remove it from FILES",
            )),
            _ => {}
        }
    }
    findings.extend(roots_without_forbid(files, allowed));
    findings
}

fn has_sign(line: &str) -> bool {
    let line = format!(" {}", line.trim());
    let is_other = line.starts_with(" //") || line.contains("forbid(");
    !is_other && SIGNS.iter().any(|sign| line.contains(sign))
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
    fn a_listed_file_with_unsafe_is_fine() {
        assert!(messages(&[file("a/src/x.rs", SOUND)], &["a/src/x.rs"]).is_empty());
        let exempt = "#![expect(\n    unsafe_code,\n)]\n";
        assert!(messages(&[file("a/src/x.rs", exempt)], &["a/src/x.rs"]).is_empty());
        assert_eq!(messages(&[file("a/src/x.rs", exempt)], &[]).len(), 1);
    }

    #[test]
    fn comments_and_types_of_functions_are_not_unsafe_code() {
        let text = "// unsafe { f() }\ntype F = unsafe extern \"C\" fn();\n";
        assert!(messages(&[file("a/src/x.rs", text)], &[]).is_empty());
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
