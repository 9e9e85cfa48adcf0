//! The FMUs that a host may load: from its folder, or sent to it.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gyrator_fmu::leftovers::{self, OwnDirectory};

use crate::message::{Hash, path_in_folder};
use crate::{hash_of, hexadecimal};

/// The folder, and what may be sent to it.
#[derive(Debug)]
pub(super) struct Store {
    /// As the system has it, without links in it.
    folder: PathBuf,
    /// FMUs that were sent, by their hashes.
    sent: OwnDirectory,
    /// Hashes of FMUs that may be sent by any run.
    allowed: Vec<Hash>,
    /// All FMUs may be sent.
    allows_all: bool,
    /// Most bytes of one.
    largest: u64,
}

/// An FMU that a run asks for.
#[derive(Debug, Clone)]
pub(super) struct FmuRequest {
    pub(super) name: String,
    pub(super) hash: Hash,
    pub(super) size: u64,
    /// The run sends it if it is missing.
    pub(super) upload: bool,
}

/// The place of an FMU.
#[derive(Debug)]
pub(super) enum Place {
    /// The file has the hash that was asked for.
    Here(PathBuf),
    /// The run may send it.
    Wanted,
}

/// Why an FMU is not loaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("`{0}` leads out of the folder of FMUs")]
    OutOfFolder(String),
    #[error("`{name}` has the SHA-256 {found} here, and {wanted} there")]
    OtherFile {
        name: String,
        found: String,
        wanted: String,
    },
    #[error(
        "`{0}` is not in the folder of FMUs, and not allowed by its hash: `gyrator serve --allow` lets it be sent"
    )]
    NotAllowed(String),
    #[error("`{0}` is not in the folder of FMUs; it may be sent, which the run does not")]
    NotSent(String),
    #[error("`{name}` has {size} bytes, and at most {largest} may be sent")]
    TooLarge {
        name: String,
        size: u64,
        largest: u64,
    },
    #[error("what was sent for `{0}` has another SHA-256 or another length")]
    Altered(String),
    #[error("`{0}` cannot be read: {1}")]
    System(String, io::Error),
}

impl Store {
    /// Opens the folder, and removes what hosts that were killed have left.
    ///
    /// # Errors
    /// If the folder is none, or there can be none for FMUs that are sent.
    pub(super) fn open(
        folder: &Path,
        allowed: Vec<Hash>,
        allows_all: bool,
        largest: u64,
    ) -> io::Result<Self> {
        if !folder.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        leftovers::sweep();
        Ok(Self {
            folder: folder.canonicalize()?,
            sent: OwnDirectory::new()?,
            allowed,
            allows_all,
            largest,
        })
    }

    /// Finds the file that a run asks for.
    ///
    /// # Errors
    /// Why it may not be loaded.
    pub(super) fn find(&self, wish: &FmuRequest) -> Result<Place, Refusal> {
        let out = || Refusal::OutOfFolder(wish.name.clone());
        let path = path_in_folder(&wish.name).ok_or_else(out)?;
        let failed = |error| Refusal::System(wish.name.clone(), error);
        let mut other = None;
        match self.folder.join(path).canonicalize() {
            // Links may lead anywhere.
            Ok(path) if !path.starts_with(&self.folder) => return Err(out()),
            Ok(path) if path.is_file() => {
                let (found, _) = hash_of(&path).map_err(failed)?;
                if found == wish.hash {
                    return Ok(Place::Here(path));
                }
                other = Some(found);
            }
            // Missing, or no file.
            _ => {}
        }
        let sent = self.path_of(&wish.hash);
        if sent.is_file() {
            return Ok(Place::Here(sent));
        }
        let is_allowed = self.allows_all || self.allowed.contains(&wish.hash);
        match other {
            Some(found) if !is_allowed || !wish.upload => Err(Refusal::OtherFile {
                name: wish.name.clone(),
                found: hexadecimal(&found),
                wanted: hexadecimal(&wish.hash),
            }),
            _ if !is_allowed => Err(Refusal::NotAllowed(wish.name.clone())),
            _ if !wish.upload => Err(Refusal::NotSent(wish.name.clone())),
            _ if wish.size > self.largest => Err(Refusal::TooLarge {
                name: wish.name.clone(),
                size: wish.size,
                largest: self.largest,
            }),
            _ => Ok(Place::Wanted),
        }
    }

    /// Begins to receive an FMU.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(super) fn begin(&self) -> io::Result<Arriving> {
        let file = tempfile::NamedTempFile::new_in(self.sent.path())?;
        Ok(Arriving { file, length: 0 })
    }

    /// Takes an FMU that has arrived as a whole.
    ///
    /// # Errors
    /// If it is not the one that was announced.
    pub(super) fn take(&self, arriving: Arriving, wish: &FmuRequest) -> Result<PathBuf, Refusal> {
        let failed = |error| Refusal::System(wish.name.clone(), error);
        let (found, length) = hash_of(arriving.file.path()).map_err(failed)?;
        if found != wish.hash || length != wish.size {
            return Err(Refusal::Altered(wish.name.clone()));
        }
        let path = self.path_of(&wish.hash);
        let kept = arriving.file.persist(&path);
        kept.map_err(|error| failed(error.error))?;
        Ok(path)
    }

    /// Removes what was sent.
    pub(super) fn remove(&self) {
        // The next host or run removes it otherwise.
        let _ = std::fs::remove_dir_all(self.sent.path());
    }

    fn path_of(&self, hash: &Hash) -> PathBuf {
        self.sent.path().join(format!("{}.fmu", hexadecimal(hash)))
    }
}

/// An FMU that is being sent.
#[derive(Debug)]
pub(super) struct Arriving {
    file: tempfile::NamedTempFile<File>,
    length: u64,
}

impl Arriving {
    /// Adds bytes; whether these are all of `size`.
    ///
    /// # Errors
    /// Bytes beyond that; errors of the operating system.
    pub(super) fn add(&mut self, bytes: &[u8], size: u64) -> io::Result<bool> {
        self.length += bytes.len() as u64;
        if self.length > size {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.file.write_all(bytes)?;
        Ok(self.length == size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(name: &str, content: &[u8]) -> FmuRequest {
        use sha2::Digest as _;
        FmuRequest {
            name: name.to_owned(),
            hash: sha2::Sha256::digest(content).into(),
            size: content.len() as u64,
            upload: true,
        }
    }

    fn store(folder: &Path, allowed: Vec<Hash>, allows_all: bool) -> Store {
        Store::open(folder, allowed, allows_all, 10).unwrap()
    }

    #[test]
    fn names_that_lead_out_of_the_folder_are_refused() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("fmus");
        std::fs::create_dir_all(folder.join("inner")).unwrap();
        std::fs::write(outer.path().join("Secret.fmu"), b"secret").unwrap();
        std::fs::write(folder.join("inner/A.fmu"), b"a").unwrap();
        std::os::unix::fs::symlink("../Secret.fmu", folder.join("Link.fmu")).unwrap();
        std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
        let store = store(&folder, Vec::new(), true);
        let secret = outer.path().join("Secret.fmu");
        for name in [
            "../Secret.fmu",
            "inner/../../Secret.fmu",
            secret.to_str().unwrap(),
            "Link.fmu",
            "up/Secret.fmu",
            "",
            "/",
            "..",
            ".",
            "a\0b",
        ] {
            let found = store.find(&wish(name, b"secret"));
            assert!(
                matches!(found, Err(Refusal::OutOfFolder(_))),
                "{name}: {found:?}"
            );
        }
        assert!(matches!(
            store.find(&wish("inner/A.fmu", b"a")),
            Ok(Place::Here(_))
        ));
    }

    #[test]
    fn only_what_is_allowed_may_be_sent() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("A.fmu"), b"a").unwrap();
        let none = store(folder.path(), Vec::new(), false);
        assert!(matches!(
            none.find(&wish("B.fmu", b"b")),
            Err(Refusal::NotAllowed(_))
        ));
        assert!(matches!(
            none.find(&wish("A.fmu", b"b")),
            Err(Refusal::OtherFile { .. })
        ));
        let wanted = wish("B.fmu", b"b");
        let some = store(folder.path(), vec![wanted.hash], false);
        assert!(matches!(some.find(&wanted), Ok(Place::Wanted)));
        assert!(matches!(
            some.find(&wish("B.fmu", b"c")),
            Err(Refusal::NotAllowed(_))
        ));
        let kept = FmuRequest {
            upload: false,
            ..wanted.clone()
        };
        assert!(matches!(some.find(&kept), Err(Refusal::NotSent(_))));
        let all = store(folder.path(), Vec::new(), true);
        let large = wish("B.fmu", b"more than ten");
        assert!(matches!(all.find(&large), Err(Refusal::TooLarge { .. })));
        let mut arriving = some.begin().unwrap();
        assert!(arriving.add(b"b", 1).unwrap());
        assert!(arriving.add(b"b", 1).is_err());
        let mut arriving = some.begin().unwrap();
        arriving.add(b"c", 1).unwrap();
        assert!(matches!(
            some.take(arriving, &wanted),
            Err(Refusal::Altered(_))
        ));
        let mut arriving = some.begin().unwrap();
        arriving.add(b"b", 1).unwrap();
        let path = some.take(arriving, &wanted).unwrap();
        assert!(matches!(some.find(&wanted), Ok(Place::Here(found)) if found == path));
    }
}
