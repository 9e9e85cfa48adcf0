//! The directory of the system whose files are in memory.

use std::path::Path;

/// Directory for files of programs, by the Filesystem Hierarchy Standard of Linux systems.
#[cfg(target_os = "linux")]
const DIRECTORY: &str = "/dev/shm";

/// Part of the free room that one FMU may take: others need it as well, and so does the memory.
#[cfg(target_os = "linux")]
const SHARE: u64 = 8;

/// The directory, if there is one that programs may be loaded from, and nothing says that temporary
/// files are to go elsewhere.
#[cfg(target_os = "linux")]
pub(crate) fn usable() -> Option<&'static Path> {
    Some(Path::new(DIRECTORY)).filter(|_| free().is_some())
}

/// The directory, if so many bytes fit; they are taken to be written.
#[cfg(target_os = "linux")]
pub(crate) fn with_room(bytes: u64) -> Option<&'static Path> {
    let needed = bytes.checked_mul(SHARE)?;
    free().filter(|free| needed <= *free)?;
    crate::memory_file::reserve(bytes).ok()?;
    Some(Path::new(DIRECTORY))
}

/// Free bytes of a directory that may be used.
#[cfg(target_os = "linux")]
fn free() -> Option<u64> {
    use rustix::fs::StatVfsMountFlags;
    // `statfs` alone says what kind of file system it is, `statvfs` alone how it is mounted.
    const TMPFS: i64 = 0x0102_1994;
    if std::env::var_os("TMPDIR").is_some() {
        return None;
    }
    let kind = rustix::fs::statfs(DIRECTORY).ok()?.f_type;
    let mount = rustix::fs::statvfs(DIRECTORY).ok()?;
    let unusable = StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY;
    let is_usable = kind as i64 == TMPFS && !mount.f_flag.intersects(unusable);
    is_usable.then(|| mount.f_bavail.saturating_mul(mount.f_frsize))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn usable() -> Option<&'static Path> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn with_room(_bytes: u64) -> Option<&'static Path> {
    None
}
