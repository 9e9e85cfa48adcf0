//! Builds of the workspace's programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the command line as it is shipped, which nothing compiles again if `cargo build --release` has built it;
/// returns its path.
pub(crate) fn gyrator(root: &Path, target: &Path) -> Result<PathBuf, String> {
    build(root, target, &["--release"])?;
    Ok(target.join("release/gyrator"))
}

/// Builds the command line as fast as possible, without what a first run does not need; returns its path.
///
/// It shares what a development build compiles, and does not take the place of that program, which has more features. Three short runs need no optimised engine.
pub(crate) fn quickly_built_gyrator(root: &Path, target: &Path) -> Result<PathBuf, String> {
    let shared = format!("build.build-dir={:?}", target.display().to_string());
    let mut what = vec!["--config", &shared];
    what.extend(["--config", "profile.dev.package.gyrator.opt-level=0"]);
    what.extend(["--package", "gyrator-cli", "--package", "workspace-hack"]);
    what.extend(["--no-default-features", "--bin", "gyrator"]);
    let program = target.join("demo-program");
    build(root, &program, &what)?;
    Ok(program.join("debug/gyrator"))
}

/// Takes out what Cargo has set for the package whose program it runs, this one. A build script that looks at such variables,
/// as `ring`'s does, would run again, and all that depends on it be compiled again.
pub(crate) fn forget_this_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
}

fn build(root: &Path, target: &Path, what: &[&str]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    forget_this_package(&mut command);
    let built = command
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
