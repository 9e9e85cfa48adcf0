//! Builds of the workspace's programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the command line as it is shipped, which nothing compiles anew where `cargo build --release` has built it; where it is.
pub(crate) fn gyrator(root: &Path, target: &Path) -> Result<PathBuf, String> {
    build(root, target, &["--release"])?;
    Ok(target.join("release/gyrator"))
}

/// Builds the command line as fast as possible, without what a first run does not need; where it is.
pub(crate) fn quickly_built_gyrator(root: &Path, target: &Path) -> Result<PathBuf, String> {
    let mut what = vec!["--profile", "quick", "--no-default-features"];
    what.extend(["--package", "gyrator-cli", "--bin", "gyrator"]);
    build(root, target, &what)?;
    Ok(target.join("quick/gyrator"))
}

fn build(root: &Path, target: &Path, what: &[&str]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--locked"])
        .args(what)
        .arg("--target-dir")
        .arg(target)
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if built.success() {
        Ok(())
    } else {
        Err(format!("cargo build {} failed", what.join(" ")))
    }
}
