//! The rows of a study that are finished, on disk as soon as they are.
//!
//! Rows finish in any order, on any thread, on any computer; the table has them in the order of the cases. A line of
//! the journal is written by one call and ends with a checksum. Whatever ends the process leaves whole lines, and
//! perhaps a torn last one, which is cut off. The table is made of one journal, or of the journals of all parts, when
//! every row is there: it cannot depend on which process made which row.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::cases::Shard;
use crate::cell::{Cell, Column};
use crate::identity::{Identity, checksum};

/// The first line of a journal: the study its rows belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the form of journals.
    pub gyrator_study_journal: u32,
    /// The study.
    pub identity: Identity,
    /// The part of the study that is kept here.
    pub part: Shard,
    /// Rows of the whole study.
    pub rows: usize,
    /// Columns of the table.
    pub columns: Vec<Column>,
    /// Rows of each case: the number of variants.
    #[serde(default = "one")]
    pub rows_of_case: usize,
}

impl Header {
    /// Rows of the part.
    #[must_use]
    pub fn rows_of_part(&self) -> usize {
        let cases = self.rows / self.rows_of_case.max(1);
        let Shard { index, count } = self.part;
        let others = cases.saturating_sub(index.saturating_sub(1));
        others.div_ceil(count.max(1)) * self.rows_of_case
    }
}

fn one() -> usize {
    1
}

/// The form that this program writes.
pub(crate) const VERSION: u32 = 2;

/// The beginning of every journal.
const BEGINNING: &[u8] = b"{\"gyrator_study_journal\":";

/// A process that makes rows. A line of the journal names it when its rows begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// Name of the study file.
    pub study: String,
    /// Name of its machine.
    pub host: String,
    /// Number of the process.
    pub process: u32,
    /// When it began, s since 1970.
    pub begun: u64,
}

impl Writer {
    /// This process, which begins now.
    #[must_use]
    pub fn this_process(study: &Path) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let host = host.or_else(|_| std::env::var("HOSTNAME"));
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            study: study.file_name().unwrap_or_default().display().to_string(),
            host: host.map_or_else(|_| "?".to_owned(), |name| name.trim().to_owned()),
            process: std::process::id(),
            begun: since.map_or(0, |since| since.as_secs()),
        }
    }
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.process, self.host)
    }
}

/// A line that names a writer.
#[derive(Serialize, Deserialize)]
struct WriterLine {
    writer: Writer,
}

/// A row of the table, as comma-separated values have it, without an end of line.
pub type RowText = String;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("cannot use the journal {}: {source}", path.display())]
    Io {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another process writes it.
    #[error(
        "the journal {} is being written by another process{}: wait for it, end it, or choose another output file",
        path.display(),
        writer.as_ref().map_or_else(String::new, |writer| format!(" ({writer})"))
    )]
    InUse {
        /// The path as it was given.
        path: PathBuf,
        /// That process, if the journal names it.
        writer: Option<Writer>,
    },
    /// Another process has begun to write it, as on file systems without locks.
    #[error(
        "another process has written to the journal {} in the meantime: this one ends, and the journal keeps all rows",
        path.display()
    )]
    TakenOver {
        /// The path as it was given.
        path: PathBuf,
    },
    /// It belongs to another study, or to the study as it was before a change.
    #[error(
        "the journal {} belongs to another study: {difference}; remove it to start again, or choose another output file",
        path.display()
    )]
    OtherStudy {
        /// The path as it was given.
        path: PathBuf,
        /// The difference.
        difference: String,
    },
    /// A line within it is damaged.
    #[error(
        "{}:{line}: this is not a line of a journal{}",
        path.display(),
        if *line > 1 { "; where it is removed, its row is made again" } else { "" }
    )]
    Damaged {
        /// The path as it was given.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
    },
}

/// A journal that is open to be continued. A line is written at once, so that whatever ends the
/// process loses no finished row.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    tail: Mutex<Tail>,
    done: BTreeMap<usize, RowText>,
}

/// The content of a journal.
#[derive(Debug, Clone)]
pub struct JournalContents {
    /// Its first line.
    pub header: Header,
    /// The finished rows, by their places in the table.
    pub rows: BTreeMap<usize, RowText>,
    /// The last process that has made rows, or begun to.
    pub writer: Option<Writer>,
    /// Rows that were finished before that process.
    pub earlier: usize,
    /// Bytes of whole lines.
    length: usize,
}

/// The end of the file, at which the next line is written.
#[derive(Debug)]
struct Tail {
    file: File,
    /// Bytes of whole lines.
    length: u64,
}

impl Tail {
    /// Whether the file has grown since the last line of this process.
    fn is_foreign(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() != self.length)
    }

    /// Writes a line, or nothing: a line cut short by a full disk is removed.
    fn append(&mut self, line: &str) -> io::Result<()> {
        let written = self.file.write_all(line.as_bytes());
        match &written {
            Ok(()) => self.length += line.len() as u64,
            Err(_) => self.file.set_len(self.length)?,
        }
        written
    }
}

impl Journal {
    /// Opens a journal for this writer, or begins one. The rest of an unfinished line is removed. A journal whose writer is dead is
    /// continued.
    ///
    /// # Errors
    ///
    /// [`JournalError`], also if the journal belongs to another study.
    pub fn open(path: &Path, header: &Header, writer: &Writer) -> Result<Self, JournalError> {
        let io = |source| JournalError::Io {
            path: path.to_owned(),
            source,
        };
        let file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path);
        let mut file = file.map_err(io)?;
        let is_locked = match lock(&file) {
            Ok(()) => false,
            Err(TryLockError::WouldBlock) => true,
            // Some network file systems have no locks.
            Err(TryLockError::Error(_)) => false,
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let read = parse(&bytes, path);
        if is_locked {
            return Err(JournalError::InUse {
                path: path.to_owned(),
                writer: read.ok().flatten().and_then(|read| read.writer),
            });
        }
        let read = read?;
        if let Some(read) = &read {
            compare(&read.header, header).map_err(|difference| JournalError::OtherStudy {
                path: path.to_owned(),
                difference,
            })?;
        }
        let length = read.as_ref().map_or(0, |read| read.length);
        if length < bytes.len() {
            file.set_len(length as u64).map_err(io)?;
        }
        let mut tail = Tail {
            file,
            length: length as u64,
        };
        let text = |line: serde_json::Result<String>| line.map_err(|error| io(error.into()));
        if length == 0 {
            let line = text(serde_json::to_string(header))?;
            tail.append(&format!("{line}\n")).map_err(io)?;
        }
        let (done, earlier) = read.map_or_else(Default::default, |read| (read.rows, read.writer));
        // The workers of one process are one writer; if nothing is missing, there is none.
        if earlier.as_ref() != Some(writer) && done.len() < header.rows_of_part() {
            let writer = writer.clone();
            let line = text(serde_json::to_string(&WriterLine { writer }))?;
            tail.append(&format!("{line}\n")).map_err(io)?;
        }
        Ok(Self {
            path: path.to_owned(),
            tail: Mutex::new(tail),
            done,
        })
    }

    /// The rows that were there when it was opened.
    #[must_use]
    pub fn done(&self) -> &BTreeMap<usize, RowText> {
        &self.done
    }

    /// Appends a finished row.
    ///
    /// # Errors
    ///
    /// [`JournalError::Io`] or [`JournalError::TakenOver`]; the row is then not in the journal.
    pub fn append(&self, row: usize, cells: &[Cell]) -> Result<(), JournalError> {
        let mut line = format!("{row}");
        for cell in cells {
            line.push(',');
            cell.push_to(&mut line);
        }
        let line = format!("{line},{}\n", checksum(&line));
        let io = |source| JournalError::Io {
            path: self.path.clone(),
            source,
        };
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.is_foreign().map_err(io)? {
            let path = self.path.clone();
            return Err(JournalError::TakenOver { path });
        }
        tail.append(&line).map_err(io)
    }

    /// Makes sure that all rows are stored, also when the computer goes down.
    ///
    /// # Errors
    ///
    /// [`JournalError::Io`].
    pub fn sync(&self) -> Result<(), JournalError> {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.file.sync_data().map_err(|source| JournalError::Io {
            path: self.path.clone(),
            source,
        })
    }
}

/// Whether a process writes the journal; `None` if its file system has no locks.
pub(crate) fn is_being_written(path: &Path) -> Option<bool> {
    match File::open(path).ok()?.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// Locks a file. A process that was killed takes a moment to let go of it.
fn lock(file: &File) -> Result<(), TryLockError> {
    const TIMEOUT: Duration = Duration::from_secs(1);
    const PAUSE: Duration = Duration::from_millis(10);
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if begin.elapsed() < TIMEOUT => {
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

/// Reads a journal. A last line that was not finished does not count.
///
/// # Errors
///
/// [`JournalError`]; a file without a header is damaged.
pub fn read_journal(path: &Path) -> Result<JournalContents, JournalError> {
    let bytes = std::fs::read(path).map_err(|source| JournalError::Io {
        path: path.to_owned(),
        source,
    })?;
    parse(&bytes, path)?.ok_or_else(|| JournalError::Damaged {
        path: path.to_owned(),
        line: 1,
    })
}

/// The content of a journal; `None` if not even the header is whole.
pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Option<JournalContents>, JournalError> {
    let damaged = |line| JournalError::Damaged {
        path: path.to_owned(),
        line,
    };
    if !bytes
        .iter()
        .zip(BEGINNING)
        .all(|(found, byte)| found == byte)
    {
        return Err(damaged(1));
    }
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let whole = |line: &&[u8]| line.ends_with(b"\n");
    let Some(first) = lines.next().filter(whole) else {
        return Ok(None);
    };
    let mut contents = JournalContents {
        header: serde_json::from_slice(first).map_err(|_| damaged(1))?,
        rows: BTreeMap::new(),
        writer: None,
        earlier: 0,
        length: first.len(),
    };
    for (line, number) in lines.take_while(whole).zip(2..) {
        contents.length += line.len();
        if line.starts_with(b"{") {
            let read: WriterLine = serde_json::from_slice(line).map_err(|_| damaged(number))?;
            contents.writer = Some(read.writer);
            contents.earlier = contents.rows.len();
            continue;
        }
        let (row, text) = row(line).ok_or_else(|| damaged(number))?;
        contents.rows.insert(row, text);
    }
    Ok(Some(contents))
}

fn row(line: &[u8]) -> Option<(usize, RowText)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (content, sum) = line.rsplit_once(',')?;
    if checksum(content) != sum {
        return None;
    }
    let (row, cells) = content.split_once(',')?;
    Some((row.parse().ok()?, cells.to_owned()))
}

fn compare(found: &Header, wanted: &Header) -> Result<(), String> {
    if found.gyrator_study_journal != wanted.gyrator_study_journal {
        return Err("it was written by another version of gyrator".to_owned());
    }
    if found.part != wanted.part {
        return Err(format!(
            "it holds part {}, not part {}",
            found.part, wanted.part
        ));
    }
    if found != wanted {
        return Err(
            "the study file, the system file, an FMU or a file that they name has changed"
                .to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(identity: &str) -> Header {
        Header {
            gyrator_study_journal: VERSION,
            identity: serde_json::from_value(identity.into()).unwrap(),
            part: Shard::WHOLE,
            rows: 4,
            columns: Vec::new(),
            rows_of_case: 1,
        }
    }

    fn writer(process: u32) -> Writer {
        Writer {
            study: "study.toml".to_owned(),
            host: "one".to_owned(),
            process,
            begun: 1,
        }
    }

    fn open(path: &Path, identity: &str) -> Result<Journal, JournalError> {
        Journal::open(path, &header(identity), &writer(7))
    }

    #[test]
    fn whatever_is_cut_off_only_the_last_line_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = open(&path, "a").unwrap();
        let cells = [Cell::Real(0.1), Cell::Text("a, \"b\"\nc".to_owned())];
        journal.append(2, &cells).unwrap();
        journal.append(0, &[Cell::Empty, Cell::Integer(7)]).unwrap();
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        let ends: Vec<usize> = (0..whole.len())
            .filter(|end| whole[*end] == b'\n')
            .collect();
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let journal = open(&path, "a").unwrap();
            let lines = ends.iter().filter(|end| **end < length).count();
            assert_eq!(
                journal.done().len(),
                lines.saturating_sub(2),
                "{length} bytes"
            );
            drop(journal);
            let kept = std::fs::read(&path).unwrap();
            assert_eq!(kept, whole[..=ends[lines.max(2) - 1]], "{length} bytes");
        }
        let rows = read_journal(&path).unwrap().rows;
        assert_eq!(rows[&2], "0.1,\"a, \"\"b\"\" c\"");
        assert_eq!(rows[&0], ",7");
    }

    #[test]
    fn other_studies_and_damage_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = open(&path, "a").unwrap();
        journal.append(0, &[Cell::Integer(7)]).unwrap();
        let second = open(&path, "a").unwrap_err();
        let said = "another process (process 7 on one)";
        assert!(second.to_string().contains(said), "{second}");
        drop(journal);
        let other = open(&path, "b").unwrap_err();
        assert!(other.to_string().contains("has changed"), "{other}");
        let text = std::fs::read_to_string(&path)
            .unwrap()
            .replace(",7,", ",8,");
        std::fs::write(&path, text).unwrap();
        let damaged = open(&path, "a").unwrap_err();
        assert!(damaged.to_string().contains(":3: "), "{damaged}");
        std::fs::write(&path, "a letter").unwrap();
        let foreign = open(&path, "a").unwrap_err();
        assert!(foreign.to_string().contains(":1: "), "{foreign}");
        assert_eq!(std::fs::read(&path).unwrap(), b"a letter");
    }

    /// If locks do not work, as between two hosts, the later writer wins, and no line of either is cut.
    #[test]
    fn a_writer_ends_when_another_one_has_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let first = open(&path, "a").unwrap();
        first.append(0, &[Cell::Integer(7)]).unwrap();
        first.tail.lock().unwrap().file.unlock().unwrap();
        let second = Journal::open(&path, &header("a"), &writer(8)).unwrap();
        assert_eq!(second.done().len(), 1);
        second.append(1, &[Cell::Integer(8)]).unwrap();
        let late = first.append(2, &[Cell::Integer(9)]).unwrap_err();
        assert!(matches!(late, JournalError::TakenOver { .. }), "{late}");
        let read = read_journal(&path).unwrap();
        assert_eq!((read.rows.len(), read.earlier), (2, 1));
        assert_eq!(read.writer, Some(writer(8)));
    }

    #[test]
    fn every_row_belongs_to_one_part() {
        for (rows, rows_of_case, count) in [(24, 3, 5), (3, 1, 8), (8, 1, 8), (0, 1, 2)] {
            let of_part = |index| Header {
                part: Shard { index, count },
                rows,
                rows_of_case,
                ..header("a")
            };
            let parts = (1..=count).map(|index| of_part(index).rows_of_part());
            assert_eq!(parts.sum::<usize>(), rows, "{rows} rows of {count} parts");
        }
        let whole = Shard::WHOLE;
        assert_eq!(header("a").part, whole);
        assert_eq!(header("a").rows_of_part(), 4);
    }
}
