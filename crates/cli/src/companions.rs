//! Runs beside a run, or after it, at other macro-steps: for its error bars, and to verify a suspicion.
//!
//! Each is a worker of its own with the same arguments: a crash, a hang or a failure there ends that companion
//! only. It writes its rows, or what it has found, into the file in memory that its parent reads.
//!
//! To go back and make each step twice would need FMUs that save their state, which few can. Whatever a run has
//! (scenario, tables, isolated FMUs, limits of time), its companion has as well, with another factor of the
//! macro-step. It starts before the run and ends after it, so that on several cores it costs little time. A worker
//! dies with the thread that has started it, so each companion has a thread that waits for it; none of them steps.
//! When the run has ended, all rows of the recorded signals of the run and of each companion are in memory, once as
//! text.
//!
//! In a study the cores are busy with other cases. There companions follow their run, in its thread and its process;
//! the choice of macro-steps and the estimate (`gyrator_assess::assess`) are the same.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gyrator_assess::{Course, Levels, NoRows, Verification};
use gyrator_record::{CsvSink, Table, parse_csv};
use gyrator_worker::{Cause, Stop, Supervisor, Worker, WorkerOutcome, surroundings};
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::options::ExecutionOptions;
use crate::recorder::ResultFile;

/// How often the wish of the user to end the run is looked for.
const INTERVAL: Duration = Duration::from_millis(20);

/// The job of a companion.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Companion {
    /// Its macro-step over the run's.
    pub(crate) factor: f64,
    /// Simulated time between its rows, s; every communication point if `None`.
    pub(crate) interval: Option<f64>,
    /// It compares itself with the [course](Course) of the run, which follows in the job, and leaves a [`Verification`] instead of
    /// rows.
    pub(crate) verifies: bool,
}

impl Companion {
    const fn with_rows(factor: f64, interval: Option<f64>) -> Self {
        Self {
            factor,
            interval,
            verifies: false,
        }
    }

    /// The companion that this process is; `None` if it is none.
    pub(crate) fn of_this_process() -> Option<Self> {
        let job = Worker::current()?.job();
        let head = job.split(|byte| *byte == b'\n').next()?;
        serde_json::from_slice(head).ok()
    }

    /// The course of the run that it verifies.
    pub(crate) fn course(worker: &Worker) -> Option<Course> {
        let job = worker.job();
        let head = job.iter().position(|byte| *byte == b'\n')?;
        Course::from_bytes(&job[head + 1..])
    }

    fn job(&self, course: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut job = serde_json::to_vec(self)?;
        job.push(b'\n');
        job.extend(course);
        Ok(job)
    }

    /// Leaves what it has found.
    pub(crate) fn leave(worker: &Worker, found: &Verification) -> std::io::Result<()> {
        worker.for_parent().write_all(&serde_json::to_vec(found)?)
    }

    /// Where its rows go.
    pub(crate) fn results(worker: &Worker) -> std::io::Result<ResultFile> {
        let file = worker.for_parent().try_clone()?;
        Ok(ResultFile::of(Box::new(CsvSink::new(file, "the rows"))))
    }

    /// Leaves a message instead of the rows.
    pub(crate) fn leave_message(failure: &Failure) {
        let Some(worker) = Worker::current() else {
            return;
        };
        // Without it the run says that it got no message.
        let mut file = worker.for_parent();
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = file.write_all(failure.text().as_bytes());
    }
}

/// What a companion leaves, or why it leaves nothing.
type Outcome = Result<Vec<u8>, NoRows>;

/// The companions of a run.
pub(crate) struct Companions {
    supervisor: Supervisor,
    stop: Stop,
    /// Those that were started, by the factor of the macro-step.
    started: Vec<(f64, Receiver<Outcome>)>,
    /// Simulated time between the rows of the run, s.
    interval: Option<f64>,
    threads: Vec<JoinHandle<()>>,
}

impl Companions {
    /// None yet.
    pub(crate) fn none(execution: &ExecutionOptions) -> Self {
        let supervisor = Supervisor::new()
            .arguments(std::env::args_os().skip(1))
            .timeout(execution.timeout())
            .memory_limit(execution.memory_limit.map(|limit| limit << 20))
            .beside()
            .quiet();
        Self {
            supervisor,
            stop: Stop::default(),
            started: Vec::new(),
            interval: None,
            threads: Vec::new(),
        }
    }

    /// Starts those at half and twice the macro-step. `interval` is the simulated time between the rows of the run.
    pub(crate) fn start(execution: &ExecutionOptions, interval: f64) -> Self {
        let mut companions = Self::none(execution);
        companions.interval = Some(interval);
        for factor in Levels::HalfAndTwice.factors() {
            companions.start_one(factor);
        }
        companions
    }

    fn start_one(&mut self, factor: f64) {
        // A coarser one has no more rows than the run.
        let interval = self.interval.filter(|_| factor < 1.0);
        self.make(Companion::with_rows(factor, interval), &[]);
    }

    /// Waits for the rows of the one at so many times the macro-step; starts it if it was not started.
    ///
    /// # Errors
    /// Why the rows are missing.
    pub(crate) fn rows(&mut self, factor: f64, interrupt: &AtomicBool) -> Result<Table, NoRows> {
        let place = |started: &[(f64, _)]| started.iter().position(|(other, _)| *other == factor);
        if place(&self.started).is_none() {
            if interrupt.load(Ordering::Relaxed) {
                return Err(NoRows::from("it was interrupted".to_owned()));
            }
            self.start_one(factor);
        }
        let place = place(&self.started).ok_or_else(|| "it was not started".to_owned())?;
        let rows = self.wait(&self.started[place].1, interrupt, None)?;
        let table = parse_csv(&rows, Path::new("its rows"));
        table.map_err(|error| error.to_string().into())
    }

    /// Makes the run that verifies one with this course, at so many times the macro-step; it ends at this instant.
    ///
    /// # Errors
    /// Why it tells nothing.
    pub(crate) fn verify(
        &mut self,
        factor: f64,
        course: &Course,
        interrupt: &AtomicBool,
        end: Option<Instant>,
    ) -> Result<Verification, String> {
        let companion = Companion {
            verifies: true,
            ..Companion::with_rows(factor, None)
        };
        self.make(companion, &course.to_bytes());
        let Some((_, outcome)) = self.started.last() else {
            return Err("it was not started".to_owned());
        };
        let found = self.wait(outcome, interrupt, end);
        let found = found.map_err(|no_rows| no_rows.reason)?;
        serde_json::from_slice(&found).map_err(|error| error.to_string())
    }

    /// Makes a companion in a thread of its own: a worker dies with the thread that has started it.
    fn make(&mut self, companion: Companion, course: &[u8]) {
        let (sender, receiver) = channel();
        let (supervisor, stop) = (self.supervisor.clone(), self.stop.clone());
        let (job, factor) = (companion.job(course), companion.factor);
        let work = move || {
            // The receiver is gone if the run has ended.
            let _ = sender.send(supervise(supervisor, job, &stop));
        };
        // If no thread can start, the sender is gone.
        self.threads.extend(std::thread::Builder::new().spawn(work));
        self.started.push((factor, receiver));
    }

    /// Waits for a companion, and ends it at once at the wish of the user and after this instant: an unfinished one tells
    /// nothing, and the run has only to be reported.
    fn wait(
        &self,
        outcome: &Receiver<Outcome>,
        interrupt: &AtomicBool,
        end: Option<Instant>,
    ) -> Outcome {
        let mut is_asked = false;
        loop {
            match outcome.recv_timeout(INTERVAL) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(NoRows::from("it has no supervisor".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let is_late = end.is_some_and(|end| Instant::now() >= end);
            if !is_asked && (is_late || interrupt.load(Ordering::Relaxed)) {
                self.end();
                is_asked = true;
            }
        }
    }

    /// The second wish is heard at once.
    fn end(&self) {
        self.stop.request();
        self.stop.request();
    }
}

impl Drop for Companions {
    /// Ends those that still run; their supervisors remove what they have unpacked.
    fn drop(&mut self) {
        self.end();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn supervise(supervisor: Supervisor, job: std::io::Result<Vec<u8>>, stop: &Stop) -> Outcome {
    let start = || {
        let job = job?;
        // FMUs of the run may have changed the working directory.
        surroundings::in_own(|| supervisor.job(&job).start())
    };
    let ending = start().and_then(|supervised| supervised.wait(stop));
    let ending = ending.map_err(|error| error.to_string())?;
    let exit = match ending.outcome {
        WorkerOutcome::Finished(code) => Exit::of(code),
        WorkerOutcome::Died(death) if death.cause == Cause::Interrupted => {
            return Err(NoRows::from("it was interrupted".to_owned()));
        }
        WorkerOutcome::Died(death) => return Err(death.to_string().into()),
    };
    let left = read(ending.for_parent).map_err(|error| error.to_string())?;
    match exit {
        Exit::Success => Ok(left),
        Exit::Interrupted => Err(NoRows::from("it was interrupted".to_owned())),
        _ => Err(NoRows {
            reason: String::from_utf8_lossy(&left).into_owned(),
            is_not_finite: exit == Exit::CheckFailed,
        }),
    }
}

fn read(mut file: File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
