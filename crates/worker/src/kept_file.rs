//! A result file whose last rows survive the process that writes it.
//!
//! A sink collects rows and writes them in blocks. Each whole row is copied to shared memory as
//! well until its block is written; the parent writes the rows that are there when the worker has died.
//!
//! An FMU shares the worker's memory and may have written anywhere. The parent finds by itself
//! which file it is and how long that is, and uses the notes on the rows only as far as they
//! have their check and agree with that.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::Ordering::{Acquire, Release};

use crate::board::Board;
use crate::rows::{Extent, Rows};
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
        // Nothing else writes to it.
        self.0.store_bytes_in_words(place as usize, &bytes[..first]);
        if first < bytes.len() {
            self.0.store_bytes_in_words(0, &bytes[first..]);
        }
    }

    fn load(&self, offset: u64, bytes: &mut [u8]) {
        let place = offset % CAPACITY;
        let first = bytes.len().min((CAPACITY - place) as usize);
        self.0.load_bytes(place as usize, &mut bytes[..first]);
        self.0.load_bytes(0, &mut bytes[first..]);
    }
}

/// Whether rows have places in the file: it is empty, and is written from its beginning. Not so for
/// pipes, and for a standard output to which something was written before.
pub(crate) fn has_places(file: &File) -> bool {
    let metadata = file.metadata();
    metadata.is_ok_and(|file| file.is_file() && file.len() == 0)
}

/// The file, as the worker writes it.
pub struct KeptFile {
    file: File,
    ring: Ring,
    rows: &'static Rows,
    has_places: bool,
    /// Bytes that the file took.
    position: u64,
    /// End of the last whole row that was staged or written.
    end: u64,
    /// Rows up to it; [`NOT_COUNTED`] after a cut.
    count: u64,
    /// Rows before `end` that found no room and are still to be written.
    unstaged: u64,
    /// Notes that were made of it.
    notes: u64,
    /// An FMU has closed the file; the parent has it still, and writes what was kept.
    is_closed: bool,
}

/// Stands for a number of rows that have to be counted in the file.
const NOT_COUNTED: u64 = u64::MAX;

impl KeptFile {
    pub(crate) fn new(file: File, ring: Ring, board: &Board, has_places: bool) -> Self {
        Self {
            file,
            ring,
            rows: &board.header.rows,
            has_places,
            position: 0,
            end: 0,
            count: 0,
            unstaged: 0,
            notes: 0,
            is_closed: false,
        }
    }

    /// Keeps a whole row that will be written later. False without room for it: then it has to be
    /// written at once.
    pub fn stage(&mut self, row: &[u8]) -> bool {
        let end = self.end + row.len() as u64;
        let fits = end - self.position <= CAPACITY;
        if fits {
            self.ring.store(self.end, row);
            self.count = self.count.saturating_add(1);
        } else {
            self.unstaged += 1;
        }
        let is_noted = fits && self.unstaged == 0;
        self.end = end;
        if is_noted {
            self.note();
        }
        fits
    }

    fn note(&mut self) {
        self.notes += 1;
        let extent = Extent {
            end: self.end,
            written: self.position,
            count: self.count,
        };
        self.rows.note(self.notes, extent);
    }

    /// Cuts the file after its first `length` bytes, if it can be. Nothing after them is kept.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn truncate(&mut self, length: u64) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        (self.position, self.end, self.unstaged) = (length, length, 0);
        self.count = NOT_COUNTED;
        self.note();
        if self.has_places {
            self.file.set_len(length)
        } else {
            Ok(())
        }
    }

    /// Makes sure that all bytes are stored.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn sync(&mut self) -> io::Result<()> {
        match self.file.sync_data() {
            // Pipes and terminals have no storage.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result.inspect_err(|error| self.note_if_closed(error)),
        }
    }

    /// Whether an FMU has closed the file. The parent then writes the rows that were staged.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn note_if_closed(&mut self, error: &io::Error) {
        self.is_closed |= error.raw_os_error() == Some(libc::EBADF);
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
                let unstaged = std::mem::take(&mut self.unstaged);
                self.count = self.count.saturating_add(unstaged);
                self.note();
            }
        }
        self.rows.is_writing.store(0, Release);
        result.inspect_err(|error| self.note_if_closed(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Final contents of a dead worker's result file.
#[derive(Debug)]
pub(crate) struct Completed {
    /// Whole rows.
    pub(crate) rows: u64,
    /// Bytes of the file with them, if they are known.
    pub(crate) length: Option<u64>,
    /// Why it does not hold all that the worker has recorded.
    pub(crate) error: Option<io::Error>,
}

/// Writes the rows that a dead worker had collected, and cuts the file after them. If that fails,
/// or the notes of the rows make no sense, the file ends after the last whole row that is in it.
pub(crate) fn complete(file: &File, ring: &Ring, board: &Board, has_places: bool) -> Completed {
    let rows = &board.header.rows;
    let noted = match rows.last() {
        Some(extent) if extent.end.wrapping_sub(extent.written) <= CAPACITY => Ok(extent),
        _ => Err(io::Error::other(
            "the notes on them were overwritten in memory",
        )),
    };
    let added = noted.and_then(|extent| {
        let added = if has_places {
            append(file, ring, extent)
        } else {
            pass_on(file, ring, extent, rows)
        };
        added.map(|()| extent)
    });
    match added {
        Ok(Extent { count, end, .. }) if count != NOT_COUNTED => Completed {
            rows: count,
            length: has_places.then_some(end),
            error: None,
        },
        other => Completed {
            rows: if has_places { cut_to_rows(file) } else { 0 },
            length: None,
            error: other.err(),
        },
    }
}

fn append(file: &File, ring: &Ring, extent: Extent) -> io::Result<()> {
    let Extent { end, written, .. } = extent;
    let length = file.metadata()?.len();
    if length < written {
        let text = format!("the file has {length} bytes, where {written} were written");
        return Err(io::Error::other(text));
    }
    if length == end && written == end {
        return Ok(());
    }
    let mut bytes = vec![0; (end - written) as usize];
    ring.load(written, &mut bytes);
    if !are_rows(first_byte(file).or(bytes.first().copied()), &bytes) {
        // Rows that are not in the file yet are lost.
        return Err(io::Error::other("they were overwritten in memory"));
    }
    // First of all: a file that is open for appending takes all bytes at its end.
    file.set_len(written)?;
    file.write_all_at(&bytes, written)
}

/// The first byte of a file, which may be open for writing only.
fn first_byte(file: &File) -> Option<u8> {
    let mut first = [0];
    let read = reader(file).and_then(|file| file.read_at(&mut first, 0));
    (read.ok()? == 1).then_some(first[0])
}

/// Whether these bytes may be rows of a file that begins with `first`. Rows of text contain no zeros, are UTF-8, and
/// end with their line; of rows of numbers nothing is known.
fn are_rows(first: Option<u8>, bytes: &[u8]) -> bool {
    // It is the name of the time, perhaps in quotes.
    let is_text = first.is_some_and(|first| first == b'"' || first.is_ascii_alphabetic());
    let are_lines = bytes.last().is_none_or(|last| *last == b'\n');
    !is_text || are_lines && !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// The same for a pipe.
fn pass_on(file: &File, ring: &Ring, extent: Extent, rows: &Rows) -> io::Result<()> {
    if rows.is_writing.load(Acquire) != 0 {
        // The part that it has taken of an unfinished block cannot be known.
        return Err(io::Error::other("it died while it wrote them"));
    }
    let mut bytes = vec![0; (extent.end - extent.written) as usize];
    ring.load(extent.written, &mut bytes);
    // The standard output has rows of text.
    if !are_rows(Some(b't'), &bytes) {
        return Err(io::Error::other("they were overwritten in memory"));
    }
    (&*file).write_all(&bytes)
}

/// The same file for reading: it may be open for writing only.
fn reader(file: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// Cuts a file after its last whole row, and counts the rows after the names of the columns. What
/// cannot be read or cut stays as it is.
fn cut_to_rows(file: &File) -> u64 {
    let Ok(reader) = reader(file) else {
        return 0;
    };
    let (rows, end, is_whole) =
        gyrator_record::count_rows(io::BufReader::with_capacity(1 << 16, reader));
    if !is_whole {
        // If this fails as well, the last row is cut short, and readers say so.
        let _ = file.set_len(end);
    }
    rows
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
            assert!(has_places(&file));
            Self {
                kept: KeptFile::new(file.try_clone().unwrap(), other, &board, true),
                folder,
                file,
                ring,
                board,
            }
        }

        fn count(&self) -> u64 {
            self.board.header.rows.last().unwrap().count
        }

        /// Returns the bytes of the file after the death of the worker.
        fn completed(self) -> Vec<u8> {
            let completed = complete(&self.file, &self.ring, &self.board, true);
            assert!(completed.error.is_none(), "{completed:?}");
            self.content()
        }

        fn content(&self) -> Vec<u8> {
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
        let (mut one, other) = rings();
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

    /// Two rows in the file and the beginning of a third one, a fourth one in memory.
    fn half_written() -> Bench {
        let mut bench = Bench::new();
        bench.kept.write_all(b"names\n").unwrap();
        for row in [b"1\n", b"2\n"] {
            assert!(bench.kept.stage(row));
            bench.kept.write_all(row).unwrap();
        }
        assert!(bench.kept.stage(b"3\n"));
        bench
    }

    #[test]
    fn r47_notes_that_make_no_sense_are_ignored() {
        let truth = half_written().board.header.rows.last().unwrap();
        assert_eq!((truth.written, truth.end, truth.count), (10, 12, 3));
        for wild in [
            (1 << 41, (1 << 41) + 2),
            (u64::MAX - 3, u64::MAX),
            (10, u64::MAX),
            (10, 9),
            (10, 10 + CAPACITY + 1),
            (11, 12),
        ] {
            let bench = half_written();
            let (written, end) = wild;
            let extent = Extent {
                written,
                end,
                count: u64::MAX - 1,
            };
            bench.board.header.rows.note(99, extent);
            let completed = complete(&bench.file, &bench.ring, &bench.board, true);
            assert!(completed.error.is_some(), "{wild:?}");
            assert_eq!(completed.rows, 2, "{wild:?}");
            assert_eq!(bench.content(), b"names\n1\n2\n", "{wild:?}");
        }
    }

    #[test]
    fn r47_notes_without_their_check_are_ignored() {
        let bench = half_written();
        // As an FMU does that writes zeros, ones or anything else behind the end of its own memory.
        for byte in [0xff, 0x01, 0x5a] {
            bench.board.header.rows.fill(byte);
            bench.file.write_all_at(b"4", 10).unwrap();
            let completed = complete(&bench.file, &bench.ring, &bench.board, true);
            let error = completed.error.unwrap().to_string();
            assert_eq!(error, "the notes on them were overwritten in memory");
            assert_eq!(completed.rows, 2);
            assert_eq!(bench.content(), b"names\n1\n2\n", "ends with a whole row");
        }
    }

    #[test]
    fn rows_that_were_overwritten_in_memory_are_not_written() {
        for byte in [0xff, 0, b'5'] {
            let mut bench = half_written();
            let row = [byte; 2];
            bench.kept.ring.store(10, &row);
            let completed = complete(&bench.file, &bench.ring, &bench.board, true);
            let error = completed.error.unwrap().to_string();
            assert_eq!(error, "they were overwritten in memory");
            assert_eq!(completed.rows, 2);
            assert_eq!(bench.content(), b"names\n1\n2\n");
        }
        // Numbers have any bytes.
        let mut bench = Bench::new();
        bench.kept.write_all(b"\0time\n").unwrap();
        assert!(bench.kept.stage(&[0xff; 8]));
        assert_eq!(
            bench.completed(),
            b"\0time\n\xff\xff\xff\xff\xff\xff\xff\xff"
        );
    }

    #[test]
    fn a_file_that_was_cut_short_is_reported() {
        let bench = half_written();
        bench.file.set_len(8).unwrap();
        let completed = complete(&bench.file, &bench.ring, &bench.board, true);
        let error = completed.error.unwrap().to_string();
        assert_eq!(error, "the file has 8 bytes, where 10 were written");
        assert_eq!(
            (completed.rows, bench.content()),
            (1, b"names\n1\n".to_vec())
        );
    }

    #[test]
    fn rows_are_counted_in_a_file_that_was_cut() {
        let mut bench = half_written();
        bench.kept.truncate(8).unwrap();
        let completed = complete(&bench.file, &bench.ring, &bench.board, true);
        assert!(completed.error.is_none());
        assert_eq!(
            (completed.rows, bench.content()),
            (1, b"names\n1\n".to_vec())
        );
    }

    #[test]
    fn line_feeds_in_quotes_end_no_row() {
        let bench = Bench::new();
        (&bench.file)
            .write_all(b"time,\"a\nb\"\n0,\"x\ny\"\n1,\"z\n")
            .unwrap();
        assert_eq!(cut_to_rows(&bench.file), 1);
        assert_eq!(bench.content(), b"time,\"a\nb\"\n0,\"x\ny\"\n");
    }
}
