//! When a process makes no further run of a study, because another one continues.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::crashed_run::{FailedRun, Trial};
use crate::options::Options;
use crate::tally::{HOST_LOST, INVALID};
use crate::trial::TrialOutcome;

/// Runs that a process leaves to others before it ends. Each of them costs a process. With few of them, a process that
/// has no descriptors any more ends soon, and one with cases that fail by themselves makes the cases between them.
const MOST_SUSPECTS: usize = 10;

/// What a process still does.
pub(crate) struct Renewal<'a> {
    is_worn: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// The process makes one row, so that nothing has been used up.
    is_fresh: bool,
    /// Messages that are believed.
    trusted: &'a BTreeSet<String>,
    is_due: AtomicBool,
    failed: Mutex<Vec<FailedRun>>,
}

/// No other process can continue.
pub(crate) struct NoSuccessor;

impl<'a> Renewal<'a> {
    pub(crate) fn of(options: &Options<'a>) -> Self {
        Self {
            is_worn: options.is_worn,
            is_fresh: options.only.is_some(),
            trusted: options.trusted,
            is_due: AtomicBool::new(false),
            failed: Mutex::default(),
        }
    }

    /// Whether another process is to continue.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Relaxed)
    }

    /// Looks at the process. To be called after a row, so that each process makes some.
    pub(crate) fn look(&self) {
        if self.is_worn.is_some_and(|is_worn| is_worn()) {
            self.is_due.store(true, Ordering::Relaxed);
        }
    }

    /// Lets another process continue.
    pub(crate) fn end(&self) -> Result<(), NoSuccessor> {
        self.is_due.store(true, Ordering::Relaxed);
        self.is_worn.map(drop).ok_or(NoSuccessor)
    }

    /// Takes a run that did not start, if that may be for what earlier runs have used up.
    pub(crate) fn takes(&self, trial: Trial, outcome: &TrialOutcome) -> bool {
        if self.is_worn.is_none() || !is_doubtful(outcome) {
            return false;
        }
        let is_lacking = outcome.stop_reason == HOST_LOST;
        if !self.is_fresh && !is_lacking && self.trusted.contains(&outcome.message) {
            return false;
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let message = outcome.message.clone();
        failed.push(FailedRun { trial, message });
        if failed.len() >= MOST_SUSPECTS {
            self.is_due.store(true, Ordering::Relaxed);
        }
        !self.is_fresh
    }

    /// The runs that did not start. They were taken, unless the process makes one row.
    pub(crate) fn into_failed(self) -> Vec<FailedRun> {
        let failed = self.failed.into_inner();
        failed.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a run has failed at its start, or because something was missing that another process may find.
fn is_doubtful(outcome: &TrialOutcome) -> bool {
    match outcome.stop_reason {
        HOST_LOST => true,
        // A file that was not found, or not opened.
        INVALID => outcome.message.contains("(os error "),
        _ => outcome.reached.is_none(),
    }
}
