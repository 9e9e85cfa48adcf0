//! Working directories of the runs of a study: each run has its own, so that FMUs that write files there do not find files of
//! other runs.
//!
//! `unshare(CLONE_FS)` gives a thread its own working directory without a right that users lack; overlays and private
//! mounts would need user namespaces, which many systems forbid. Files are unpacked once a thread, not once a run,
//! since unpacking takes longer than most runs. After a run, names, sizes and times tell what has changed. Unpacked
//! files have the times of the archive, because the clock of a file system moves in steps of some milliseconds,
//! longer than a short run.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use gyrator_fmu::leftovers::OwnDirectory;
use gyrator_study::{Subject, Surroundings, Trial};
use gyrator_worker::surroundings;

use crate::numbers::some;
use crate::screen;

/// The working directories of runs.
pub(crate) struct StudyDirectories {
    /// Where those that are not empty stay, by their rows.
    kept: Option<PathBuf>,
    /// Runs are made one at a time.
    is_alone: bool,
    /// Where those lie that do not stay.
    passing: OnceLock<OwnDirectory>,
    /// What the user was told.
    told: Mutex<BTreeSet<String>>,
}

thread_local! {
    /// Whether this thread has left the working directory of the process.
    static IS_APART: Cell<bool> = const { Cell::new(false) };
    /// The directory of the run that this thread makes.
    static OF_RUN: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
    /// One of a run before, which nothing was written to.
    static EMPTY: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

impl StudyDirectories {
    /// Of runs that are made one at a time, or not; directories that are not empty stay in `kept`. The user was told `told` before.
    pub(crate) fn new(kept: Option<PathBuf>, is_alone: bool, told: BTreeSet<String>) -> Self {
        Self {
            kept,
            is_alone,
            passing: OnceLock::new(),
            told: Mutex::new(told),
        }
    }

    /// What the user was told.
    pub(crate) fn told(&self) -> BTreeSet<String> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.clone()
    }

    fn say_once(&self, key: &str, text: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(key.to_owned()) {
            screen::message(&format!("{}\n", screen::harmless(text)));
        }
    }

    /// Whether this thread may change its working directory without changing it for other runs.
    fn is_apart(&self) -> bool {
        if IS_APART.get() {
            return true;
        }
        match surroundings::part() {
            Ok(()) => IS_APART.set(true),
            Err(_) if self.is_alone => {}
            Err(error) => {
                let text = format!(
                    "warning: runs share a working directory, because this system allows threads none of their own: \
                     {error}; if FMUs write files there, use --worker-threads 1"
                );
                self.say_once("shared", &text);
                return false;
            }
        }
        true
    }

    /// A new directory for a run.
    fn make(&self, run: Trial) -> io::Result<PathBuf> {
        let Some(kept) = &self.kept else {
            let passing = match self.passing.get() {
                Some(passing) => passing,
                None => {
                    let new = OwnDirectory::new()?;
                    self.passing.get_or_init(|| new)
                }
            };
            return Ok(tempfile::tempdir_in(passing.path())?.keep());
        };
        std::fs::create_dir_all(kept)?;
        let name = match run.is_reference {
            true => format!("{}-reference", run.row + 1),
            false => (run.row + 1).to_string(),
        };
        // A run may be made again, and has companions if its error is estimated.
        let others = (2..).map(|number| format!("{name}-{number}"));
        for name in std::iter::once(name.clone()).chain(others) {
            let directory = kept.join(name);
            match std::fs::create_dir(&directory) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| directory),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Surroundings for StudyDirectories {
    fn enter(&self, run: Trial) -> io::Result<()> {
        if !self.is_apart() {
            return Ok(());
        }
        let empty = EMPTY.take().filter(|directory| directory.is_dir());
        let directory = empty.map_or_else(|| self.make(run), Ok)?;
        surroundings::enter(&directory)?;
        OF_RUN.set(Some(directory));
        Ok(())
    }

    fn leave(&self) {
        let Some(directory) = OF_RUN.take() else {
            return;
        };
        // The next run reports that it cannot begin.
        let _ = surroundings::go_back();
        if self.kept.is_some() {
            // It stays if it is not empty.
            let _ = std::fs::remove_dir(&directory);
            return;
        }
        let names = names_in(&directory);
        if names.is_empty() {
            EMPTY.set(Some(directory));
            return;
        }
        self.tell(Subject::WorkingDirectory, &names);
        let _ = std::fs::remove_dir_all(&directory);
    }

    fn tell(&self, subject: Subject, names: &[String]) {
        let (key, text) = match subject {
            Subject::Fmu(fmu) => {
                let fmu = fmu.display().to_string();
                let text = format!(
                    "note: {fmu} writes among its own files ({}): gyrator puts them back after each run, so that no run finds \
                     what another one has written",
                    some(names)
                );
                (fmu, text)
            }
            Subject::WorkingDirectory => {
                let text = format!(
                    "note: FMUs write files to the working directory ({}): each run has its own, which is removed after it; \
                     keep them with --keep-run-directories",
                    some(names)
                );
                ("working directory".to_owned(), text)
            }
        };
        self.say_once(&key, &text);
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}
