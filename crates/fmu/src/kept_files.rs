//! Unpacked FMUs that later runs find again.
//!
//! The files of an FMU lie in a folder that is named after the content of its archive. The folder
//! appears with all its files at once, so that runs at the same time may share it, and is read-only
//! from then on.

use std::path::{Path, PathBuf};

use crate::contents::Contents;
use crate::error::OpenError;
use crate::leftovers;
use crate::plain_path::is_plain;
use crate::platform;

/// Which files of an archive are kept, and how; another number makes the folders of earlier versions useless.
const LAYOUT: u32 = 2;

/// The folder in `cache` with the files of an FMU. A new FMU is unpacked there, and compiled if it has to be.
/// `None` for a cache in a place from which FMUs would not find their resources: many do not decode
/// the URI that they are given (C-08).
pub(crate) fn of(contents: &mut Contents, cache: &Path) -> Result<Option<PathBuf>, OpenError> {
    let cache = std::path::absolute(cache).map_err(OpenError::io(cache))?;
    let io = OpenError::io(&cache);
    if !cache.to_str().is_some_and(is_plain) {
        return Ok(None);
    }
    let folder = format!(
        "{}-{}-{LAYOUT}",
        contents.digest()?,
        platform::usual_folder()
    );
    let kept = cache.join(folder);
    if kept.is_dir() {
        return Ok(Some(kept));
    }
    std::fs::create_dir_all(&cache).map_err(io)?;
    leftovers::sweep_in(&cache);
    let new = leftovers::unlocked_directory(&cache).map_err(io)?;
    let _lock = leftovers::lock(new.path());
    contents.write_to(new.path())?;
    sync(new.path());
    match std::fs::rename(new.path(), &kept) {
        Ok(()) => {
            // It is not there any more, and not to be removed.
            let _ = new.keep();
            protect(&kept).map_err(OpenError::io(&kept))?;
        }
        // Another run was faster.
        Err(_) if kept.is_dir() => {}
        Err(source) => return Err(OpenError::io(&kept)(source)),
    }
    Ok(Some(kept))
}

/// Sees to it that a power cut leaves no folder with half of its bytes.
#[cfg(target_os = "linux")]
fn sync(directory: &Path) {
    if let Ok(directory) = std::fs::File::open(directory) {
        let _ = rustix::fs::syncfs(directory);
    }
}

#[cfg(not(target_os = "linux"))]
fn sync(_directory: &Path) {}

/// Takes the permission to write away, the innermost first.
fn protect(path: &Path) -> std::io::Result<()> {
    let metadata = std::fs::symlink_metadata(path)?;
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path)? {
            protect(&entry?.path())?;
        }
    }
    let mut permissions = metadata.permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(path, permissions)
}
