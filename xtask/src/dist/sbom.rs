//! The lists of all crates that the programs and the extension module for Python are made of, as CycloneDX.

use std::path::PathBuf;
use std::process::Command;

use super::{Dist, empty_folder, read, run_to_end};

/// The folders of the packages, and what their lists are called.
const LISTS: [(&str, &str); 2] = [("crates/cli", "gyrator"), ("python", "gyrator-python")];

/// Writes the lists.
pub(super) fn write(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    // `cargo-cyclonedx` writes a file beside each manifest: not into the work tree.
    let clone = dist.work.join("clone");
    empty_folder(&clone)?;
    run_to_end(
        Command::new("git")
            .args(["clone", "--quiet"])
            .arg(&dist.root)
            .arg(&clone),
    )?;
    let mut cyclonedx = dist.command("cargo-cyclonedx");
    cyclonedx.current_dir(&clone);
    cyclonedx.args([
        "cyclonedx",
        "--format",
        "json",
        "--spec-version",
        "1.5",
        "--no-build-deps",
        "-qq",
    ]);
    cyclonedx.args([
        "--target",
        "x86_64-unknown-linux-gnu",
        "--override-filename",
        "bom",
    ]);
    run_to_end(cyclonedx.args(["--manifest-path", "crates/cli/Cargo.toml"]))?;
    let place = clone.display().to_string();
    let write_list = |(folder, name): (&str, &str)| {
        let list = read(&clone.join(folder).join("bom.json"))?;
        let file = dist.files.join(format!("{name}-{}.cdx.json", dist.version));
        super::write(&file, &list.replace(&place, "/gyrator"))?;
        Ok(file)
    };
    LISTS.into_iter().map(write_list).collect()
}
