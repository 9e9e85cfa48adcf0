//! The package for Python, by its own build backend, of the crates that the programs are made of.
//!
//! The program and the extension module each hold the engine, the readers and Parquet. Release builds are optimised
//! as a whole (`lto = "fat"`) and stripped, and code that does not step is built for size. So the wheel has 11.6 MB
//! (pip's 11.5 MB), below the 12 MB that it may have, and takes 165 s of CPU time after a release build. What
//! brings it there:
//!
//! - The program comes from `cargo build --release` (22.8 MB) without `remote`, which is a tenth of it, and linked
//!   for size.
//! - The extension module is linked at `"s"`: 3.35 MB in the wheel, 3.64 at 3.
//! - The library of packed FMUs lies beside the program as xz, a quarter smaller than deflate makes it. `gyrator
//!   pack` of the package unpacks it into a temporary file; in the wheel's copy of the program zeros stand in its
//!   place. It is linked at `"s"` as well, which costs 5 % of a step of two tiny FMUs.
//! - libdeflate at its best compresses the wheel, from the package `deflate` (MIT, a binding and nothing else): 6 %
//!   smaller than maturin does. zopfli makes no less of it in half a minute.
//!
//! A profile of the wheel's own would compile everything once more: program and extension module are made of the
//! packages that `cargo build --release` has compiled (`crates/workspace-hack`). New to them are pyo3, numpy,
//! `gyrator-cli` without `remote`, and the two links. A program that was built before stays where it is.

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
