//! The archive of an FMU: entries sorted by name, fixed times, so that equal contents give equal bytes.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};

use fmu_kit::Description;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// The compiled model for one platform.
#[derive(Debug, Clone, Copy)]
pub struct Library<'a> {
    /// Folder in `binaries` and ending of the file.
    pub platform: (&'static str, &'static str),
    /// The shared library.
    pub bytes: &'a [u8],
}

/// Folder in `binaries` (FMI 2.0.5, section 2.3) and ending of the library on this machine.
pub(super) const PLATFORM: (&str, &str) = (
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
    let mut entries = BTreeMap::from([(
        "modelDescription.xml".to_owned(),
        description.xml.as_bytes(),
    )]);
    for library in libraries {
        let (folder, ending) = library.platform;
        let name = description.model_name;
        entries.insert(format!("binaries/{folder}/{name}{ending}"), library.bytes);
    }
    for (path, bytes) in resources {
        entries.insert(format!("resources/{path}"), bytes);
    }
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        archive.start_file(name, options)?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_contents_give_equal_bytes_in_sorted_order() {
        let (description, library) = (
            fmu_kit::describe::<fmu_models::OscillatorForce>(),
            Library {
                platform: PLATFORM,
                bytes: b"not really a library",
            },
        );
        let pack = || {
            package(
                &description,
                &[library],
                &[("b.txt", b"b"), ("a.txt", b"a")],
            )
        };
        let first = pack().unwrap();
        assert_eq!(first, pack().unwrap());
        let archive = zip::ZipArchive::new(Cursor::new(first)).unwrap();
        let names: Result<Vec<_>, _> = archive.file_names().collect();
        let names = names.unwrap();
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(names.len(), 4);
    }
}
