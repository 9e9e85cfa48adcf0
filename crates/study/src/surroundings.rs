//! What runs find around them: the working directory.

use std::io;
use std::path::PathBuf;

use crate::crashed_run::Trial;

/// Gives each run a working directory, and says what FMUs do to files.
pub trait Surroundings: Sync {
    /// Called on the thread that makes a run, before it loads FMUs.
    ///
    /// # Errors
    ///
    /// If the run cannot have a directory. It is then not made.
    fn enter(&self, run: Trial) -> io::Result<()>;

    /// Called on the same thread when the instances of the run are gone.
    fn leave(&self);

    /// Called when runs have written files that they were not given for that, with their names.
    fn tell(&self, subject: Subject, names: &[String]);
}

/// The place of files that were written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Among the unpacked files of this FMU, which are put back after each run.
    Fmu(PathBuf),
    /// In the working directory of a run.
    WorkingDirectory,
}

/// Leaves what it finds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unchanged;

impl Surroundings for Unchanged {
    fn enter(&self, _run: Trial) -> io::Result<()> {
        Ok(())
    }

    fn leave(&self) {}

    fn tell(&self, _subject: Subject, _names: &[String]) {}
}

/// The surroundings of a run, until this is dropped.
pub(crate) struct Inside<'a>(&'a dyn Surroundings);

impl<'a> Inside<'a> {
    pub(crate) fn of(surroundings: &'a dyn Surroundings, run: Trial) -> io::Result<Self> {
        surroundings.enter(run)?;
        Ok(Self(surroundings))
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}
