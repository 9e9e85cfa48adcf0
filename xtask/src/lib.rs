//! The project's own chores, one module a verb of `cargo xtask`.
//!
//! People, `.ci/run` and the fixture of the tests call it. Nothing of it is shipped.
#![forbid(unsafe_code)]

pub mod bench;
pub mod demo;
pub mod dist;
pub mod fmus;
mod programs;
pub mod tidy;

use std::path::{Path, PathBuf};

/// The root of the repository: of the clone in which cargo runs this program, or a test, or else of that around the
/// working directory. It is looked for each time, because a clone that is copied with its target folder has programs that
/// were compiled in another place.
#[must_use]
pub fn root() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let by_cargo = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let found = by_cargo.as_deref().and_then(root_around);
    let found = found.or_else(|| root_around(&here)).map(Path::to_owned);
    found.unwrap_or(here)
}

/// The nearest folder that has this crate in its place.
fn root_around(folder: &Path) -> Option<&Path> {
    let is_root = |folder: &&Path| folder.join("xtask/Cargo.toml").is_file();
    folder.ancestors().find(is_root)
}

/// Cargo's target folder.
#[must_use]
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_that_of_the_clone_around_a_folder() {
        let copy = tempfile::tempdir().unwrap();
        let crates = copy.path().join("crates/cli");
        std::fs::create_dir_all(&crates).unwrap();
        assert_eq!(root_around(&crates), None);
        std::fs::create_dir(copy.path().join("xtask")).unwrap();
        std::fs::write(copy.path().join("xtask/Cargo.toml"), "").unwrap();
        assert_eq!(root_around(&crates), Some(copy.path()));
        assert!(root().join("xtask/src/lib.rs").is_file());
    }
}
