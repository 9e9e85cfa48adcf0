//! Files that are nowhere but in memory.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::MemfdFlags;
use rustix::io::Errno;

/// Most bytes that a process keeps in memory files: more than any system of small FMUs needs, and
/// little on machines of today.
const MOST: u64 = 512 << 20;

/// The part of the memory that is available at first that may become files.
const SHARE: u64 = 4;

/// Bytes that this process keeps in memory files.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// A file without a name, which may hold a program.
pub(crate) struct MemoryFile {
    file: File,
}

impl MemoryFile {
    /// A copy of a file.
    pub(crate) fn copy_of(original: &Path, name: &str) -> std::io::Result<Self> {
        let mut source = File::open(original)?;
        reserve(source.metadata()?.len())?;
        let mut file = File::from(create(name)?);
        std::io::copy(&mut source, &mut file)?;
        Ok(Self { file })
    }

    /// A path that leads to it as long as it is open.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }
}

fn create(name: &str) -> Result<rustix::fd::OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC;
    match rustix::fs::memfd_create(name, flags | MemfdFlags::EXEC) {
        // Systems before Linux 6.3 do not know the flag, and need none.
        Err(Errno::INVAL) => rustix::fs::memfd_create(name, flags),
        done => done,
    }
}

/// Counts bytes that are going to be kept in memory, if they fit. They are never given back: a library is never unloaded.
pub(crate) fn reserve(bytes: u64) -> std::io::Result<()> {
    let most = most();
    let sum = |kept: u64| kept.checked_add(bytes).filter(|sum| *sum <= most);
    match KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum) {
        Ok(_) => Ok(()),
        Err(_) => Err(Errno::NOMEM.into()),
    }
}

/// Bytes that memory files may have in all.
fn most() -> u64 {
    static LIMIT: OnceLock<u64> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        available(&text).map_or(0, |bytes| (bytes / SHARE).min(MOST))
    })
}

/// Bytes that the system could give to programs.
fn available(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_not_filled_up() {
        assert!(reserve(MOST + 1).is_err());
        assert!(reserve(u64::MAX).is_err());
        let meminfo = "MemTotal:       49452456 kB\nMemAvailable:   48101924 kB\n";
        assert_eq!(available(meminfo), Some(48_101_924 * 1024));
        assert_eq!(available("MemAvailable: much\n"), None);
        assert_eq!(available(""), None);
    }

    #[test]
    fn a_copy_in_memory_has_the_bytes_of_its_file() {
        let original = std::env::current_exe().unwrap();
        let copy = MemoryFile::copy_of(&original, "copy").unwrap();
        let equal = std::fs::read(copy.path()).unwrap() == std::fs::read(original).unwrap();
        assert!(equal);
    }
}
