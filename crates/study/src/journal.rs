//! The rows of a study that are finished, on disk as soon as they are.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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
}

/// The form that this program writes.
pub(crate) const VERSION: u32 = 1;

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
        "the journal {} is being written by another process: wait for it, or choose another output file",
        path.display()
    )]
    InUse {
        /// The path as it was given.
        path: PathBuf,
    },
    /// It belongs to another study, or to the study as it was before a change.
    #[error(
        "the journal {} belongs to another study: {difference}; remove it to start anew, or choose another output file",
        path.display()
    )]
    OtherStudy {
        /// The path as it was given.
        path: PathBuf,
        /// The difference.
        difference: String,
    },
    /// A line within it is damaged.
    #[error("{}:{line}: this is no line of a journal", path.display())]
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

/// Where the next line goes.
#[derive(Debug)]
struct Tail {
    file: File,
    /// Bytes of whole lines.
    length: u64,
}

impl Tail {
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
    /// Opens a journal, or begins one. The rest of an unfinished line is removed.
    ///
    /// # Errors
    ///
    /// [`JournalError`], also where the journal belongs to another study.
    pub fn open(path: &Path, header: &Header) -> Result<Self, JournalError> {
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
        match lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::InUse {
                    path: path.to_owned(),
                });
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let read = parse(&bytes, path)?;
        let (done, length) = match read {
            Some((found, done, length)) => {
                compare(&found, header).map_err(|difference| JournalError::OtherStudy {
                    path: path.to_owned(),
                    difference,
                })?;
                (done, length)
            }
            None => (BTreeMap::new(), 0),
        };
        if length < bytes.len() {
            file.set_len(length as u64).map_err(io)?;
        }
        let mut tail = Tail {
            file,
            length: length as u64,
        };
        if length == 0 {
            let line = serde_json::to_string(header).map_err(|error| io(error.into()))?;
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
    /// [`JournalError::Io`]; the row is then not in the journal.
    pub fn append(&self, row: usize, cells: &[Cell]) -> Result<(), JournalError> {
        let mut line = format!("{row}");
        for cell in cells {
            line.push(',');
            cell.push_to(&mut line);
        }
        let line = format!("{line},{}\n", checksum(&line));
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.append(&line).map_err(|source| JournalError::Io {
            path: self.path.clone(),
            source,
        })
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

/// Locks a file. A process that was killed takes a moment to let go of it.
fn lock(file: &File) -> Result<(), TryLockError> {
    const PATIENCE: Duration = Duration::from_secs(1);
    const PAUSE: Duration = Duration::from_millis(10);
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => {
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

/// Reads a journal: its header and its rows by their place in the table. A last line that was not
/// finished does not count.
///
/// # Errors
///
/// [`JournalError`]; a file without a header is damaged.
pub fn read_journal(path: &Path) -> Result<(Header, BTreeMap<usize, RowText>), JournalError> {
    let bytes = std::fs::read(path).map_err(|source| JournalError::Io {
        path: path.to_owned(),
        source,
    })?;
    match parse(&bytes, path)? {
        Some((header, rows, _)) => Ok((header, rows)),
        None => Err(JournalError::Damaged {
            path: path.to_owned(),
            line: 1,
        }),
    }
}

type Parsed = (Header, BTreeMap<usize, RowText>, usize);

/// The header, the rows and the bytes until the end of the last whole line; `None` where not even
/// the header is whole.
fn parse(bytes: &[u8], path: &Path) -> Result<Option<Parsed>, JournalError> {
    let damaged = |line| JournalError::Damaged {
        path: path.to_owned(),
        line,
    };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let whole = |line: &&[u8]| line.ends_with(b"\n");
    let Some(first) = lines.next().filter(whole) else {
        return Ok(None);
    };
    let header: Header = serde_json::from_slice(first).map_err(|_| damaged(1))?;
    let (mut rows, mut length) = (BTreeMap::new(), first.len());
    for (line, number) in lines.take_while(whole).zip(2..) {
        length += line.len();
        let (row, text) = row(line).ok_or_else(|| damaged(number))?;
        rows.insert(row, text);
    }
    Ok(Some((header, rows, length)))
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
            rows: 3,
            columns: Vec::new(),
        }
    }

    #[test]
    fn whatever_is_cut_off_only_the_last_line_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::open(&path, &header("a")).unwrap();
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
            let journal = Journal::open(&path, &header("a")).unwrap();
            let lines = ends.iter().filter(|end| **end < length).count();
            assert_eq!(
                journal.done().len(),
                lines.saturating_sub(1),
                "{length} bytes"
            );
            drop(journal);
            let kept = std::fs::read(&path).unwrap();
            assert_eq!(kept, whole[..=ends[lines.max(1) - 1]], "{length} bytes");
        }
        let (_, rows) = read_journal(&path).unwrap();
        assert_eq!(rows[&2], "0.1,\"a, \"\"b\"\" c\"");
        assert_eq!(rows[&0], ",7");
    }

    #[test]
    fn other_studies_and_damage_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::open(&path, &header("a")).unwrap();
        journal.append(0, &[Cell::Integer(7)]).unwrap();
        let second = Journal::open(&path, &header("a")).unwrap_err();
        assert!(second.to_string().contains("another process"), "{second}");
        drop(journal);
        let other = Journal::open(&path, &header("b")).unwrap_err();
        assert!(other.to_string().contains("has changed"), "{other}");
        let text = std::fs::read_to_string(&path)
            .unwrap()
            .replace(",7,", ",8,");
        std::fs::write(&path, text).unwrap();
        let damaged = Journal::open(&path, &header("a")).unwrap_err();
        assert!(damaged.to_string().contains(":2: "), "{damaged}");
    }
}
