//! Runs in a process of their own, so that an FMU that crashes or hangs takes nothing with it.
//!
//! The parent starts this program once more with the same arguments; that worker reads, runs,
//! records and prints as it would by itself. The parent speaks up only if the worker cannot.

use std::path::{Path, PathBuf};

use gyrator::{Observer, ObserverError, Verdict, View};
use gyrator_worker::{
    Cause, Death, Ending, KeptResults, Outcome, Position, Stop, Supervisor, Worker,
};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::numbers::count;
use crate::options::ExecutionOptions;
use crate::{screen, summary};

/// What the parent has to know of a run.
pub(crate) struct Plan<'a> {
    /// The system file, or the FMU.
    pub(crate) system: &'a Path,
    /// How it is carried out.
    pub(crate) execution: &'a ExecutionOptions,
    /// The summary for programs.
    pub(crate) summary: Option<&'a Path>,
}

impl Plan<'_> {
    /// Runs it in a worker; `None` if it is to be run in this process, which may be the worker.
    pub(crate) fn carry_out(&self) -> Option<Result<Exit, Failure>> {
        if self.execution.no_supervisor || Worker::current().is_some() {
            return None;
        }
        let supervisor = Supervisor::new()
            .arguments(std::env::args_os().skip(1))
            .timeout(self.execution.timeout())
            .memory_limit(self.execution.memory_limit.map(|limit| limit << 20));
        match supervisor.start() {
            Ok(supervised) => {
                let stop = Stop::default();
                listen(&stop);
                let ending = supervised.wait(&stop).map_err(Failure::from);
                Some(ending.and_then(|ending| self.conclude(ending)))
            }
            Err(error) => {
                let text = format!("warning: the run has no supervisor: {error}\n");
                screen::message(&text);
                None
            }
        }
    }

    fn conclude(&self, ending: Ending) -> Result<Exit, Failure> {
        let warn = |text: String| screen::message(&format!("warning: {text}\n"));
        ending.warnings.into_iter().for_each(warn);
        let results = ending.results;
        if let Some(results) = &results {
            self.look_after(results);
        }
        match ending.outcome {
            Outcome::Finished(code) => Ok(Exit::of(code)),
            Outcome::Died(death) => Err(self.failure(&death, results.as_ref())),
        }
    }

    /// Writes a result file again that an FMU has deleted.
    fn look_after(&self, results: &KeptResults) {
        if !results.is_deleted {
            return;
        }
        let name = &results.name;
        let text = match results.restore(Path::new(name)) {
            Ok(()) => format!("{name} was deleted while the run went on; it is written again"),
            Err(error) => format!("{name} was deleted while the run went on: {error}"),
        };
        screen::message(&format!("warning: {text}\n"));
    }

    fn failure(&self, death: &Death, results: Option<&KeptResults>) -> Failure {
        let kept = results.map(|results| {
            let rows = count(results.rows, "row");
            match &results.error {
                None => format!("; {rows} kept in {}", results.name),
                Some(error) => format!("; the last rows of {} are lost: {error}", results.name),
            }
        });
        let text = format!("{death}{}", kept.unwrap_or_default());
        let mut failure = Failure::new(Exit::after(&death.cause), Message::error(text));
        if let Some(advice) = advice(&death.cause) {
            failure = failure.help(advice);
        }
        if let Some(path) = self.summary {
            let remains = Remains::new(self.system, death, results);
            if let Err(error) = summary::write(path, &remains) {
                let path = path.display();
                failure = failure.detail(format!("cannot write the summary {path}: {error}"));
            }
        }
        failure
    }
}

/// Notes every communication point, for messages about a crash after it.
pub(crate) struct Tracker(pub(crate) &'static Worker);

impl Tracker {
    fn note(&self, view: &View<'_>) {
        self.0.at(Position {
            time: view.time,
            step: view.steps,
        });
    }
}

impl Observer for Tracker {
    fn begin(&mut self, view: &View<'_>) -> Result<Verdict, ObserverError> {
        self.note(view);
        Ok(Verdict::Continue)
    }

    fn step(&mut self, view: &View<'_>) -> Result<Verdict, ObserverError> {
        self.note(view);
        Ok(Verdict::Continue)
    }
}

/// Ctrl-C, and the signals that ask a program to end.
pub(crate) fn listen(stop: &Stop) {
    let stop = stop.clone();
    let grace = gyrator_worker::GRACE.as_secs();
    let heard = move || {
        let text = match stop.request() {
            0 => format!(
                "interrupted: stopping at the next communication point; a call that takes longer than \
                 {grace} s is ended; once more stops at once\n"
            ),
            _ => "interrupted again: the run is abandoned\n".to_owned(),
        };
        screen::message(&text);
    };
    if let Err(error) = ctrlc::set_handler(heard) {
        screen::message(&format!("warning: Ctrl-C ends the run at once: {error}\n"));
    }
}

/// What the user can do about it.
pub(crate) fn advice(cause: &Cause) -> Option<&'static str> {
    match cause {
        Cause::Timeout(_) => Some("give it more time with --timeout SECONDS, 0 for no end"),
        Cause::MemoryLimit(_) => Some("give it more with --memory-limit MIB"),
        Cause::Panic => Some("please report it, with the lines above"),
        _ => None,
    }
}

/// The summary of a run whose worker has died: what is known without it.
#[derive(Serialize)]
struct Remains<'a> {
    gyrator: &'static str,
    system: &'a Path,
    stop_reason: &'static str,
    stop_detail: String,
    /// The last communication point; absent before the first one.
    stop_time: Option<f64>,
    steps: u64,
    /// Components that were in a call.
    components_in_call: Vec<&'a str>,
    output: Option<RemainingOutput>,
}

#[derive(Serialize)]
struct RemainingOutput {
    file: PathBuf,
    rows: u64,
}

impl<'a> Remains<'a> {
    fn new(system: &'a Path, death: &'a Death, results: Option<&KeptResults>) -> Self {
        let places = death.places.iter();
        Self {
            gyrator: env!("CARGO_PKG_VERSION"),
            system,
            stop_reason: match death.cause {
                Cause::Interrupted => "interrupted",
                Cause::Timeout(_) => "timeout",
                Cause::MemoryLimit(_) => "memory-limit",
                _ => "crashed",
            },
            stop_detail: death.to_string(),
            stop_time: death.position.map(|position| position.time),
            steps: death.position.map_or(0, |position| position.step),
            components_in_call: places.map(|place| place.component.as_str()).collect(),
            output: results.map(|results| RemainingOutput {
                file: PathBuf::from(&results.name),
                rows: results.rows,
            }),
        }
    }
}
