//! In the place of `object_storage` where the program is built without it.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use gyrator_worker::Stop;

use crate::exit::Exit;
use crate::failure::Failure;

fn refused(url: &str) -> Failure {
    let text = format!("{url}: this program was built without object storage");
    Failure::usage(text).help("build it with `--features object-storage`, or name a file")
}

/// There are none.
pub(crate) struct KeptPart(Infallible);

impl KeptPart {
    /// Refuses the URL.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn open(url: &str, _study: &Path) -> Result<Self, Failure> {
        Err(refused(url))
    }

    pub(crate) fn table(&self) -> &Path {
        match self.0 {}
    }

    pub(crate) fn stop(&self) -> Stop {
        match self.0 {}
    }

    pub(crate) fn close(self, _outcome: Result<Exit, Failure>) -> Result<Exit, Failure> {
        match self.0 {}
    }
}

/// There are none.
pub(crate) struct Fetched {
    pub(crate) journals: Vec<PathBuf>,
    never: Infallible,
}

impl Fetched {
    /// Refuses the URL.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn of(url: &str) -> Result<Self, Failure> {
        Err(refused(url))
    }

    pub(crate) fn shown(&self, _copy: &Path) -> Option<PathBuf> {
        match self.never {}
    }
}

/// Refuses the URL.
///
/// # Errors
/// Always.
pub(crate) fn keep_table(
    url: &str,
    _write: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    Err(refused(url))
}
