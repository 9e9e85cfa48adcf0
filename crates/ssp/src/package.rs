//! The files of a system: in an archive, in a folder, or beside an `.ssd`.
//!
//! All files of a package are one text, one after the other, with the path of each (`Source::included`). So every place
//! of a system is one byte offset, and the engine need not know how many files a system came from.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use gyrator_fmu::{Limits, OpenError, UnpackedArchive, Warning};
use gyrator_system::Unpacked;

/// The description that every package has (SSP 3).
pub(crate) const DESCRIPTION: &str = "SystemStructure.ssd";

/// Whether a path is a system of the SSP standard, by its file extension, or as a folder that
/// holds a `SystemStructure.ssd`.
#[must_use]
pub fn is_ssp(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_named = ending.is_some_and(|ending| {
        ending.eq_ignore_ascii_case("ssp") || ending.eq_ignore_ascii_case("ssd")
    });
    is_named || path.join(DESCRIPTION).is_file()
}

/// The files of a system.
pub(crate) struct Package {
    /// Folder of the description, on disk.
    folder: PathBuf,
    /// Path of this folder in messages.
    shown: PathBuf,
    /// File name of the description.
    description: PathBuf,
    /// Whether references may not leave the folder.
    is_archive: bool,
    pub(crate) unpacked: Unpacked,
}

/// A file that a description refers to.
pub(crate) struct Reference {
    /// Its path on disk.
    pub(crate) path: PathBuf,
    /// Its path in messages.
    pub(crate) shown: PathBuf,
}

impl Package {
    /// Opens a folder, a description, or an archive, which is unpacked: a file that begins as one, or
    /// is named as one.
    pub(crate) fn open(path: &Path, limits: Limits) -> Result<(Self, Vec<Warning>), OpenError> {
        let is_package = |ending: &std::ffi::OsStr| ending.eq_ignore_ascii_case("ssp");
        let is_archive = path.extension().is_some_and(is_package) || begins_as_archive(path);
        if path.is_dir() || !is_archive {
            return Ok((Self::of_file(path, DESCRIPTION), Vec::new()));
        }
        let (archive, warnings) = UnpackedArchive::new(path, limits, is_wanted)?;
        let folder = archive.path().to_owned();
        let package = Self {
            shown: path.to_owned(),
            description: DESCRIPTION.into(),
            is_archive: true,
            unpacked: Unpacked::new(&folder, archive),
            folder,
        };
        Ok((package, warnings))
    }

    /// A description outside of archives; in a folder, the one of this name.
    pub(crate) fn of_file(path: &Path, name: &str) -> Self {
        let (folder, description) = if path.is_dir() {
            (path, name.as_ref())
        } else {
            let folder = path.parent().unwrap_or(Path::new(""));
            (folder, path.file_name().unwrap_or(path.as_os_str()))
        };
        Self {
            folder: folder.to_owned(),
            shown: folder.to_owned(),
            description: description.into(),
            is_archive: false,
            unpacked: Unpacked::default(),
        }
    }

    /// Names of the descriptions beside the usual one, without their ending, sorted; none if the
    /// path names a description.
    pub(crate) fn variants(&self) -> Vec<String> {
        if self.description != Path::new(DESCRIPTION) {
            return Vec::new();
        }
        let files = std::fs::read_dir(&self.folder).into_iter().flatten();
        let paths = files.filter_map(|file| Some(file.ok()?.path()));
        let is_variant = |path: &PathBuf| {
            let ending = path
                .extension()
                .is_some_and(|e| e.eq_ignore_ascii_case("ssd"));
            ending && !path.ends_with(DESCRIPTION)
        };
        let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
        let mut names: Vec<String> = paths.filter(is_variant).filter_map(stem).collect();
        names.sort();
        names
    }

    /// Reads the variant of this name instead of the usual description.
    pub(crate) fn choose(&mut self, variant: &str) {
        self.description = format!("{variant}.ssd").into();
    }

    /// The description.
    pub(crate) fn description(&self) -> Reference {
        Reference {
            path: self.folder.join(&self.description),
            shown: self.shown.join(&self.description),
        }
    }

    /// The description in a folder around everything, if there is none at its place.
    pub(crate) fn misplaced(&self) -> Option<PathBuf> {
        if self.folder.join(&self.description).exists() {
            return None;
        }
        let inner = std::fs::read_dir(&self.folder).ok()?;
        let names = inner.filter_map(|entry| Some(entry.ok()?.file_name()));
        let places = names.map(|name| Path::new(&name).join(&self.description));
        let mut found: Vec<_> = places
            .filter(|place| self.folder.join(place).is_file())
            .collect();
        found.sort();
        Some(self.shown.join(found.first()?))
    }

    /// A file by its path, relative to the folder of the description.
    pub(crate) fn beside(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// The FMU that a URI names, and whether it is to have a process of its own: `proxyfmu` is
    /// libcosim's address of such an FMU, with the file in its query.
    pub(crate) fn fmu(&self, uri: &str) -> Result<(Reference, bool), String> {
        let Some(address) = uri.strip_prefix("proxyfmu://") else {
            return Ok((self.resolve(uri)?, false));
        };
        let Some((host, file)) = address.split_once("?file=") else {
            return Err(format!("`{uri}` names no `file`"));
        };
        let name = host.split(':').next().unwrap_or_default();
        if !matches!(name, "localhost" | "127.0.0.1") {
            return Err(format!("`{uri}` is to run on another computer"));
        }
        Ok((self.resolve(file)?, true))
    }

    /// The file that a URI names, relative to the description (RFC 3986).
    pub(crate) fn resolve(&self, uri: &str) -> Result<Reference, String> {
        let without_fragment = uri.split('#').next().unwrap_or_default();
        let (scheme, path) = split_scheme(without_fragment);
        let path = decode_percent(path);
        match scheme {
            Some(scheme) if scheme.eq_ignore_ascii_case("file") => {
                let path = path.strip_prefix("//").unwrap_or(&path);
                let path = path.strip_prefix("localhost").unwrap_or(path);
                if self.is_archive {
                    return Err(format!("`{uri}` leads out of the archive"));
                }
                let path = self.folder.join(path);
                Ok(Reference {
                    shown: path.clone(),
                    path,
                })
            }
            Some(scheme) => Err(format!("`{uri}` is not a file but an address ({scheme}:)")),
            None if path.is_empty() => Err("the path is empty".to_owned()),
            None if self.is_archive && leads_out(&path) => {
                Err(format!("`{uri}` leads out of the archive"))
            }
            None => Ok(Reference {
                path: self.folder.join(&path),
                shown: self.shown.join(&path),
            }),
        }
    }
}

fn begins_as_archive(path: &Path) -> bool {
    let mut first = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *b"PK\x03\x04"
}

/// Documentation and the additions of vendors take part in no simulation.
fn is_wanted(name: &str) -> bool {
    !name.starts_with("documentation/") && !name.starts_with("extra/")
}

fn split_scheme(uri: &str) -> (Option<&str>, &str) {
    match uri.split_once(':') {
        // One letter is a drive.
        Some((scheme, rest))
            if scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            (Some(scheme), rest)
        }
        _ => (None, uri),
    }
}

/// `%20` and the like; a `%` without two digits stays as it is.
fn decode_percent(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let code = text.get(index + 1..index + 3);
        let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if bytes[index] == b'%' => {
                decoded.push(byte);
                index += 3;
            }
            _ => {
                decoded.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_owned())
}

/// Whether a path in an archive names a place outside of it.
fn leads_out(path: &str) -> bool {
    let mut depth = 0_i64;
    let is_absolute = path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':');
    is_absolute
        || path.split(['/', '\\']).any(|part| {
            depth += match part {
                ".." => -1,
                "" | "." => 0,
                _ => 1,
            };
            depth < 0
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_decoded() {
        assert_eq!(decode_percent("a%20b%2"), "a b%2");
        assert_eq!(decode_percent("100%ä"), "100%ä");
        assert_eq!(split_scheme("file:///a"), (Some("file"), "///a"));
        assert_eq!(split_scheme("C:/a"), (None, "C:/a"));
        assert_eq!(split_scheme("resources/a.fmu"), (None, "resources/a.fmu"));
    }

    #[test]
    fn paths_stay_in_the_archive() {
        for path in [
            "../a",
            "a/../../b",
            "/etc/passwd",
            "\\a",
            "C:/a",
            "a\\..\\..\\b",
        ] {
            assert!(leads_out(path), "{path}");
        }
        for path in ["a", "a/../b", "./resources/a.fmu", "a..b"] {
            assert!(!leads_out(path), "{path}");
        }
    }
}
