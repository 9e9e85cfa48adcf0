//! The list of all crates that the programs are made of, as CycloneDX.

use std::path::PathBuf;
use std::process::Command;

use super::{Dist, empty_folder, read, run_to_end};

/// Writes the list.
pub(super) fn write(dist: &Dist) -> Result<PathBuf, String> {
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
    let list = read(&clone.join("crates/cli/bom.json"))?;
    let list = list.replace(&clone.display().to_string(), "/gyrator");
    let file = dist
        .files
        .join(format!("gyrator-{}.cdx.json", dist.version));
    super::write(&file, &list)?;
    Ok(file)
}
