//! The place into which a process unpacks its FMUs: small ones without resources into memory, if the system has a
//! directory for that, all others onto the disk. FMUs write files of any size beside their resources.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

use crate::error::OpenError;
use crate::leftovers::OwnDirectory;
use crate::memory_directory;
use crate::plain_path::plain_directory;

/// Directories of this process, each as long as an FMU needs it.
static ON_DISK: Shared = Mutex::new(Weak::new());
static IN_MEMORY: Shared = Mutex::new(Weak::new());

type Shared = Mutex<Weak<ProcessDirectory>>;

/// A directory for all FMUs of a process, removed when it is no longer used. Its name contains the
/// number of the process, `gyrator-<process>-…`. So directories left by a killed process can be
/// told from those in use. It is one for all because its lock is an open file, and a
/// process may often have no more than 1024 of these.
#[derive(Debug)]
pub(crate) struct ProcessDirectory(OwnDirectory);

impl ProcessDirectory {
    /// A new directory in this process's directory on disk.
    pub(crate) fn new_on_disk() -> Result<(Arc<Self>, TempDir), OpenError> {
        let of_process = Self::shared(&ON_DISK, &plain_directory())?;
        let own = of_process.directory()?;
        Ok((of_process, own))
    }

    /// Directory of this process in memory, if there is room for so many bytes.
    pub(crate) fn in_memory(bytes: u64) -> Option<Arc<Self>> {
        let parent = memory_directory::with_room(bytes)?;
        Self::shared(&IN_MEMORY, parent).ok()
    }

    fn shared(shared: &Shared, parent: &Path) -> Result<Arc<Self>, OpenError> {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = shared.upgrade().filter(|found| found.is_in(parent)) {
            return Ok(found);
        }
        let own = OwnDirectory::new_in(parent).map_err(OpenError::io(parent))?;
        let new = Arc::new(Self(own));
        *shared = Arc::downgrade(&new);
        Ok(new)
    }

    /// Whether it exists in `parent`, the place for the next one.
    fn is_in(&self, parent: &Path) -> bool {
        let path = self.0.path();
        path.parent() == Some(parent) && path.is_dir()
    }

    /// A new directory in it.
    pub(crate) fn directory(&self) -> Result<TempDir, OpenError> {
        let path = self.0.path();
        let made = tempfile::Builder::new().prefix("fmu-").tempdir_in(path);
        made.map_err(OpenError::io(path))
    }
}
