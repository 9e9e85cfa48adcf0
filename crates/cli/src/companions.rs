//! Runs beside a run, at other macro-steps, for its error bars.
//!
//! Each is a worker of its own with the same arguments: a crash, a hang or a failure there ends that companion
//! only. It writes its rows into the file in memory that its parent reads.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use gyrator_assess::Levels;
use gyrator_record::{CsvSink, Table, parse_csv};
use gyrator_worker::{Stop, Supervisor, Worker, WorkerOutcome, surroundings};
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
    /// Its macro-step over that of the run.
    pub(crate) factor: f64,
    /// Simulated time between its rows, s; every communication point where `None`.
    pub(crate) interval: Option<f64>,
}

impl Companion {
    /// The companion that this process is; `None` where it is none.
    pub(crate) fn of_this_process() -> Option<Self> {
        serde_json::from_slice(Worker::current()?.job()).ok()
    }

    /// Where its rows go.
    pub(crate) fn results(worker: &Worker) -> std::io::Result<ResultFile> {
        let file = worker.for_parent().try_clone()?;
        Ok(ResultFile::of(Box::new(CsvSink::new(file, "the rows"))))
    }

    /// Leaves a message in place of the rows.
    pub(crate) fn leave_message(failure: &Failure) {
        let Some(worker) = Worker::current() else {
            return;
        };
        // Without it the run says that there is no message.
        let mut file = worker.for_parent();
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = file.write_all(failure.text().as_bytes());
    }
}

/// Rows of a companion, or why there are none.
type Outcome = Result<Table, String>;

/// The companions of a run.
pub(crate) struct Companions {
    supervisor: Supervisor,
    stop: Stop,
    /// Those that were started, by the factor of the macro-step.
    started: Vec<(f64, Receiver<Outcome>)>,
    threads: Vec<JoinHandle<()>>,
}

impl Companions {
    /// Starts those at half and twice the macro-step. `interval` is the simulated time between the rows of the run.
    pub(crate) fn start(execution: &ExecutionOptions, interval: f64) -> Self {
        let supervisor = Supervisor::new()
            .arguments(std::env::args_os().skip(1))
            .timeout(execution.timeout())
            .memory_limit(execution.memory_limit.map(|limit| limit << 20))
            .beside()
            .quiet();
        let mut companions = Self {
            supervisor,
            stop: Stop::default(),
            started: Vec::new(),
            threads: Vec::new(),
        };
        let [half, twice] = Levels::HalfAndTwice.factors();
        companions.make(half, Some(interval));
        companions.make(twice, None);
        companions
    }

    /// Waits for the rows of the one at so many times the macro-step; starts it where it was not started.
    ///
    /// # Errors
    /// Why there are no rows.
    pub(crate) fn rows(&mut self, factor: f64, interrupt: &AtomicBool) -> Result<Table, String> {
        let place = |started: &[(f64, _)]| started.iter().position(|(other, _)| *other == factor);
        if place(&self.started).is_none() {
            if interrupt.load(Ordering::Relaxed) {
                return Err("it was interrupted".to_owned());
            }
            self.make(factor, None);
        }
        let place = place(&self.started).ok_or("it was not started")?;
        self.wait(&self.started[place].1, interrupt)
    }

    /// Makes a companion in a thread of its own: a worker dies with the thread that has started it.
    fn make(&mut self, factor: f64, interval: Option<f64>) {
        let (sender, receiver) = channel();
        let (supervisor, stop) = (self.supervisor.clone(), self.stop.clone());
        let companion = Companion { factor, interval };
        let work = move || {
            // The receiver is gone where the run has ended.
            let _ = sender.send(supervise(supervisor, companion, &stop));
        };
        // Where there can be no thread, the sender is gone.
        self.threads.extend(std::thread::Builder::new().spawn(work));
        self.started.push((factor, receiver));
    }

    fn wait(&self, outcome: &Receiver<Outcome>, interrupt: &AtomicBool) -> Outcome {
        let mut is_asked = false;
        loop {
            match outcome.recv_timeout(INTERVAL) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("it has no supervisor".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !is_asked && interrupt.load(Ordering::Relaxed) {
                self.stop.request();
                is_asked = true;
            }
        }
    }
}

impl Drop for Companions {
    /// Ends those that still run; their supervisors remove what they have unpacked.
    fn drop(&mut self) {
        self.stop.request();
        self.stop.request();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn supervise(supervisor: Supervisor, companion: Companion, stop: &Stop) -> Outcome {
    let start = || {
        let job = serde_json::to_vec(&companion)?;
        // FMUs of the run may have changed the working directory.
        surroundings::in_own(|| supervisor.job(&job).start())
    };
    let ending = start().and_then(|supervised| supervised.wait(stop));
    let ending = ending.map_err(|error| error.to_string())?;
    let exit = match ending.outcome {
        WorkerOutcome::Finished(code) => Exit::of(code),
        WorkerOutcome::Died(death) => return Err(death.to_string()),
    };
    let text = read(ending.for_parent).map_err(|error| error.to_string())?;
    match exit {
        Exit::Success => {
            let table = parse_csv(&text, Path::new("its rows"));
            table.map_err(|error| error.to_string())
        }
        Exit::Interrupted => Err("it was interrupted".to_owned()),
        _ => Err(String::from_utf8_lossy(&text).into_owned()),
    }
}

fn read(mut file: File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
