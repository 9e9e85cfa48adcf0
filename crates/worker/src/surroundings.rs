//! The working directory and the mask of file rights, which FMUs change.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::Mode;

use crate::process;

/// The working directory and the mask as they were when the process began.
static OWN: OnceLock<Surroundings> = OnceLock::new();
/// One thread at a time changes them.
static CHANGING: Mutex<()> = Mutex::new(());

struct Surroundings {
    folder: File,
    mask: Mode,
}

/// Remembers the surroundings, to be called before any FMU is loaded.
///
/// # Errors
/// If the working directory cannot be opened.
pub fn remember() -> io::Result<()> {
    let folder = File::open(".")?;
    // The mask can be read only by setting it.
    let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::umask(mask);
    let _ = OWN.set(Surroundings { folder, mask });
    Ok(())
}

/// Gives the calling thread surroundings of its own from now on: it does not see changes by other threads, nor they
/// its own.
///
/// # Errors
/// If the system does not allow it, as in some containers.
pub fn part() -> io::Result<()> {
    process::leave_shared_directory()
}

/// Makes `folder` the working directory, and restores the mask.
///
/// # Errors
/// If the folder cannot be entered.
pub fn enter(folder: &Path) -> io::Result<()> {
    restore_mask();
    std::env::set_current_dir(folder)
}

/// Returns to the surroundings as they were [remembered](remember).
///
/// # Errors
/// If the working directory is gone.
pub fn go_back() -> io::Result<()> {
    restore_mask();
    match OWN.get() {
        Some(own) => Ok(rustix::process::fchdir(&own.folder)?),
        None => Ok(()),
    }
}

fn restore_mask() {
    if let Some(own) = OWN.get() {
        rustix::process::umask(own.mask);
    }
}

/// Does `work`, which opens or makes files, with the paths and rights of the user, whatever FMUs have
/// done. The settings that FMUs rely on are put back afterwards.
pub fn in_own<T>(work: impl FnOnce() -> T) -> T {
    let Some(own) = OWN.get() else {
        return work();
    };
    let _alone = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let theirs = File::open(".");
    let mask = rustix::process::umask(own.mask);
    // A folder that cannot be entered any more makes `work` fail with a more useful error.
    let _ = rustix::process::fchdir(&own.folder);
    let result = work();
    rustix::process::umask(mask);
    if let Ok(theirs) = theirs {
        let _ = rustix::process::fchdir(theirs);
    }
    result
}
