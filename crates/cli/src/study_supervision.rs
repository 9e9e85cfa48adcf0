//! Studies in processes of their own, so that an FMU that crashes, hangs or leaves ends its run only.
//!
//! A worker makes the runs, and records which of them are in progress. When it dies, each of these is
//! made again in a worker of its own. A run whose worker dies again is lost; its row says why. All
//! others go on in a new worker. So every death but a few ends a run, and the study ends.
//!
//! A library that was loaded stays, and FMUs keep memory, open files and thread-local keys. So a worker that has loaded
//! many, or has grown, hands over to a new one. A run that does not start in a worker that has made others is made again in
//! a worker of its own as well.
//!
//! Runs on several threads share a process, and any of them may have ended it. A process a run would show which, but
//! takes ten times as long as a short run. So the worker notes in a file in memory what each thread is about to do,
//! and only after a death are these few runs made alone. The row of a crash is then the same whatever was in progress
//! beside it.
//!
//! A worker makes 100 instances, and its successor continues with the journal. Nothing shows how much an FMU has left
//! in a process, and an FMU without a thread-local key may give wrong values without a word. A run that fails at its
//! start in a used worker says nothing about its case, so it is made again alone. If all cases failed, that would
//! take a process for each: a message that three cases have given alone is believed; one that a case has not given
//! alone is never believed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use gyrator_fmu::loaded_copies;
use gyrator_fmu::memory::resident_bytes;
use gyrator_study::{FailedRun, RunsInProgress, Trial, Writer, read_journal};
use gyrator_worker::{
    Cause, Death, Stop, Supervised, Supervisor, Worker, WorkerEnd, WorkerOutcome, signals,
};
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::live::{self, LiveOptions, StudyPage};
use crate::screen;
use crate::supervision::{advice, listen};

/// How often in a row a worker may end while it makes no run.
const IDLE_ENDS: u32 = 3;

/// Job of a worker.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Rows that were finished before the first worker.
    pub(crate) earlier: usize,
    /// The process that has started all workers; the worker itself if `None`.
    pub(crate) writer: Option<Writer>,
    /// Time since the first worker began, s.
    pub(crate) seconds: f64,
    /// Runs whose workers have died.
    pub(crate) lost: Vec<FailedRun>,
    /// The row that this worker makes; all if `None`.
    pub(crate) only: Option<usize>,
    /// Runs of workers before that made no row of their own.
    pub(crate) extra_runs: usize,
    /// What the user was told.
    pub(crate) told: BTreeSet<String>,
    /// What was found of runs that do not start.
    pub(crate) trust: Trust,
}

/// Cases with one message whose runs do not start in a worker of their own, either, before the message is believed
/// in workers that have also made others: each such case takes a process.
const ENOUGH_CASES: u32 = 3;

/// Messages of runs that do not start.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Trust {
    /// Messages that are believed.
    pub(crate) believed: BTreeSet<String>,
    /// Messages that workers of their own have given as well, and how often.
    repeated: BTreeMap<String, u32>,
    /// Messages that they have not given.
    refuted: BTreeSet<String>,
}

impl Trust {
    /// Notes what a run that did not start, with this message, has come to in a worker of its own.
    fn judge(&mut self, message: &str, failed: &[FailedRun]) {
        if failed.iter().all(|failed| failed.message != message) {
            self.believed.remove(message);
            self.refuted.insert(message.to_owned());
        } else if !self.refuted.contains(message) {
            let times = self.repeated.entry(message.to_owned()).or_default();
            *times += 1;
            if *times >= ENOUGH_CASES {
                self.believed.insert(message.to_owned());
            }
        }
    }
}

/// Libraries that a worker loads before it hands over. The more there are, the longer the next one takes.
const MOST_COPIES: usize = 100;

/// Runs that a thread makes at least before its worker hands over: all threads wait for the last one then.
const LEAST_RUNS: usize = 2;

/// Growth of a worker, bytes, after which it hands over.
const MOST_GROWTH: u64 = 256 << 20;

/// How much a worker has used up.
pub(crate) struct Wear {
    /// Resident bytes at which it has grown enough; `None` if the system does not tell them.
    most_resident: Option<u64>,
    most_copies: usize,
}

impl Wear {
    /// Of a worker that begins now, makes so many runs of so many components at the same time, and may use so many bytes.
    /// It hands over in time, with half of the bytes that are left.
    pub(crate) fn new(threads: usize, components: usize, memory_limit: Option<u64>) -> Self {
        let most_resident = resident_bytes().map(|now| {
            let left = memory_limit.map(|limit| limit.saturating_sub(now) / 2);
            now + left.map_or(MOST_GROWTH, |left| left.min(MOST_GROWTH))
        });
        Self {
            most_resident,
            most_copies: MOST_COPIES.max(LEAST_RUNS * threads * components),
        }
    }

    /// Whether it should hand over.
    pub(crate) fn is_worn(&self) -> bool {
        loaded_copies() >= self.most_copies
            || self
                .most_resident
                .zip(resident_bytes())
                .is_some_and(|(most, now)| now >= most)
    }
}

/// What a worker leaves to the next one, instead of its runs in progress.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Handover {
    /// Runs that did not start; other workers make them, each one, unless this one has made one row.
    pub(crate) failed: Vec<FailedRun>,
    /// Rows that it has made.
    pub(crate) new: usize,
    /// Runs that made no row of their own, with the runs of workers before.
    pub(crate) extra_runs: usize,
    /// What the user was told.
    pub(crate) told: BTreeSet<String>,
}

impl Handover {
    /// Leaves it to the parent.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(crate) fn write(&self, mut file: &File) -> io::Result<()> {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&serde_json::to_vec(self)?)
    }

    /// Reads what a worker has left; `None` if it has come to the end of the study.
    fn read(mut file: &File) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        // Slots of runs in progress are empty by now.
        Ok(serde_json::from_slice(&bytes).ok())
    }
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
    /// Most memory that a worker may use, bytes.
    pub(crate) memory_limit: Option<u64>,
}

/// How a worker ended.
enum End {
    Finished(Exit),
    /// Rows are left for the next one.
    HandedOver(Handover),
    /// With the runs that were in progress.
    Died(Death, Vec<Trial>),
}

impl Job {
    /// Notes what a worker has left.
    fn take(&mut self, handover: &Handover) {
        self.extra_runs = handover.extra_runs;
        handover.told.clone_into(&mut self.told);
    }

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
        let mut idle_ends = 0;
        loop {
            let (mut doubts, mut idle) = (Vec::new(), without_progress());
            let (mut has_advanced, trials) = match wait(worker, stop)? {
                End::Finished(exit) => return Ok(exit),
                End::HandedOver(handover) => {
                    job.take(&handover);
                    doubts = handover.failed;
                    let trials = doubts.iter().map(|failed| failed.trial).collect();
                    (handover.new > 0, trials)
                }
                End::Died(death, trials) => {
                    idle = failure(&death);
                    (false, trials)
                }
            };
            for trial in trials {
                job.only = Some(trial.row);
                job.seconds = begin.elapsed().as_secs_f64();
                match wait(self.start(job)?, stop)? {
                    End::HandedOver(handover) => {
                        has_advanced |= handover.new > 0;
                        job.take(&handover);
                        let doubt = doubts.iter().find(|failed| failed.trial == trial);
                        if let Some(FailedRun { message, .. }) = doubt {
                            job.trust.judge(message, &handover.failed);
                        }
                    }
                    End::Finished(exit) => return Ok(exit),
                    End::Died(death, trials) => {
                        has_advanced = true;
                        job.lost.push(FailedRun {
                            trial: trials.first().copied().unwrap_or(trial),
                            message: death.to_string(),
                        });
                    }
                }
            }
            idle_ends = if has_advanced { 0 } else { idle_ends + 1 };
            if idle_ends == IDLE_ENDS {
                return Err(idle);
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
            .memory_limit(self.memory_limit)
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
        WorkerOutcome::Finished(code) => Ok(match (Exit::of(code), Handover::read(&for_parent)?) {
            (Exit::Success, Some(handover)) => End::HandedOver(handover),
            (exit, _) => End::Finished(exit),
        }),
        WorkerOutcome::Died(death) if matches!(death.cause, Cause::Interrupted | Cause::Panic) => {
            Err(failure(&death))
        }
        WorkerOutcome::Died(death) => Ok(End::Died(death, RunsInProgress::read(&for_parent)?)),
    }
}

/// Of workers that have made nothing: the next one would do the same.
fn without_progress() -> Failure {
    let text = Message::error("worker processes make no further run of the study");
    Failure::new(Exit::NotLoaded, text)
        .help("finished rows are kept; run the same command again to continue")
}

fn failure(death: &Death) -> Failure {
    let failure = Failure::of(Exit::after(&death.cause), &death)
        .detail("finished rows are kept; run the same command again to continue");
    failure.advised(advice(&death.cause))
}
