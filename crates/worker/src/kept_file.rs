//! A result file whose last rows survive the process that writes it.
//!
//! A sink collects rows and writes them in blocks. Each whole row is copied to shared memory as
//! well until its block is written; what is there when the worker has died, the parent writes.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::board::{Board, Rows};
use crate::shared_memory::SharedMemory;

/// Bytes of rows that are kept; a power of two.
const CAPACITY: u64 = 1 << 20;

/// Memory for rows, a ring: the byte at offset n of the file lies at n modulo its size.
pub(crate) struct Ring(SharedMemory);

impl Ring {
    pub(crate) fn create() -> io::Result<Self> {
        Ok(Self(SharedMemory::create(
            "gyrator-rows",
            CAPACITY as usize,
        )?))
    }

    pub(crate) fn attach(descriptor: OwnedFd) -> io::Result<Self> {
        let memory = SharedMemory::attach(descriptor)?;
        if memory.length() as u64 != CAPACITY {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Self(memory))
    }

    pub(crate) fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn store(&mut self, offset: u64, bytes: &[u8]) {
        let place = offset % CAPACITY;
        let first = bytes.len().min((CAPACITY - place) as usize);
        self.0.store_bytes(place as usize, &bytes[..first]);
        self.0.store_bytes(0, &bytes[first..]);
    }

    fn load(&mut self, offset: u64, bytes: &mut [u8]) {
        let place = offset % CAPACITY;
        let first = bytes.len().min((CAPACITY - place) as usize);
        self.0.load_bytes(place as usize, &mut bytes[..first]);
        self.0.load_bytes(0, &mut bytes[first..]);
    }
}

/// The file, as the worker writes it.
pub struct KeptFile {
    file: File,
    ring: Ring,
    rows: &'static Rows,
    /// Bytes that the file took.
    position: u64,
    /// End of the last whole row that was staged or written.
    end: u64,
}

impl KeptFile {
    pub(crate) fn new(file: File, ring: Ring, board: &Board) -> Self {
        let rows = &board.header.rows;
        // Not so for pipes, and for a standard output to which somebody has written before.
        let is_empty = file
            .metadata()
            .is_ok_and(|file| file.is_file() && file.len() == 0);
        rows.has_places.store(is_empty.into(), Relaxed);
        Self {
            file,
            ring,
            rows,
            position: 0,
            end: 0,
        }
    }

    /// Keeps a whole row that will be written later. False if there is no room: then it has to be
    /// written at once.
    pub fn stage(&mut self, row: &[u8]) -> bool {
        let end = self.end + row.len() as u64;
        let fits = end - self.position <= CAPACITY;
        if fits {
            self.ring.store(self.end, row);
            self.rows.end.store(end, Release);
        }
        self.end = end;
        self.rows.count.fetch_add(1, Relaxed);
        fits
    }

    /// Cuts the file after its first `length` bytes, if it can be. Nothing after them is kept.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn truncate(&mut self, length: u64) -> io::Result<()> {
        (self.position, self.end) = (length, length);
        self.rows.end.store(length, Relaxed);
        self.rows.written.store(length, Release);
        if self.rows.has_places.load(Relaxed) == 0 {
            return Ok(());
        }
        self.file.set_len(length)
    }

    /// Makes sure that all bytes are stored.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn sync(&mut self) -> io::Result<()> {
        match self.file.sync_data() {
            // Pipes and terminals have no storage.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        }
    }
}

impl io::Write for KeptFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rows.is_writing.store(1, Release);
        let result = self.file.write(bytes);
        if let Ok(count) = result {
            self.position += count as u64;
            if self.position >= self.end {
                // Also what was never staged: the names of the columns.
                self.end = self.position;
                self.rows.end.store(self.end, Relaxed);
                self.rows.written.store(self.position, Release);
            }
        }
        self.rows.is_writing.store(0, Release);
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes the rows that a dead worker had collected, and cuts the file after them.
///
/// # Errors
/// What the operating system says; the file then ends after the last row that it had for certain.
pub(crate) fn complete(file: &File, ring: &mut Ring, board: &Board) -> io::Result<()> {
    let rows = &board.header.rows;
    let written = rows.written.load(Acquire);
    let end = rows.end.load(Acquire).clamp(written, written + CAPACITY);
    let mut bytes = vec![0; (end - written) as usize];
    ring.load(written, &mut bytes);
    if rows.has_places.load(Acquire) == 0 {
        // What it has taken of an unfinished block cannot be known.
        return if rows.is_writing.load(Acquire) == 0 {
            (&*file).write_all(&bytes)
        } else {
            Err(io::Error::other("it died while it wrote them"))
        };
    }
    if let Err(error) = file.write_all_at(&bytes, written) {
        file.set_len(written)?;
        return Err(error);
    }
    file.set_len(end)
}
