//! Files from which the libraries of instances are loaded.
//!
//! The system shares the data of a library between all users of the same file. Instances that must not
//! share it load copies, which cost least in memory: the file of a copy has no name. The link to it has
//! the path that the copy would have on disk, so that `$ORIGIN` and `dladdr` give the same directory as ever.
//!
//! A copy is a file without a name (`memfd_create`). It is written in microseconds however busy the disk is, is allowed
//! if `/tmp` and `/dev/shm` are mounted `noexec`, as in containers, and is gone with the process. The dynamic loader gets
//! a link to `/proc/self/fd/…`, whose path is unlike all others: it compares paths first. The link then leads to the
//! unpacked library, and the descriptor is closed, since a process may have no more than 1024. The first instance
//! needs no copy, unless files lie beside the library or other runs use the same cache. Archives with resources are
//! not unpacked into memory: FMUs write results of any size beside their resources.
//!
//! Each instance keeps its copy for good. Everything cheaper was wrong somewhere:
//!
//! | tried | why it was dropped |
//! |---|---|
//! | a proof from the library's bytes that it keeps nothing | holes, such as an index with a constant part beyond the end of a variable |
//! | variables of a former instance put back | left the memory that they pointed to: 2 GB in 2000 runs of a study, and wrong rows |
//! | variables of one load exchanged between calls | 1500 lines |
//! | code pages of a copy replaced by the unpacked library's (`mremap`) | 250 lines with nine `unsafe` blocks |

use std::path::{Path, PathBuf};

use crate::elf;
use crate::error::LoadError;
use crate::unpacked::Unpacked;

/// A library among the unpacked files of an FMU.
pub(crate) struct UnpackedBinary {
    pub(crate) platform: &'static str,
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
}

impl UnpackedBinary {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Whether its folder holds nothing else.
    pub(crate) fn is_alone(&self) -> bool {
        std::fs::read_dir(&self.folder).is_ok_and(|entries| entries.count() == 1)
    }
}

/// Places from which a library is loaded, the cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The unpacked file itself, for one load in all.
    Unpacked,
    /// A copy in memory.
    Memory,
    /// A copy on disk, with all that lies beside the library.
    Disk,
}

impl Place {
    /// Places from which a library that shares nothing can be loaded. The first that works is to be
    /// taken: the system may forbid programs on the disk (`noexec`) or in memory (`vm.memfd_noexec`).
    pub(crate) fn of(binary: &UnpackedBinary, unpacked: &Unpacked) -> Vec<Self> {
        // Files beside a library may be written to, or loaded by its path.
        if !binary.is_alone() {
            return vec![Self::Disk];
        }
        let first = unpacked.take_binaries().then_some(Self::Unpacked);
        first
            .into_iter()
            .chain([Self::Memory, Self::Disk])
            .collect()
    }
}

/// A file to load a library from, as long as the system may look at it.
pub(crate) struct LibraryFile {
    path: PathBuf,
    /// The library among the unpacked files, if this is another one.
    original: Option<PathBuf>,
    #[cfg(target_os = "linux")]
    memory: Option<crate::memory_file::MemoryFile>,
}

impl LibraryFile {
    /// The file at a place, which is made if it is a copy's.
    pub(crate) fn new(
        place: Place,
        binary: &UnpackedBinary,
        unpacked: &Unpacked,
        has_unique_symbols: bool,
    ) -> std::io::Result<Self> {
        let file = match place {
            Place::Unpacked => Self {
                path: binary.path(),
                original: None,
                #[cfg(target_os = "linux")]
                memory: None,
            },
            Place::Memory => Self::in_memory(binary, unpacked)?,
            Place::Disk => Self {
                path: unpacked
                    .private_binaries(binary.platform)?
                    .join(&binary.name),
                original: Some(binary.path()),
                #[cfg(target_os = "linux")]
                memory: None,
            },
        };
        if has_unique_symbols {
            file.make_unique_symbols_local(place)?;
        }
        Ok(file)
    }

    /// In the library, and in what lies beside it on disk.
    fn make_unique_symbols_local(&self, place: Place) -> std::io::Result<()> {
        if place != Place::Disk {
            return elf::make_unique_symbols_of_file_global(&self.path);
        }
        for entry in std::fs::read_dir(self.path.with_file_name(""))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                elf::make_unique_symbols_of_file_global(&entry.path())?;
            }
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn in_memory(binary: &UnpackedBinary, unpacked: &Unpacked) -> std::io::Result<Self> {
        let original = binary.path();
        let memory = crate::memory_file::MemoryFile::copy_of(&original, &binary.name)?;
        let path = unpacked.private_directory()?.join(&binary.name);
        std::os::unix::fs::symlink(memory.path(), &path)?;
        Ok(Self {
            path,
            original: Some(original),
            memory: Some(memory),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn in_memory(_binary: &UnpackedBinary, _unpacked: &Unpacked) -> std::io::Result<Self> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the system has refused this very file because of its place, before any of its code
    /// has run.
    pub(crate) fn is_refused(&self, error: &LoadError) -> bool {
        let LoadError::Library { reason, .. } = error else {
            return false;
        };
        let reason = reason.strip_prefix(&*self.path.to_string_lossy());
        reason.is_some_and(|reason| REFUSALS.iter().any(|words| reason.starts_with(words)))
    }
}

/// Messages of the dynamic loader, in the words of the GNU C library.
const REFUSALS: [&str; 2] = [
    ": failed to map segment",
    ": cannot open shared object file",
];

#[cfg(target_os = "linux")]
impl Drop for LibraryFile {
    /// Lets the name of a copy in memory lead to an equal file, for FMUs that look for their own.
    fn drop(&mut self) {
        if let (Some(_), Some(original)) = (&self.memory, &self.original) {
            let _ = std::fs::remove_file(&self.path);
            let _ = std::os::unix::fs::symlink(original, &self.path);
        }
    }
}

/// A library that was not loaded.
pub(crate) struct LoadFailure {
    error: LoadError,
    /// Whether the place is at fault: the system loads no library from it, or it has no room.
    is_of_place: bool,
}

impl LoadFailure {
    pub(crate) fn of_file(binary: &UnpackedBinary) -> impl FnOnce(std::io::Error) -> Self {
        let path = binary.folder.clone();
        move |source| Self {
            error: LoadError::Io { path, source },
            is_of_place: true,
        }
    }

    pub(crate) fn of_library(file: &LibraryFile) -> impl FnOnce(LoadError) -> Self {
        move |error| Self {
            is_of_place: file.is_refused(&error),
            error,
        }
    }
}

/// Loads from one place after the other, until a failure has another reason than the place.
pub(crate) fn first_that_works<T>(
    places: Vec<Place>,
    mut load: impl FnMut(Place) -> Result<T, LoadFailure>,
) -> Result<T, LoadError> {
    let mut places = places.into_iter().peekable();
    loop {
        let loaded = load(places.next().unwrap_or(Place::Disk));
        match loaded {
            Err(failure) if failure.is_of_place && places.peek().is_some() => {}
            done => return done.map_err(|failure| failure.error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(is_of_place: bool) -> LoadFailure {
        LoadFailure {
            error: LoadError::AfterFatal {
                model: format!("{is_of_place}"),
            },
            is_of_place,
        }
    }

    #[test]
    fn r67_where_one_place_is_refused_the_next_is_tried() {
        let all = || vec![Place::Unpacked, Place::Memory, Place::Disk];
        let mut tried = Vec::new();
        let done = first_that_works(all(), |place| {
            tried.push(place);
            match place {
                Place::Disk => Ok("loaded"),
                _ => Err(failure(true)),
            }
        });
        assert_eq!((done.unwrap(), tried), ("loaded", all()));
        let mut count = 0;
        let done = first_that_works::<()>(all(), |_| {
            count += 1;
            Err(failure(false))
        });
        assert!(done.is_err());
        assert_eq!(count, 1, "the library itself does not load");
        assert!(first_that_works::<()>(all(), |_| Err(failure(true))).is_err());
    }

    #[test]
    fn r67_a_refused_place_is_known_by_the_message() {
        let file = LibraryFile {
            path: "/tmp/0/Wheel.so".into(),
            original: None,
            #[cfg(target_os = "linux")]
            memory: None,
        };
        let refused = |reason: &str| {
            file.is_refused(&LoadError::Library {
                model: String::new(),
                file: String::new(),
                reason: reason.to_owned(),
                hint: String::new(),
            })
        };
        let missing = "cannot open shared object file: No such file or directory";
        assert!(refused(
            "/tmp/0/Wheel.so: failed to map segment from shared object"
        ));
        assert!(refused(&format!("/tmp/0/Wheel.so: {missing}")));
        assert!(!refused(&format!("libgone.so: {missing}")));
        assert!(!refused("/tmp/0/Wheel.so: undefined symbol: drive"));
    }
}
