//! Why a study cannot be run.

use std::path::PathBuf;

use gyrator::StartError;
use gyrator::error::StateFileError;

use crate::journal::JournalError;

/// Why a study cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A file that the study depends on cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The first system of the list that can be described lacks a variable that the study measures.
    #[error("[metrics]: {0}")]
    Metric(String),
    /// The FMUs of the system cannot be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The saved state from which the runs should continue cannot be used.
    #[error(transparent)]
    State(#[from] StateFileError),
    /// The reference file cannot be used.
    #[error("reference: {0}")]
    Reference(String),
    /// No case is left.
    #[error("the study has no cases: look at [[vary]] and `require`")]
    NoCases,
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A machine that runs components is lost or cannot be reached, or this one lacks descriptors, memory or room on a
    /// disk; the rows until then are kept.
    #[error("{0}")]
    HostLost(String),
    /// The threads could not be started.
    #[error("{0} threads could not be started: {1}")]
    Threads(usize, String),
    /// It cannot be noted which runs are in progress.
    #[error("cannot note which runs are in progress: {0}")]
    InProgress(#[source] std::io::Error),
}
