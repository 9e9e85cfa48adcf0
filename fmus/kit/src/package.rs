//! FMUs as archives: entries sorted by name, fixed times, so that equal contents give equal bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::description::{Description, describe};
use crate::model::Model;

/// The compiled model for one platform.
#[derive(Debug, Clone, Copy)]
pub struct Library<'a> {
    /// Folder in `binaries` and ending of the file.
    pub platform: (&'static str, &'static str),
    /// The shared library.
    pub bytes: &'a [u8],
}

/// Folder in `binaries` (FMI 2.0.5, section 2.3) and ending of the library on this machine.
pub const PLATFORM: (&str, &str) = (
    if cfg!(all(target_os = "windows", target_arch = "x86_64")) {
        "win64"
    } else if cfg!(all(target_os = "macos", target_arch = "x86_64")) {
        "darwin64"
    } else if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        "linux64"
    } else if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
        "aarch64-darwin"
    } else if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
        "aarch64-linux"
    } else {
        "unknown"
    },
    std::env::consts::DLL_SUFFIX,
);

/// Packs an FMU; `resources` are pairs of path below `resources/` and contents.
///
/// # Errors
/// When an entry is too large or appears twice.
pub fn package(
    description: &Description,
    libraries: &[Library<'_>],
    resources: &[(&str, &[u8])],
) -> Result<Vec<u8>, ZipError> {
    let xml = Cow::Borrowed(description.xml.as_bytes());
    let mut entries = BTreeMap::from([("modelDescription.xml".to_owned(), xml)]);
    for library in libraries {
        let (folder, ending) = library.platform;
        let name = format!("binaries/{folder}/{}{ending}", description.model_name);
        entries.insert(name, Cow::Borrowed(library.bytes));
    }
    for (path, bytes) in resources {
        entries.insert(format!("resources/{path}"), Cow::Borrowed(*bytes));
    }
    archive(&entries)
}

/// The archive of these entries. FMUs among them are not compressed once more.
///
/// # Errors
/// When an entry is too large.
pub fn archive(entries: &BTreeMap<String, Cow<'_, [u8]>>) -> Result<Vec<u8>, ZipError> {
    let options = SimpleFileOptions::default()
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let method = match name.ends_with(".fmu") {
            true => CompressionMethod::Stored,
            false => CompressionMethod::Deflated,
        };
        archive.start_file(name.as_str(), options.compression_method(method))?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// The program of a crate with one model: writes the FMU of `M`, with the library of the crate, and prints its path. The
/// file is the one that the command line names, or `<model name>.fmu` in the working directory.
///
/// `crate_name` is the name of the crate, for the name of its library: `env!("CARGO_PKG_NAME")`. Cargo builds it with the
/// program, and puts it beside the program or into `deps` there.
#[must_use]
pub fn main_of<M: Model>(crate_name: &str) -> ExitCode {
    let target = std::env::args_os().nth(1).map(PathBuf::from);
    let target = target.unwrap_or_else(|| format!("{}.fmu", M::NAME).into());
    match write::<M>(crate_name, &target) {
        Ok(()) => {
            println!("{}", target.display());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn write<M: Model>(crate_name: &str, target: &Path) -> Result<(), String> {
    let problems = crate::problems::<M>();
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    let prefix = std::env::consts::DLL_PREFIX;
    let name = format!("{prefix}{}{}", crate_name.replace('-', "_"), PLATFORM.1);
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [folder.join("deps").join(&name), folder.join(&name)];
    let found = places.iter().find_map(|place| std::fs::read(place).ok());
    let bytes = found.ok_or_else(|| {
        let folder = folder.display();
        format!(
            "{name} is not in {folder}: is the crate a `cdylib`, and was the program run by Cargo?"
        )
    })?;
    let library = Library {
        platform: PLATFORM,
        bytes: &bytes,
    };
    let archive = package(&describe::<M>(), &[library], &[]).map_err(|error| error.to_string())?;
    std::fs::write(target, archive).map_err(|error| format!("{}: {error}", target.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_model::Pendulum;

    #[test]
    fn equal_contents_give_equal_bytes_in_sorted_order() {
        let library = Library {
            platform: PLATFORM,
            bytes: b"not really a library",
        };
        let resources: [(&str, &[u8]); 2] = [("b.txt", b"b"), ("a.txt", b"a")];
        let pack = || package(&describe::<Pendulum>(), &[library], &resources).unwrap();
        let first = pack();
        assert_eq!(first, pack());
        let archive = zip::ZipArchive::new(Cursor::new(first)).unwrap();
        let names: Result<Vec<_>, _> = archive.file_names().collect();
        let names = names.unwrap();
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(names.len(), 4);
    }
}
