//! The FMU that both loops step: two additions a step.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const DESCRIPTION: &str = include_str!("../../bench/modelDescription.xml");

/// The built FMU, packed and unpacked.
#[derive(Debug)]
pub(super) struct Tiny {
    pub(super) library: PathBuf,
    pub(super) fmu: PathBuf,
}

impl Tiny {
    pub(super) fn build(root: &Path, work: &Path) -> Result<Self, String> {
        let library = work.join("Tiny.so");
        compile(
            &root.join("xtask/bench/tiny.c"),
            &library,
            &["-shared", "-fPIC"],
            &[],
        )?;
        let fmu = work.join("Tiny.fmu");
        pack(&library, &fmu).map_err(|error| format!("{}: {error}", fmu.display()))?;
        Ok(Self { library, fmu })
    }

    /// The GUID that the description declares.
    pub(super) fn guid() -> &'static str {
        let after = DESCRIPTION
            .split_once("guid=\"")
            .map_or("", |(_, after)| after);
        after.split_once('"').map_or("", |(guid, _)| guid)
    }
}

fn pack(library: &Path, fmu: &Path) -> std::io::Result<()> {
    let mut archive = ZipWriter::new(File::create(fmu)?);
    archive.start_file("binaries/linux64/Tiny.so", SimpleFileOptions::default())?;
    archive.write_all(&std::fs::read(library)?)?;
    archive.start_file("modelDescription.xml", SimpleFileOptions::default())?;
    archive.write_all(DESCRIPTION.as_bytes())?;
    archive.finish()?;
    Ok(())
}

/// Compiles one C file with the compiler that `CC` names, else `cc`.
pub(super) fn compile(
    source: &Path,
    output: &Path,
    options: &[&str],
    libraries: &[&str],
) -> Result<(), String> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let done = Command::new(&compiler)
        .args(["-std=gnu11", "-O2"])
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(output)
        .args(libraries)
        .output()
        .map_err(|error| {
            format!("no C compiler: `{compiler}` does not start ({error}); install one or set CC")
        })?;
    if done.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&done.stderr).into_owned();
    Err(format!(
        "{compiler} does not compile {}:\n{messages}",
        source.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guid_is_the_one_of_the_description() {
        assert_eq!(Tiny::guid(), "{7d1f5a52-8f0c-4f0e-9b59-6b1f1a0c7a11}");
    }
}
