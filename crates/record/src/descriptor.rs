//! A file whose descriptor may have been closed by somebody else in the process.

use std::fs::File;
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};

/// A file that is closed when it is dropped, where it is open still. An FMU may have closed it: its number may belong to
/// another file by now, and where debug assertions are on the standard library ends a process that closes it again.
#[derive(Debug)]
pub(crate) struct Descriptor(Option<File>);

/// Only a value that is being dropped has no file.
const GONE: &str = "the file is there until it is dropped";

impl From<File> for Descriptor {
    fn from(file: File) -> Self {
        Self(Some(file))
    }
}

impl Deref for Descriptor {
    type Target = File;

    fn deref(&self) -> &File {
        self.0.as_ref().expect(GONE)
    }
}

impl DerefMut for Descriptor {
    fn deref_mut(&mut self) -> &mut File {
        self.0.as_mut().expect(GONE)
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
        if let Some(file) = self.0.take()
            && file.metadata().is_err()
        {
            std::mem::forget(file);
        }
    }
}
