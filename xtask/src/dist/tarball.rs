//! The tree as an archive, to be unpacked anywhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Dist, run_to_end};

/// Packs the tree below one folder. Its name says which glibc is needed at least.
pub(super) fn pack(dist: &Dist, tree: &Path, floor: &str) -> Result<PathBuf, String> {
    let name = format!("gyrator-{}-linux-x86_64-glibc{floor}", dist.version);
    let archive = dist.files.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--sort=name",
        "--format=gnu",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
    ]);
    tar.arg(format!("--mtime=@{}", dist.epoch));
    tar.arg(format!("--transform=s,^\\.,{name},"));
    // Without gzip's own time and name.
    tar.args(["--use-compress-program", "gzip --no-name --best", "--file"]);
    tar.arg(&archive).arg("--directory").arg(tree).arg(".");
    run_to_end(&mut tar)?;
    Ok(archive)
}
