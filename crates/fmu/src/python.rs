//! libpython, for FMUs that use an interpreter and name no library that has it, such as FMUs of pythonfmu.
//!
//! They expect the program that loads them to be an interpreter, or to have loaded one for all to use.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::elf::Binary;
use crate::limited_command;
use crate::search_path::{is_usable, system_libraries};

/// How long the interpreter may take to name its library.
const LIMIT: Duration = Duration::from_secs(10);

/// Name of the library, its directory, and the one that Debian adds to `/usr/lib`; a line each.
const SCRIPT: &str = "import sysconfig
for name in 'INSTSONAME', 'LIBDIR', 'MULTIARCH':
    print(sysconfig.get_config_var(name) or '')";

/// Whether a library calls an interpreter.
pub(crate) fn is_called_by(library: &Binary) -> bool {
    library.needed.iter().any(|name| is_library(name))
        || library.undefined.iter().any(|name| has_symbol(name))
}

/// Whether Python's libraries are to have this symbol.
pub(crate) fn has_symbol(name: &str) -> bool {
    let name = name.strip_prefix('_').unwrap_or(name);
    let rest = name.strip_prefix("Py");
    rest.is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_uppercase() || first == '_')
    })
}

/// Whether this is the name of libpython.
pub(crate) fn is_library(name: &str) -> bool {
    name.starts_with("libpython") && name.contains(".so")
}

/// The shared library of the interpreter `python3`; without one, the newest libpython in the system's
/// list of libraries.
pub(crate) fn library() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || of_interpreter().or_else(|| newest(system_libraries()));
    FOUND.get_or_init(find).as_deref()
}

fn of_interpreter() -> Option<PathBuf> {
    let mut command = Command::new("python3");
    let output = limited_command::run(command.args(["-c", SCRIPT]), LIMIT)
        .ok()?
        .output;
    let lines: Vec<&str> = output.lines().map(str::trim).collect();
    let [name, directory, multiarch] = lines[..] else {
        return None;
    };
    // One without a shared library of its own has the name of an archive here.
    if !is_library(name) {
        return None;
    }
    let directories = [
        PathBuf::from(directory),
        Path::new("/usr/lib").join(multiarch),
    ];
    let mut files = directories.iter().map(|directory| directory.join(name));
    files.find(|file| is_usable(file))
}

/// The one of the highest version 3 among libraries by name, each with its files.
fn newest(libraries: impl IntoIterator<Item = (String, Vec<PathBuf>)>) -> Option<PathBuf> {
    let version = |name: &str| -> Option<u32> {
        let rest = name.strip_prefix("libpython3.")?;
        rest.split_once(".so")?.0.parse().ok()
    };
    let known = libraries.into_iter();
    let mut found: Vec<_> = known
        .filter_map(|(name, files)| Some((version(&name)?, files)))
        .collect();
    found.sort();
    let mut files = found.into_iter().rev().flat_map(|(_, files)| files);
    files.find(|file| is_usable(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_python_are_known_by_their_names() {
        for name in [
            "PyBool_FromLong",
            "Py_Initialize",
            "_Py_NoneStruct",
            "PyErr_Print",
        ] {
            assert!(has_symbol(name), "{name}");
        }
        for name in ["Pythagoras", "Pylon", "fmi2DoStep", "_Pyramid"] {
            assert!(!has_symbol(name), "{name}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn newest_version_is_a_number() {
        let own = std::env::current_exe().unwrap();
        let library = |name: &str, file: &Path| (name.to_owned(), vec![file.to_owned()]);
        let system = [
            library("libpython3.9.so.1.0", Path::new("/nowhere/3.9")),
            library("libpython3.13.so.1.0", Path::new("/nowhere/3.13")),
            library("libpython3.11.so.1.0", &own),
            library("libpython3.so", &own),
            library("libpython2.7.so.1.0", &own),
        ];
        assert_eq!(newest(system), Some(own));
        assert_eq!(newest([]), None);
    }
}
