//! The archive: entries sorted by name, fixed times, so that equal contents give equal bytes.

use std::borrow::Cow;
use std::io::{Cursor, Write as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::PackError;

/// Folder in `binaries` for the libraries of this machine (FMI 2.0.5, section 2.3).
pub(super) const PLATFORM: &str = if cfg!(all(target_os = "windows", target_arch = "x86_64")) {
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
};

/// A file in the archive.
pub(super) struct Entry<'a> {
    name: String,
    contents: Contents<'a>,
}

enum Contents<'a> {
    Bytes(&'a [u8]),
    File(&'a Path),
}

impl<'a> Entry<'a> {
    pub(super) fn bytes(name: String, bytes: &'a [u8]) -> Self {
        let contents = Contents::Bytes(bytes);
        Self { name, contents }
    }

    pub(super) fn file(path: &'a Path, name: String) -> Self {
        let contents = Contents::File(path);
        Self { name, contents }
    }

    fn read(&self) -> Result<Cow<'a, [u8]>, PackError> {
        match self.contents {
            Contents::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Contents::File(path) => match std::fs::read(path) {
                Ok(bytes) => Ok(Cow::Owned(bytes)),
                Err(source) => Err(PackError::Read {
                    path: path.to_owned(),
                    source,
                }),
            },
        }
    }
}

/// The first 128 bits of the SHA-256 hash of entries and texts, in the form of a GUID.
pub(super) fn guid(entries: &[Entry<'_>], texts: &[String]) -> Result<String, PackError> {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for entry in entries {
        add(entry.name.as_bytes());
        add(&entry.read()?);
    }
    for text in texts {
        add(text.as_bytes());
    }
    let hash = hash.finalize();
    let digits: String = hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let (a, b, c) = (&digits[..8], &digits[8..12], &digits[12..16]);
    let (d, e) = (&digits[16..20], &digits[20..]);
    Ok(format!("{{{a}-{b}-{c}-{d}-{e}}}"))
}

/// The bytes of the archive.
pub(super) fn write(mut entries: Vec<Entry<'_>>) -> Result<Vec<u8>, PackError> {
    let failed = |error: ZipError| PackError::Archive(error.to_string());
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in entries {
        // FMUs are compressed already.
        let method = match entry.name.ends_with(".fmu") {
            true => CompressionMethod::Stored,
            false => CompressionMethod::Deflated,
        };
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644);
        let bytes = entry.read()?;
        archive.start_file(entry.name, options).map_err(failed)?;
        let written = archive.write_all(&bytes);
        written.map_err(|error| PackError::Archive(error.to_string()))?;
    }
    Ok(archive.finish().map_err(failed)?.into_inner())
}
