//! Studies in processes of their own, so that an FMU that crashes, hangs or leaves ends its run only.
//!
//! A worker makes the runs, and records which of them are in progress. When it dies, each of these is
//! made again in a worker of its own. A run whose worker dies again is lost; its row says why. All
//! others go on in a new worker. So every death but a few ends a run, and the study ends.

use std::path::Path;
use std::time::{Duration, Instant};

use gyrator_study::{CrashedRun, RunsInProgress, Trial, Writer, read_journal};
use gyrator_worker::{
    Cause, Death, Stop, Supervised, Supervisor, Worker, WorkerEnd, WorkerOutcome, signals,
};
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::live::{self, LiveOptions, StudyPage};
use crate::screen;
use crate::supervision::{advice, listen};

/// How often in a row a worker may die while it makes no run.
const IDLE_DEATHS: u32 = 3;

/// Job of a worker.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Rows that were finished before the first worker.
    pub(crate) earlier: usize,
    /// The process that has started all workers; the worker itself where `None`.
    pub(crate) writer: Option<Writer>,
    /// Time since the first worker began, s.
    pub(crate) seconds: f64,
    /// Runs whose workers have died.
    pub(crate) lost: Vec<CrashedRun>,
    /// The row that this worker makes; all where `None`.
    pub(crate) only: Option<usize>,
}

/// Facts of a study that its parent needs.
pub(crate) struct Plan<'a> {
    /// The study file.
    pub(crate) study: &'a Path,
    /// The page on which it is seen.
    pub(crate) live: &'a LiveOptions,
    pub(crate) journal: &'a Path,
    /// Longest time that a call may take.
    pub(crate) timeout: Option<Duration>,
}

/// How a worker ended.
enum End {
    Finished(Exit),
    /// With the runs that were in progress.
    Died(Death, Vec<Trial>),
}

impl Job {
    /// The job of a worker.
    ///
    /// # Errors
    ///
    /// If its parent has given something else to do.
    pub(crate) fn of_worker(worker: &Worker) -> serde_json::Result<Self> {
        serde_json::from_slice(worker.job())
    }
}

impl Plan<'_> {
    /// Makes the study in workers; `None` if there can be none.
    pub(crate) fn carry_out(&self) -> Option<Result<Exit, Failure>> {
        let begin = Instant::now();
        let mut job = Job {
            // A journal that cannot be read is the worker's to complain of.
            earlier: read_journal(self.journal).map_or(0, |journal| journal.rows.len()),
            writer: Some(Writer::this_process(self.study)),
            ..Job::default()
        };
        let listener = match self.live.listen() {
            Ok(listener) => listener,
            Err(failure) => return Some(Err(failure)),
        };
        let held = signals::hold();
        let first = match self.start(&job) {
            Ok(first) => first,
            Err(failure) => {
                let text = format!("warning: the study has no supervisor: {failure}\n");
                screen::message(&text);
                return None;
            }
        };
        let stop = Stop::default();
        listen(&stop);
        drop(held);
        let serve = |at| StudyPage::serve(at, self.study, self.journal, live::request(&stop));
        let _page = listener.and_then(serve);
        Some(self.go_on(first, &mut job, begin, &stop))
    }

    fn go_on(
        &self,
        first: Supervised,
        job: &mut Job,
        begin: Instant,
        stop: &Stop,
    ) -> Result<Exit, Failure> {
        let mut worker = first;
        let mut idle_deaths = 0;
        loop {
            let (death, trials) = match wait(worker, stop)? {
                End::Finished(exit) => return Ok(exit),
                End::Died(death, trials) => (death, trials),
            };
            idle_deaths = match trials.is_empty() {
                true => idle_deaths + 1,
                false => 0,
            };
            if idle_deaths == IDLE_DEATHS {
                return Err(failure(&death));
            }
            for trial in trials {
                job.only = Some(trial.row);
                job.seconds = begin.elapsed().as_secs_f64();
                match wait(self.start(job)?, stop)? {
                    End::Finished(Exit::Success) => {}
                    End::Finished(exit) => return Ok(exit),
                    End::Died(death, trials) => job.lost.push(CrashedRun {
                        trial: trials.first().copied().unwrap_or(trial),
                        message: death.to_string(),
                    }),
                }
            }
            job.only = None;
            job.seconds = begin.elapsed().as_secs_f64();
            worker = self.start(job)?;
        }
    }

    fn start(&self, job: &Job) -> std::io::Result<Supervised> {
        Supervisor::new()
            .arguments(std::env::args_os().skip(1))
            .job(&serde_json::to_vec(job)?)
            .timeout(self.timeout)
            .start()
    }
}

/// Waits for the end of a worker.
///
/// # Errors
///
/// If no FMU ended it, but the user or an error of this program.
fn wait(worker: Supervised, stop: &Stop) -> Result<End, Failure> {
    let WorkerEnd {
        outcome,
        warnings,
        for_parent,
        ..
    } = worker.wait(stop)?;
    for warning in warnings {
        screen::message(&format!("warning: {warning}\n"));
    }
    match outcome {
        WorkerOutcome::Finished(code) => Ok(End::Finished(Exit::of(code))),
        WorkerOutcome::Died(death) if matches!(death.cause, Cause::Interrupted | Cause::Panic) => {
            Err(failure(&death))
        }
        WorkerOutcome::Died(death) => Ok(End::Died(death, RunsInProgress::read(&for_parent)?)),
    }
}

fn failure(death: &Death) -> Failure {
    let failure = Failure::of(Exit::after(&death.cause), &death)
        .detail("finished rows are kept; run the same command again to continue");
    failure.advised(advice(&death.cause))
}
