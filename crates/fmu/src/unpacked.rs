//! The files of an FMU on disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;

use crate::archive::{Archive, Limits};
use crate::compiling;
use crate::contents::Contents;
use crate::error::OpenError;
use crate::file_marks::FileMarks;
use crate::kept_files;
use crate::plain_path::file_uri;
use crate::process_directory::ProcessDirectory;
use crate::sharing::Sharing;
use crate::surroundings::KnownChange;
use crate::warning::Warning;

/// A fresh directory with the resources and binaries of an FMU, removed when it is no longer used.
#[derive(Debug)]
pub(crate) struct Unpacked {
    /// Files of the archive.
    files: PathBuf,
    /// Its resources: those among the files, or a copy of them.
    resources: PathBuf,
    is_compiled: bool,
    /// Directory that belongs to this process alone.
    own: TempDir,
    _of_process: Arc<ProcessDirectory>,
    /// What the files were at first; `None` if that could not be seen.
    marks: Option<FileMarks>,
    copies: AtomicU64,
    /// Of these, those whose directories were removed.
    removed: AtomicU64,
    are_binaries_taken: AtomicBool,
    uses_python: OnceLock<bool>,
    sharing: OnceLock<Sharing>,
    known_change: Arc<KnownChange>,
}

/// Whether the folder of this name has the library of an instance.
fn is_of_instance(name: &str) -> bool {
    let number = name.strip_prefix("binaries/");
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Unpacked {
    /// Unpacks an FMU, or finds its files in a cache.
    pub(crate) fn new(mut contents: Contents, cache: Option<&Path>) -> Result<Self, OpenError> {
        let is_compiled = contents.compiling.is_some();
        let kept = match cache {
            Some(cache) => kept_files::of(&mut contents, cache)?,
            None => None,
        };
        let (of_process, own) = match kept {
            Some(_) => ProcessDirectory::new_on_disk()?,
            None => contents.write()?,
        };
        let mut resources = own.path().join("resources");
        if let Some(kept) = &kept {
            show_beside_copies(kept, own.path()).map_err(OpenError::io(own.path()))?;
            if !is_writable(kept) {
                resources = kept.join("resources");
            }
        }
        Ok(Self {
            marks: FileMarks::of(resources.parent().unwrap_or(own.path()), &is_of_instance).ok(),
            files: kept.unwrap_or_else(|| own.path().to_owned()),
            resources,
            is_compiled,
            own,
            _of_process: of_process,
            copies: AtomicU64::new(0),
            removed: AtomicU64::new(0),
            are_binaries_taken: AtomicBool::new(false),
            uses_python: OnceLock::new(),
            sharing: OnceLock::new(),
            known_change: Arc::default(),
        })
    }

    /// The folder with the files that the FMU finds.
    fn found(&self) -> &Path {
        self.resources.parent().unwrap_or(&self.files)
    }

    /// Whether all runs had better have the same files: the FMU cannot change them, or they would be compiled again.
    pub(crate) fn are_for_all(&self) -> bool {
        let is_cached = self.files != self.own.path();
        self.found() != self.own.path() || self.is_compiled && !is_cached
    }

    /// What the files are now, with what they were when they were unpacked; `None` if that is not known.
    fn now(&self) -> Result<Option<(&FileMarks, FileMarks)>, OpenError> {
        let now = |before| {
            let now = FileMarks::of(self.found(), &is_of_instance)
                .map_err(OpenError::io(self.found()))?;
            Ok((before, now))
        };
        self.marks.as_ref().map(now).transpose()
    }

    /// The names of files that were changed, or written beside these, since they were unpacked.
    pub(crate) fn changed(&self) -> Result<Vec<String>, OpenError> {
        let now = self.now()?;
        Ok(now.map_or_else(Vec::new, |(before, now)| before.changed(&now)))
    }

    /// Makes the files again what they were when they were unpacked, with the bytes of their archive, which `open` opens.
    /// Returns the names of the changed files.
    pub(crate) fn restore(
        &self,
        open: impl FnOnce() -> Result<Archive, OpenError>,
    ) -> Result<Vec<String>, OpenError> {
        let Some((before, now)) = self.now()? else {
            return Ok(Vec::new());
        };
        let changed = before.changed(&now);
        if changed.is_empty() {
            return Ok(changed);
        }
        let found = self.found();
        let files = before.remove_changed(&now, found);
        let files = files.map_err(OpenError::io(found))?;
        if !files.is_empty() {
            open()?.unpack_if(|name| files.iter().any(|file| file == name), found)?;
        }
        Ok(changed)
    }

    /// What users have to know about its library, if it was compiled.
    pub(crate) fn compiling_notes(&self) -> Vec<Warning> {
        compiling::notes(&self.files)
    }

    /// `binaries/<platform>`.
    pub(crate) fn binaries(&self, platform: &str) -> PathBuf {
        self.files.join("binaries").join(platform)
    }

    /// A copy of the binaries for one instance. The system shares the data of a library between
    /// all users of the same file; two instances of an FMU that
    /// `canBeInstantiatedOnlyOncePerProcess`, and some others, would then disturb each other.
    pub(crate) fn private_binaries(&self, platform: &str) -> std::io::Result<PathBuf> {
        let target = self.private_directory()?;
        copy_directory(&self.binaries(platform), &target)?;
        Ok(target)
    }

    /// Removes the directories of instances that are gone: their libraries stay loaded without their files, which may be
    /// large if other files lie beside a library.
    pub(crate) fn remove_private_directories(&self) {
        let copies = self.copies.load(Ordering::Relaxed);
        for number in self.removed.swap(copies, Ordering::Relaxed)..copies {
            // What cannot be removed now is removed with the others.
            let _ = std::fs::remove_dir_all(self.private_path(number));
        }
    }

    fn private_path(&self, number: u64) -> PathBuf {
        // As deep as the binaries themselves: FMUs look for `../../resources` from there.
        self.own.path().join("binaries").join(number.to_string())
    }

    /// A new directory for the library of one instance.
    pub(crate) fn private_directory(&self) -> std::io::Result<PathBuf> {
        let number = self.copies.fetch_add(1, Ordering::Relaxed);
        let directory = self.private_path(number);
        std::fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    /// Whether the binaries themselves may be loaded: by the first who asks, and not if other runs,
    /// or other FMUs of this process, have the same files.
    pub(crate) fn take_binaries(&self) -> bool {
        self.files == self.own.path() && !self.are_binaries_taken.swap(true, Ordering::Relaxed)
    }

    /// The finding of `look`, which is called once.
    pub(crate) fn uses_python(&self, look: impl FnOnce() -> bool) -> bool {
        *self.uses_python.get_or_init(look)
    }

    /// The finding of `look`, which is called once, before a library is loaded.
    pub(crate) fn sharing(&self, look: impl FnOnce() -> Sharing) -> &Sharing {
        self.sharing.get_or_init(look)
    }

    /// What instances change of the process.
    pub(crate) fn known_change(&self) -> &Arc<KnownChange> {
        &self.known_change
    }

    /// The directory that stands for the root of the archive.
    pub(crate) fn files(&self) -> &Path {
        &self.files
    }

    /// `fmuResourceLocation`: the URI of the resources, whether or not there are some (C-08).
    pub(crate) fn resource_uri(&self) -> String {
        file_uri(&self.resources)
    }
}

/// The files of an archive that is not an FMU, such as a package of a whole system, on disk: read with
/// the same limits and the same mistrust. They are removed with this value.
#[derive(Debug)]
pub struct UnpackedArchive {
    own: TempDir,
    _of_process: Arc<ProcessDirectory>,
}

impl UnpackedArchive {
    /// Unpacks the files of the archive whose name passes `is_wanted`; names have `/` between
    /// their parts.
    ///
    /// # Errors
    /// As for FMUs: if the file is not an archive, exceeds a limit, or has an entry that could do harm.
    pub fn new(
        path: &Path,
        limits: Limits,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<(Self, Vec<Warning>), OpenError> {
        let mut warnings = Vec::new();
        let mut archive = Archive::open(path, limits, &mut warnings)?;
        let (of_process, own) = ProcessDirectory::new_on_disk()?;
        archive.unpack_if(is_wanted, own.path())?;
        let unpacked = Self {
            own,
            _of_process: of_process,
        };
        Ok((unpacked, warnings))
    }

    /// The directory that stands for the root of the archive.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.own.path()
    }
}

/// Shows the kept files of an FMU in the directory of its library copies, for FMUs that look for their files from
/// the place of their library. Files that the FMU could change there are copied.
fn show_beside_copies(kept: &Path, own: &Path) -> std::io::Result<()> {
    let can_change = is_writable(kept);
    for entry in std::fs::read_dir(kept)? {
        let entry = entry?;
        let (file, target) = (entry.path(), own.join(entry.file_name()));
        if entry.file_name() == "binaries" {
            std::fs::create_dir_all(&target)?;
            for platform in std::fs::read_dir(file)? {
                let platform = platform?;
                link(&platform.path(), &target.join(platform.file_name()))?;
            }
        } else if !can_change {
            link(&file, &target)?;
        } else if entry.file_type()?.is_dir() {
            copy_directory(&file, &target)?;
        } else {
            copy_file(&file, &target)?;
        }
    }
    Ok(())
}

/// Copies a file with its time, which tells whether it is changed later.
fn copy_file(file: &Path, target: &Path) -> std::io::Result<()> {
    std::fs::copy(file, target)?;
    // The copy may be read-only, as files in a cache are.
    let time = std::fs::metadata(file).and_then(|file| file.modified());
    let _ = time.and_then(|time| std::fs::File::open(target)?.set_modified(time));
    Ok(())
}

#[cfg(unix)]
fn link(file: &Path, target: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(file, target)
}

#[cfg(not(unix))]
fn link(_file: &Path, _target: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Whether this process can write to a read-only directory, as root can.
#[cfg(unix)]
fn is_writable(directory: &Path) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn is_writable(_directory: &Path) -> bool {
    false
}

fn copy_directory(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            copy_file(&entry.path(), &target)?;
        }
    }
    Ok(())
}
