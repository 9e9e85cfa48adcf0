//! How a study is run: the caller of [`run`](crate::run) fills it in, and no row depends on it.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::cases::Shard;
use crate::crashed_run::{FailedRun, RunsInProgress};
use crate::surroundings::Surroundings;
use crate::trial::MakeUnits;

/// How a study is run; none of it changes a row.
pub struct Options<'a> {
    /// The part of the list to be run.
    pub part: Shard,
    /// Runs that are made at the same time; one is made in the calling thread.
    pub threads: NonZeroUsize,
    /// Ends the study once it is true; runs in progress have no rows then.
    pub interrupt: Arc<AtomicBool>,
    /// Longest time of a step that an FMU makes in the background (`fmi2Pending`), in this process;
    /// `None` is for ever.
    pub pending_timeout: Option<Duration>,
    /// Components whose FMUs get processes of their own, if `maker` offers them.
    pub isolated: Vec<String>,
    /// Runs that have ended an earlier process: they are not made, and their rows say so.
    pub lost: &'a [FailedRun],
    /// The row that is to be made; all if `None`.
    pub only: Option<usize>,
    /// Notes of runs while they are in progress.
    pub in_progress: Option<&'a RunsInProgress>,
    /// Whether this process has made enough runs and another one should continue; asked after each row. `None` without
    /// another process.
    pub is_worn: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// Messages of runs that do not start which are also believed in a process that has made others.
    pub trusted: &'a BTreeSet<String>,
    /// What runs find around them.
    pub surroundings: &'a dyn Surroundings,
    /// Maker of the units of each run; [`gyrator::unit::InProcess`] makes them in this process.
    pub maker: &'a MakeUnits<'a>,
}
