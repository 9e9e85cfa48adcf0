//! Directories for temporary files, and the unused ones of processes that were killed.
//!
//! Such a directory is called `gyrator-<process>-…`, and the process that uses it holds a lock on
//! it, which the system releases when the process ends, however that happens. A number alone would
//! not do: containers that share `/tmp` number their processes each for themselves.

use std::fs::{DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use tempfile::TempDir;

use crate::memory_directory;
use crate::plain_path::plain_directory;

/// Younger ones may be about to be locked.
const MIN_AGE: Duration = Duration::from_secs(60);

/// A directory for temporary files of this process. It is removed with this value, or, if the process is killed, by the
/// next run that [sweeps](sweep_aside).
#[derive(Debug)]
pub struct OwnDirectory {
    directory: TempDir,
    _lock: Option<File>,
}

impl OwnDirectory {
    /// Makes one in the place on disk for unpacked FMUs.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn new() -> io::Result<Self> {
        Self::new_in(&plain_directory())
    }

    pub(crate) fn new_in(parent: &Path) -> io::Result<Self> {
        let directory = unlocked_directory(parent)?;
        Ok(Self {
            _lock: lock(directory.path()),
            directory,
        })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Makes a directory whose name contains the number of this process.
pub(crate) fn unlocked_directory(parent: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(&prefix(std::process::id()))
        .tempdir_in(parent)
}

/// The beginning of the names of the directories of a process.
fn prefix(process: u32) -> String {
    format!("gyrator-{process}-")
}

/// Locks a new directory for as long as the file is open. `None` on file systems without locks:
/// there no directory is ever found to be unused either.
pub(crate) fn lock(directory: &Path) -> Option<File> {
    let file = File::open(directory).ok()?;
    file.try_lock_shared().ok()?;
    Some(file)
}

/// Removes the directories of a process that has ended, as the caller has checked. Waits for copies of it in its group of processes,
/// which was killed: they hold the locks until they are gone. Copies that have left the group keep the directories.
pub fn remove_of(process: u32) {
    let prefix = prefix(process);
    let is_its = |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with(&prefix);
    for _ in 0..ROUNDS {
        let directories = find_in_places(is_its);
        remove_unused(&directories);
        let left: Vec<PathBuf> = directories
            .into_iter()
            .filter(|path| path.is_dir())
            .collect();
        if left.is_empty() || is_held_elsewhere(&left, process) {
            return;
        }
        std::thread::sleep(ROUND);
    }
}

/// How often, and after which time, it is looked whether a killed process is gone: 2 s in all.
const ROUNDS: u32 = 1000;
const ROUND: Duration = Duration::from_millis(2);

/// Whether a process outside of the group of `process` holds one of these directories.
#[cfg(target_os = "linux")]
fn is_held_elsewhere(directories: &[PathBuf], process: u32) -> bool {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut others = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    others.any(|other| {
        let holds = held_by(other).iter().any(|held| directories.contains(held));
        holds && group_of(other) != Some(process)
    })
}

/// The group of a process, which the kernel's own threads do not have.
#[cfg(target_os = "linux")]
fn group_of(process: u32) -> Option<u32> {
    let process = rustix::process::Pid::from_raw(process.cast_signed())?;
    let group = rustix::process::getpgid(Some(process)).ok()?;
    Some(group.as_raw_nonzero().get().cast_unsigned())
}

#[cfg(not(target_os = "linux"))]
fn is_held_elsewhere(_: &[PathBuf], _: u32) -> bool {
    true
}

/// Directories that a process holds open, as a copy of the process does whose directories they are: while it lives, they seem to be in
/// use.
#[must_use]
pub fn held_by(process: u32) -> Vec<PathBuf> {
    let files = std::fs::read_dir(format!("/proc/{process}/fd"));
    let files = files.into_iter().flatten().flatten();
    let targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    let is_ours = |target: &PathBuf| {
        let name = target.file_name();
        name.is_some_and(|name| is_our_name(&name.to_string_lossy()))
    };
    targets.filter(is_ours).collect()
}

/// Removes the directories of all processes that have ended, on another thread if there may be any.
#[must_use]
pub fn sweep_aside() -> Option<JoinHandle<()>> {
    let found = find_in_places(is_ours_and_old);
    if found.is_empty() {
        return None;
    }
    let remove = move || remove_unused(&found);
    std::thread::Builder::new().spawn(remove).ok()
}

/// Removes the directories of all processes that have ended.
pub fn sweep() {
    remove_unused(&find_in_places(is_ours_and_old));
}

/// Removes the directories of all processes that have ended, in another place than the usual one.
pub(crate) fn sweep_in(parent: &Path) {
    remove_unused(&find(parent, is_ours_and_old));
}

fn is_ours_and_old(entry: &DirEntry) -> bool {
    has_our_name(entry) && is_old(entry)
}

/// Finds directories wherever a process unpacks FMUs.
fn find_in_places(is_due: impl Fn(&DirEntry) -> bool) -> Vec<PathBuf> {
    let mut found = find(&plain_directory(), &is_due);
    if let Some(memory) = memory_directory::usable() {
        found.extend(find(memory, &is_due));
    }
    found
}

fn find(parent: &Path, is_due: impl Fn(&DirEntry) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let is_directory = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let due = entries.filter(|entry| is_due(entry) && is_directory(entry));
    due.map(|entry| entry.path()).collect()
}

/// Removes the given directories that no process uses.
pub fn remove_unused(directories: &[PathBuf]) {
    for directory in directories {
        if is_unused(directory) {
            // Directories of other users cannot be removed, and are not ours to remove.
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

fn has_our_name(entry: &DirEntry) -> bool {
    is_our_name(&entry.file_name().to_string_lossy())
}

/// `gyrator-<digits>-…`
fn is_our_name(name: &str) -> bool {
    let process = name
        .strip_prefix("gyrator-")
        .and_then(|rest| rest.split_once('-'));
    process.is_some_and(|(process, _)| {
        !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn is_old(entry: &DirEntry) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > MIN_AGE))
}

fn is_unused(directory: &Path) -> bool {
    let Ok(file) = File::open(directory) else {
        return false;
    };
    file.try_lock().is_ok()
}
