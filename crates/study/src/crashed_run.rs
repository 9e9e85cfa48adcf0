//! Runs that ended the process: how the next process identifies and records them.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A run of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Trial {
    /// A row, by its place in the table.
    pub row: usize,
    /// Whether it is not the run of that row, but the one that the row is measured against.
    pub is_reference: bool,
}

/// A run that has ended its process, or that did not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    /// The run.
    pub trial: Trial,
    /// How the process ended, or why the run did not start.
    pub message: String,
}

/// The runs that are in progress, kept in a file that another process can read when this one has ended. A thread has a slot of eight bytes: 0, or the run.
#[derive(Debug)]
pub struct RunsInProgress(Mutex<File>);

/// Bytes of a slot.
const SLOT: usize = 8;

impl RunsInProgress {
    /// Kept in this file, which is empty.
    #[must_use]
    pub const fn new(file: File) -> Self {
        Self(Mutex::new(file))
    }

    /// Records the run that a thread is about to make; `None` once the run is made.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub(crate) fn set(&self, thread: usize, trial: Option<Trial>) -> io::Result<()> {
        let code = |trial: Trial| 1 + 2 * trial.row as u64 + u64::from(trial.is_reference);
        let slot = trial.map_or(0, code).to_le_bytes();
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start((thread * SLOT) as u64))?;
        file.write_all(&slot)
    }

    /// The runs that were in progress, each once.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn read(mut file: &File) -> io::Result<Vec<Trial>> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        let (slots, _) = bytes.as_chunks::<SLOT>();
        let codes = slots
            .iter()
            .filter_map(|slot| u64::from_le_bytes(*slot).checked_sub(1));
        let mut trials: Vec<Trial> = codes
            .map(|code| Trial {
                row: (code / 2) as usize,
                is_reference: code % 2 == 1,
            })
            .collect();
        trials.sort_unstable();
        trials.dedup();
        Ok(trials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_progress_is_read_again() {
        let file = tempfile::tempfile().unwrap();
        let in_progress = RunsInProgress::new(file.try_clone().unwrap());
        let trial = |row, is_reference| Trial { row, is_reference };
        assert_eq!(RunsInProgress::read(&file).unwrap(), []);
        in_progress.set(3, Some(trial(0, false))).unwrap();
        in_progress.set(0, Some(trial(7, true))).unwrap();
        in_progress.set(1, Some(trial(7, true))).unwrap();
        in_progress.set(2, Some(trial(9, false))).unwrap();
        in_progress.set(2, None).unwrap();
        assert_eq!(
            RunsInProgress::read(&file).unwrap(),
            [trial(0, false), trial(7, true)]
        );
    }
}
