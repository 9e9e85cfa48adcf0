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
    /// Rows before it that found no room and are still to be written.
    unstaged: u64,
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
            unstaged: 0,
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
            self.rows.count.fetch_add(1, Relaxed);
        } else {
            self.unstaged += 1;
        }
        self.end = end;
        fits
    }

    /// Cuts the file after its first `length` bytes, if it can be. Nothing after them is kept.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn truncate(&mut self, length: u64) -> io::Result<()> {
        (self.position, self.end, self.unstaged) = (length, length, 0);
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
                let unstaged = std::mem::take(&mut self.unstaged);
                self.rows.count.fetch_add(unstaged, Relaxed);
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
    if bytes.is_empty() && file.metadata()?.len() == end {
        return Ok(());
    }
    if let Err(error) = file.write_all_at(&bytes, written) {
        file.set_len(written)?;
        return Err(error);
    }
    file.set_len(end)
}

#[cfg(test)]
mod tests {
    use std::fs::read;

    use super::*;

    const FULL: usize = CAPACITY as usize;

    /// A file in the hands of a worker, and what its parent has of it.
    struct Bench {
        folder: tempfile::TempDir,
        kept: KeptFile,
        file: File,
        ring: Ring,
        board: Board,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let file = File::create(folder.path().join("out.csv")).unwrap();
            let board = Board::create().unwrap();
            let (ring, other) = rings();
            Self {
                kept: KeptFile::new(file.try_clone().unwrap(), other, &board),
                folder,
                file,
                ring,
                board,
            }
        }

        fn count(&self) -> u64 {
            self.board.header.rows.count.load(Acquire)
        }

        /// What the file holds after the death of the worker.
        fn completed(mut self) -> Vec<u8> {
            complete(&self.file, &mut self.ring, &self.board).unwrap();
            read(self.folder.path().join("out.csv")).unwrap()
        }
    }

    /// Two mappings of one ring.
    fn rings() -> (Ring, Ring) {
        let ring = Ring::create().unwrap();
        let descriptor = ring.descriptor().try_clone_to_owned().unwrap();
        (ring, Ring::attach(descriptor).unwrap())
    }

    /// No two rows are equal, and their length does not divide the capacity.
    fn row(number: u32) -> Vec<u8> {
        let mut row = format!("{number:>998},").into_bytes();
        row.push(b'\n');
        row
    }

    #[test]
    fn bytes_beyond_the_end_lie_at_the_beginning() {
        let (mut one, mut other) = rings();
        one.store(CAPACITY - 3, b"abcdef");
        let (mut all, mut first) = ([0; 6], [0; 3]);
        other.load(CAPACITY - 3, &mut all);
        assert_eq!(&all, b"abcdef");
        other.load(5 * CAPACITY, &mut first);
        assert_eq!(&first, b"def");
        one.store(CAPACITY - 2, b"xy");
        other.load(CAPACITY - 3, &mut all);
        assert_eq!(
            &all, b"axydef",
            "what ends with the ring stays before its end"
        );
    }

    #[test]
    fn a_ring_may_be_exactly_full() {
        let mut bench = Bench::new();
        let whole: Vec<u8> = (0..FULL).map(|place| (place % 251) as u8).collect();
        assert!(bench.kept.stage(&whole[..FULL - 5]));
        assert!(bench.kept.stage(&whole[FULL - 5..]));
        assert!(!bench.kept.stage(b"\n"), "no room for another byte");
        assert_eq!(bench.count(), 2);
        assert!(bench.completed() == whole);
    }

    #[test]
    fn rows_around_the_end_of_the_ring_are_completed() {
        let mut bench = Bench::new();
        bench.kept.write_all(b"names\n").unwrap();
        let mut expected = b"names\n".to_vec();
        let mut block = Vec::new();
        // Three times around, in blocks, with some rows behind the last block.
        for number in 0..3333 {
            assert!(bench.kept.stage(&row(number)), "row {number}");
            block.extend(row(number));
            if number % 100 == 99 {
                bench.kept.write_all(&block).unwrap();
                expected.append(&mut block);
            }
        }
        assert_eq!(bench.count(), 3333);
        expected.append(&mut block);
        assert!(bench.completed() == expected);
    }

    #[test]
    fn a_row_that_found_no_room_counts_when_it_is_written() {
        let mut bench = Bench::new();
        assert!(bench.kept.stage(b"1\n"));
        let long = vec![b'2'; FULL];
        assert!(!bench.kept.stage(&long));
        assert_eq!(bench.count(), 1);
        bench.kept.write_all(b"1\n").unwrap();
        assert_eq!(bench.count(), 1, "not yet");
        bench.kept.write_all(&long).unwrap();
        assert_eq!(bench.count(), 2);
        assert!(bench.kept.stage(b"3\n"), "there is room again");
        assert_eq!(bench.count(), 3);
        let expected = [b"1\n", long.as_slice(), b"3\n"].concat();
        assert!(bench.completed() == expected);
    }

    #[test]
    fn a_row_that_found_no_room_is_lost_with_the_worker() {
        let mut bench = Bench::new();
        assert!(bench.kept.stage(b"1\n"));
        assert!(!bench.kept.stage(&vec![b'2'; FULL]));
        assert_eq!(bench.count(), 1);
        assert_eq!(bench.completed(), b"1\n");
    }
}
