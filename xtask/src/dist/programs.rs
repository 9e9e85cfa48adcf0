//! The programs and FMUs of all files, built once.

use std::path::{Path, PathBuf};

use super::{Dist, run_to_end};

/// What was built.
pub(super) struct Built {
    release: PathBuf,
    /// With the FMUs of the examples.
    pub(super) fmus: PathBuf,
    /// With the libraries in these FMUs.
    pub(super) fmu_libraries: PathBuf,
}

/// Builds the programs as `cargo build --release` does, and the FMUs.
pub(super) fn build(dist: &Dist) -> Result<Built, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut programs = dist.command(&cargo);
    programs.args(["build", "--release", "--locked", "--bins"]);
    programs.args(["--package", "gyrator-cli", "--package", "workspace-hack"]);
    run_to_end(&mut programs)?;
    // In a process of its own, which links as the programs are linked.
    let own = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    run_to_end(dist.command(own).arg("fmus"))?;
    Ok(Built {
        release: dist.build().join("release"),
        fmus: dist.build().join("fmus"),
        fmu_libraries: dist.build().join("fmu/examples"),
    })
}

impl Built {
    /// `gyrator`.
    pub(super) fn gyrator(&self) -> PathBuf {
        self.program("gyrator")
    }

    /// A program by its name.
    pub(super) fn program(&self, name: impl AsRef<Path>) -> PathBuf {
        self.release.join(name)
    }
}
