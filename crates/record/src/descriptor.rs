//! A file whose descriptor may have been closed by other code in the process.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};

/// A file that is closed when it is dropped, if it is still open. An FMU may have closed it: its number may belong to
/// another file by now, and with debug assertions on the standard library ends a process that closes it again.
#[derive(Debug)]
pub(crate) struct Descriptor {
    file: Option<File>,
    /// Of the file that was given.
    identity: Option<Identity>,
}

/// Device and number of a file, which no other file has meanwhile.
type Identity = (u64, u64);

/// Only a value that is being dropped has no file.
const GONE: &str = "the file is there until it is dropped";

impl From<File> for Descriptor {
    fn from(file: File) -> Self {
        let identity = file.metadata().ok().map(|found| identity(&found));
        let file = Some(file);
        Self { file, identity }
    }
}

impl Descriptor {
    /// Whether its number still belongs to the file that was given.
    pub(crate) fn is_open(&self) -> bool {
        let found = self.metadata().ok().map(|found| identity(&found));
        found.is_some() && found == self.identity
    }
}

#[cfg(unix)]
fn identity(found: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {
    (0, 0)
}

impl Deref for Descriptor {
    type Target = File;

    fn deref(&self) -> &File {
        self.file.as_ref().expect(GONE)
    }
}

impl DerefMut for Descriptor {
    fn deref_mut(&mut self) -> &mut File {
        self.file.as_mut().expect(GONE)
    }
}

impl Write for Descriptor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (**self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if !self.is_open() {
            std::mem::forget(self.file.take());
        }
    }
}
