//! The FMUs that both loops step: two additions a step, in one kind beside work of about 1 µs.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::rows::Library;

const DESCRIPTION: &str = include_str!("../../bench/modelDescription.xml");

/// A built FMU, packed and unpacked.
#[derive(Debug)]
pub(super) struct Tiny {
    pub(super) library: PathBuf,
    pub(super) fmu: PathBuf,
}

impl Tiny {
    /// Builds the FMU of a kind of library.
    pub(super) fn build(root: &Path, work: &Path, kind: Library) -> Result<Self, String> {
        let options: &[&str] = match kind {
            Library::Copied => &["-DWITH_STATE"],
            // About 1 µs at one round a cycle and 3.6 GHz; the floor of its rows says how long it is on this machine.
            Library::Busy => &["-DROUNDS=3600"],
            Library::Annotated => &[],
        };
        Self::build_with(root, work, kind.word(), options, &description(kind))
    }

    /// Builds the annotated FMU with so many rounds of a loop in each step.
    pub(super) fn build_busy(root: &Path, work: &Path, rounds: usize) -> Result<Self, String> {
        let option = format!("-DROUNDS={rounds}");
        let name = format!("busy-{rounds}");
        Self::build_with(root, work, &name, &[&option], DESCRIPTION)
    }

    fn build_with(
        root: &Path,
        work: &Path,
        name: &str,
        options: &[&str],
        description: &str,
    ) -> Result<Self, String> {
        let source = root.join("xtask/bench/tiny.c");
        let library = work.join(format!("Tiny-{name}.so"));
        let options = [&["-shared", "-fPIC"], options].concat();
        compile(&source, &library, &options, &[])?;
        let fmu = work.join(format!("Tiny-{name}.fmu"));
        let packed = pack(&library, description, &fmu);
        packed.map_err(|error| format!("{}: {error}", fmu.display()))?;
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

/// The description, with gyrator's annotation or without.
fn description(kind: Library) -> String {
    const END: &str = "</VendorAnnotations>\n";
    match (kind, DESCRIPTION.split_once("  <VendorAnnotations>")) {
        (Library::Copied, Some((before, after))) => {
            let after = after.split_once(END).map_or("", |(_, after)| after);
            format!("{before}{after}")
        }
        _ => DESCRIPTION.to_owned(),
    }
}

fn pack(library: &Path, description: &str, fmu: &Path) -> std::io::Result<()> {
    let mut archive = ZipWriter::new(File::create(fmu)?);
    archive.start_file("binaries/linux64/Tiny.so", SimpleFileOptions::default())?;
    archive.write_all(&std::fs::read(library)?)?;
    archive.start_file("modelDescription.xml", SimpleFileOptions::default())?;
    archive.write_all(description.as_bytes())?;
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

    #[test]
    fn only_one_of_the_fmus_has_the_annotation() {
        let [annotated, copied, busy] = Library::ALL.map(description);
        assert_eq!(annotated, busy);
        assert!(annotated.contains("shared=\"true\""));
        assert!(!copied.contains("Annotation"), "{copied}");
        let length = annotated.lines().count();
        assert_eq!(copied.lines().count(), length - 3);
        assert!(copied.ends_with("</fmiModelDescription>\n"));
    }

    #[test]
    fn only_the_copied_library_has_a_variable_of_its_own() {
        let work = tempfile::tempdir().unwrap();
        let has_state = |kind| {
            let tiny = Tiny::build(&crate::root(), work.path(), kind).unwrap();
            let bytes = std::fs::read(tiny.library).unwrap();
            // Its name stands in the table of symbols.
            bytes.windows(11).any(|name| name == b"\0instances\0")
        };
        assert_eq!(Library::ALL.map(has_state), [false, true, false]);
    }
}
