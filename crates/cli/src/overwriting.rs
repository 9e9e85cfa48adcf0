//! Outputs that would overwrite an input, or each other, outputs that have no place, and files that replace their like
//! only.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use gyrator_record::is_same;
use gyrator_system::SystemFile;
use gyrator_worker::surroundings;

use crate::failure::Failure;
use crate::screen;

/// A file of the command line: its option or its kind, and its path.
pub(crate) type Named<'a> = (&'a str, &'a Path);

/// Whether a file may be one that an earlier run has written: it is empty, or begins so in any case of letters. Any other
/// may be an input that was not read yet.
pub(crate) fn begins_with(path: &Path, head: &str) -> bool {
    let mut found = Vec::new();
    let file = File::open(path).map(|file| file.take(head.len() as u64));
    let read = file.and_then(|mut file| file.read_to_end(&mut found));
    read.is_ok() && (found.is_empty() || found.eq_ignore_ascii_case(head.as_bytes()))
}

/// Writes a text whole, and overwrites only files that `is_own` knows; `refusal` is said of any other.
pub(crate) fn replace(
    path: &Path,
    text: &str,
    is_own: impl Fn(&Path) -> bool,
    refusal: &str,
) -> io::Result<()> {
    surroundings::in_own(|| match path.is_file() && !is_own(path) {
        true => Err(io::Error::other(refusal)),
        false => screen::file(path, text),
    })
}

/// Refuses an archive that would replace one of another program; `head` is the entry of an archive that names its maker.
///
/// # Errors
/// A wrong use of the command.
pub(crate) fn refuse_foreign(path: &Path, head: &str) -> Result<(), Failure> {
    // Packages say `gyrator`, packed FMUs its version; FMUs of `fmu-kit` are a user's own.
    const OWN: &str = "generationTool=\"gyrator";
    let is_own = || {
        let mut archive = zip::ZipArchive::new(File::open(path).ok()?).ok()?;
        let mut text = String::new();
        let entry = archive.by_name(head).ok()?;
        entry.take(1 << 16).read_to_string(&mut text).ok()?;
        let (_, rest) = text.split_once(OWN)?;
        (!rest.starts_with(" fmu-kit")).then_some(())
    };
    let is_empty = || path.metadata().is_ok_and(|found| found.len() == 0);
    if !path.is_file() || is_empty() || is_own().is_some() {
        return Ok(());
    }
    let text = format!(
        "{} exists already, and gyrator has not made it",
        path.display()
    );
    Err(Failure::usage(text).help("choose another name, or delete it"))
}

/// Refuses outputs that are one of the inputs or another output, by device and inode if they exist and by their place if
/// they do not; outputs that are folders, and those of folders that are not there.
///
/// # Errors
/// A wrong use of the command, which names both files, or the folder.
pub(crate) fn refuse(outputs: &[Named<'_>], inputs: &[Named<'_>]) -> Result<(), Failure> {
    for (index, (option, output)) in outputs.iter().enumerate() {
        let others = inputs.iter().chain(&outputs[..index]);
        for (what, other) in others {
            if is_one(output, other) {
                let text = format!("{option} {} is {what}", output.display());
                return Err(Failure::usage(text).help("write to another file"));
            }
        }
    }
    refuse_without_folder(outputs)
}

/// Refuses outputs that a verb would write at its end, and could not.
fn refuse_without_folder(outputs: &[Named<'_>]) -> Result<(), Failure> {
    for (option, path) in outputs {
        let name = path.display();
        let (text, help) = if path.is_dir() {
            (
                format!("{option} {name} is a folder"),
                "name a file in it".to_owned(),
            )
        } else if let Some(folder) = path.parent().filter(|folder| is_missing(folder)) {
            let folder = folder.display();
            let text = format!("{option} {name}: the folder {folder} does not exist");
            (text, format!("make it first: `mkdir -p {folder}`"))
        } else {
            continue;
        };
        return Err(Failure::usage(text).help(help));
    }
    Ok(())
}

fn is_missing(folder: &Path) -> bool {
    !folder.as_os_str().is_empty() && !folder.exists()
}

/// Refuses outputs that are files of the system: FMUs, tables of blocks, included files, its scenario, and files of a
/// package that is a folder. The system file itself is compared before it is read.
///
/// # Errors
/// As [`refuse`].
pub(crate) fn refuse_files_of(system: &SystemFile, outputs: &[Named<'_>]) -> Result<(), Failure> {
    let fmus = system.components.iter();
    let mut inputs: Vec<Named<'_>> = fmus
        .map(|component| ("an FMU of the system", &*component.fmu.value))
        .collect();
    let further = further_files(system);
    inputs.extend(further.iter().map(|(what, path)| (*what, &**path)));
    refuse(outputs, &inputs)
}

/// Files of a system besides its own and its FMUs: tables of blocks, included files, its scenario.
pub(crate) fn further_files(system: &SystemFile) -> Vec<(&'static str, PathBuf)> {
    let of_blocks = |component| gyrator::block::block_files(component, system);
    let tables = system.components.iter().flat_map(of_blocks);
    let tables = tables.map(|(_, path)| ("a table of the system", path));
    let included = system.source.included.iter();
    let included = included.map(|(_, path)| ("a file of the system", path.clone()));
    let scenario = system.scenario_path().map(|path| ("the scenario", path));
    tables.chain(included).chain(scenario).collect()
}

fn is_one(one: &Path, other: &Path) -> bool {
    match (one.metadata(), other.metadata()) {
        // Everything may go to one terminal or nowhere.
        (Ok(one), Ok(_)) if !one.is_file() => false,
        (Ok(one), Ok(other)) => is_same(&one, &other),
        (Err(_), Err(_)) => place(one).is_some_and(|one| place(other) == Some(one)),
        _ => false,
    }
}

/// Where a file that is not there would be.
fn place(path: &Path) -> Option<(PathBuf, &std::ffi::OsStr)> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    Some((folder.canonicalize().ok()?, path.file_name()?))
}

#[cfg(test)]
mod tests {
    use std::fs::write;

    use super::*;

    #[test]
    fn outputs_have_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| refuse_without_folder(&[("--plot", path)]).err();
        for path in ["out.svg", "/dev/null"] {
            assert!(refusal(Path::new(path)).is_none(), "{path}");
        }
        assert!(refusal(&folder.path().join("out.svg")).is_none());
        let is_folder = refusal(folder.path()).unwrap();
        assert!(is_folder.text().ends_with("is a folder"));
        let nowhere = refusal(&folder.path().join("no/out.svg")).unwrap();
        assert!(
            nowhere.text().ends_with("no does not exist"),
            "{}",
            nowhere.text()
        );
    }

    #[test]
    fn r52_outputs_that_are_inputs_or_each_other_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        write(path("in.csv"), "").unwrap();
        std::fs::hard_link(path("in.csv"), path("link.csv")).unwrap();
        let (input, link) = (path("in.csv"), path("link.csv"));
        let inputs: [Named<'_>; 1] = [("the input file", &input)];
        let (new, same) = (path("new.csv"), folder.path().join("./new.csv"));
        for (outputs, is_refused) in [
            (vec![("-o", &*input)], true),
            (vec![("-o", &*link)], true),
            (vec![("-o", &*new)], false),
            (vec![("-o", &*new), ("--summary", &*same)], true),
            (
                vec![
                    ("-o", Path::new("/dev/null")),
                    ("--summary", Path::new("/dev/null")),
                ],
                false,
            ),
            (vec![("-o", Path::new("/no/such/folder/out.csv"))], true),
        ] {
            let refused = refuse(&outputs, &inputs);
            assert_eq!(refused.is_err(), is_refused, "{outputs:?}");
        }
    }
}
