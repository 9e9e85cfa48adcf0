//! Release builds of the workspace's programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the command line; where it is.
pub(crate) fn gyrator(root: &Path, target: &Path) -> Result<PathBuf, String> {
    build(root, target, &["--package", "gyrator-cli"])?;
    Ok(target.join("release/gyrator"))
}

/// Builds an example of a package; where it is.
pub(crate) fn example(
    root: &Path,
    target: &Path,
    package: &str,
    name: &str,
) -> Result<PathBuf, String> {
    build(root, target, &["--package", package, "--example", name])?;
    Ok(target.join("release/examples").join(name))
}

fn build(root: &Path, target: &Path, what: &[&str]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release"])
        .args(what)
        .arg("--target-dir")
        .arg(target)
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if built.success() {
        Ok(())
    } else {
        Err(format!("cargo build --release {} failed", what.join(" ")))
    }
}
