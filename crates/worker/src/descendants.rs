//! All processes that a run has started, however they have left it: an FMU may start programs that
//! begin a session of their own, and whose parents have ended.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use gyrator_fmu::leftovers;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

use crate::process::WorkerProcess;

/// Workers that are watched at this moment.
static WORKERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// How often children are ended whose own children then come up: more than anything but a program
/// that starts programs without end.
const ROUNDS: usize = 100;

/// Makes processes whose parents have ended children of this process, so that [`end_orphans`] finds
/// the orphans of a run. For programs whose children are all started by runs.
///
/// # Errors
/// Errors of the operating system.
pub fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    ADOPTS.store(true, Ordering::Relaxed);
    Ok(())
}

/// Leaves orphans to the parent, in a copy of a process that adopts them.
pub(crate) fn adopt_none() {
    // The system does not pass it on to copies.
    ADOPTS.store(false, Ordering::Relaxed);
}

/// Ends the children of this process that are not workers of a run, and what they have started, after
/// [`adopt_orphans`]; removes the directories of FMUs that they have unpacked.
pub fn end_orphans() {
    if !ADOPTS.load(Ordering::Relaxed) {
        return;
    }
    for _ in 0..ROUNDS {
        let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(rustix::process::waitid(WaitId::All, any), Err(Errno::CHILD)) {
            // There are none, which takes less time than to list them.
            return;
        }
        let workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
        let orphans = children_of(std::process::id()).into_iter();
        let orphans: Vec<u32> = orphans.filter(|child| !workers.contains(child)).collect();
        drop(workers);
        if orphans.is_empty() {
            return;
        }
        for orphan in orphans {
            let Some(process) = Pid::from_raw(orphan.cast_signed()) else {
                continue;
            };
            // A copy of a worker that has ended holds what that had unpacked.
            let held = leftovers::held_by(orphan);
            // It may have ended by itself.
            let _ = rustix::process::kill_process(process, Signal::KILL);
            let _ = rustix::process::waitpid(Some(process), WaitOptions::empty());
            leftovers::remove_of(orphan);
            leftovers::remove_unused(&held);
        }
    }
}

/// A worker that is watched, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Watched(u32);

impl Watched {
    /// Starts a worker, which no other thread takes for an orphan meanwhile.
    pub(crate) fn spawn<T>(
        start: impl FnOnce() -> io::Result<(WorkerProcess, T)>,
    ) -> io::Result<(WorkerProcess, T, Self)> {
        let mut workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
        let (process, more) = start()?;
        workers.insert(process.id());
        let watched = Self(process.id());
        Ok((process, more, watched))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
        workers.remove(&self.0);
    }
}

/// Children, their children, and so on.
pub(crate) fn descendants_of(process: u32) -> Vec<u32> {
    let mut found = children_of(process);
    let mut index = 0;
    while let Some(next) = found.get(index) {
        let more = children_of(*next);
        found.extend(more);
        index += 1;
    }
    found
}

/// Processes that any thread of this one has started; none if the system does not list them.
fn children_of(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let children = |thread: &Path| std::fs::read_to_string(thread.join("children"));
    let texts = threads.filter_map(|thread| children(&thread.path()).ok());
    let numbers = texts.flat_map(|text| {
        let numbers = text.split_whitespace().map(str::parse::<u32>);
        numbers.flatten().collect::<Vec<_>>()
    });
    numbers.collect()
}
