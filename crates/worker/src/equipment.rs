//! The memory and descriptors that a worker shares with its parent.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use crate::board::Board;
use crate::kept_file::Ring;

/// Files and shared memory that a worker gets from its parent.
pub(crate) struct Equipment {
    pub(crate) board: Board,
    pub(crate) ring: Ring,
    job: File,
    pub(crate) for_parent: File,
}

impl Equipment {
    pub(crate) fn make(text: &[u8]) -> io::Result<Self> {
        let equipment = Self {
            board: Board::create()?,
            ring: Ring::create()?,
            job: memory_file("gyrator-job")?,
            for_parent: memory_file("gyrator-for-parent")?,
        };
        (&equipment.job).write_all(text)?;
        Ok(equipment)
    }

    pub(crate) fn files(&self) -> [BorrowedFd<'_>; 4] {
        [
            self.board.descriptor(),
            self.ring.descriptor(),
            self.job.as_fd(),
            self.for_parent.as_fd(),
        ]
    }
}

fn memory_file(name: &str) -> io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(rustix::fs::memfd_create(name, flags)?.into())
}
