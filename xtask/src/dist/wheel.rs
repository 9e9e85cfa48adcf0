//! The package for Python, by its own build backend, of the crates that the programs are made of.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Dist, GLIBC, at, contents, empty_folder, run_to_end, text};

/// What a wheel may have, as `.ci/release` checks.
const LARGEST: u64 = 12_000_000;

/// Builds and checks the wheel.
pub(super) fn build(dist: &Dist, licences: &Path) -> Result<PathBuf, String> {
    let platform = format!("manylinux_{}", GLIBC.replace('.', "_"));
    let mut pip = dist.command(dist.tools.python());
    pip.args([
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
    ]);
    // With the versions of the tools, in place of the newest ones.
    pip.args(["--no-build-isolation", "--wheel-dir"])
        .arg(&dist.files);
    pip.env("MATURIN_PEP517_ARGS", format!("--compatibility {platform}"));
    pip.env("GYRATOR_LICENCES", licences);
    run_to_end(pip.arg(dist.root.join("python")))?;
    let name = format!("gyrator-{}-cp310-abi3-{platform}_x86_64.whl", dist.version);
    let wheel = dist.files.join(name);
    let size = fs::metadata(&wheel)
        .map_err(|error| at(&wheel, &error))?
        .len();
    if size > LARGEST {
        return Err(format!(
            "{} has {size} bytes; {LARGEST} are allowed",
            wheel.display()
        ));
    }
    let unpacked = dist.work.join("wheel");
    empty_folder(&unpacked)?;
    let mut unpack = dist.command(dist.tools.python());
    unpack.args(["-m", "zipfile", "--extract"]).arg(&wheel);
    run_to_end(unpack.arg(&unpacked))?;
    contents::check(dist, &unpacked)?;
    // Maturin looks at the extension module alone, auditwheel at the program as well.
    let verdict = text(
        dist.command(dist.tools.python())
            .args(["-m", "auditwheel", "show"])
            .arg(&wheel),
    )?;
    let tag = format!("\"{platform}_x86_64\"");
    if verdict.contains(&tag) {
        Ok(wheel)
    } else {
        Err(format!(
            "auditwheel does not find {tag} in {}:\n{verdict}",
            wheel.display()
        ))
    }
}
