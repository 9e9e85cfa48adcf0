//! The tree as a package for Debian and its kin.
//!
//! By `dpkg-deb` over the tree of the archive: `cargo-deb` would list all files a second time, and needs `dpkg` as well.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Dist, at, empty_folder, run_to_end, write};

/// Packs the tree below `/usr`.
pub(super) fn pack(dist: &Dist, tree: &Path, floor: &str) -> Result<PathBuf, String> {
    let root = dist.work.join("deb");
    // What an earlier package has left would also be in this one.
    empty_folder(&root)?;
    empty_folder(&root.join("DEBIAN"))?;
    let mut copy = Command::new("cp");
    run_to_end(
        copy.args(["--recursive", "--preserve=mode"])
            .arg(tree)
            .arg(root.join("usr")),
    )?;
    write(
        &root.join("DEBIAN/control"),
        &control(&dist.version, floor, kibibytes(tree)?),
    )?;
    let package = dist
        .files
        .join(format!("gyrator_{}_amd64.deb", dist.version));
    let mut dpkg = Command::new("dpkg-deb");
    // The bytes of several threads would depend on their number. Times are the commit's.
    dpkg.args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"]);
    run_to_end(
        dpkg.env("SOURCE_DATE_EPOCH", &dist.epoch)
            .arg(&root)
            .arg(&package),
    )?;
    Ok(package)
}

fn control(version: &str, floor: &str, size: u64) -> String {
    format!(
        "Package: gyrator
Version: {version}
Architecture: amd64
Maintainer: The gyrator project <gyrator@gyrator.example>
Installed-Size: {size}
Depends: libc6 (>= {floor})
Section: science
Priority: optional
Description: couples FMUs and accounts for the energy of the coupling
 gyrator is a co-simulation master for FMI 2.0: it couples simulation models
 of many vendors, shows how much energy the coupling makes, and removes it.
 With a library for C, manual pages, completions, and examples with FMUs in
 /usr/share/gyrator.
"
    )
}

/// The size of a tree.
fn kibibytes(folder: &Path) -> Result<u64, String> {
    let mut sum = 0;
    for entry in fs::read_dir(folder).map_err(|error| at(folder, &error))? {
        let path = entry.map_err(|error| at(folder, &error))?.path();
        sum += if path.is_dir() {
            kibibytes(&path)?
        } else {
            path.metadata()
                .map_err(|error| at(&path, &error))?
                .len()
                .div_ceil(1024)
        };
    }
    Ok(sum)
}
