//! Runs in a process of their own, so that an FMU that crashes or hangs takes nothing with it.
//!
//! The parent starts this program once more with the same arguments; that worker reads, runs,
//! records and prints as it would by itself. The parent speaks up only if the worker cannot.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gyrator::Run;
use gyrator_pictures::graph::Diagram;
use gyrator_record::{PartFile, RecordError, finish_rows, rows_path};
use gyrator_system::SystemFile;
use gyrator_worker::{
    Cause, Death, KeptResults, Position, Stop, Supervisor, Worker, WorkerEnd, WorkerOutcome,
    signals,
};

use crate::exit::Exit;
use crate::failure::{self, Failure, Message};
use crate::feature::{Ending, Feature, Needs};
use crate::interrupt::on_signal;
use crate::live::{LiveOptions, LivePage};
use crate::numbers::count;
use crate::options::ExecutionOptions;
use crate::screen;
use crate::summary::{CrashSummary, Summary};

/// Facts of a run that its parent needs.
pub(crate) struct Plan<'a> {
    /// The system file, or the FMU.
    pub(crate) system: &'a Path,
    /// The page on which it is seen, for verbs that have one.
    pub(crate) live: Option<&'a LiveOptions>,
    /// How it is carried out.
    pub(crate) execution: &'a ExecutionOptions,
    /// The result.
    pub(crate) output: Option<&'a Path>,
    /// Reads the system once more, for the picture of a run that does not report by itself.
    pub(crate) read: Option<&'a dyn Fn() -> Result<SystemFile, Failure>>,
    /// The features of the run.
    pub(crate) features: Vec<&'a dyn Feature>,
}

impl<'a> Plan<'a> {
    /// Of a verb that has no page and writes no files of a run.
    pub(crate) const fn without_files(system: &'a Path, execution: &'a ExecutionOptions) -> Self {
        Self {
            system,
            live: None,
            execution,
            output: None,
            read: None,
            features: Vec::new(),
        }
    }
}

impl Plan<'_> {
    /// Runs it in a worker; `None` if it is to be run in this process, which may be the worker.
    pub(crate) fn carry_out(&self) -> Option<Result<Exit, Failure>> {
        if Worker::current().is_some() {
            return None;
        }
        if self.execution.no_supervisor {
            gyrator_worker::report_exit_of_fmus(Exit::Crashed.code());
            return None;
        }
        let listener = match self.live.map_or(Ok(None), LiveOptions::listen) {
            Ok(listener) => listener,
            Err(failure) => return Some(Err(failure)),
        };
        let supervisor = Supervisor::new()
            .arguments(std::env::args_os().skip(1))
            .timeout(self.execution.timeout())
            .memory_limit(self.execution.memory_limit.map(|limit| limit << 20));
        // Until they are listened for: one that came now would end this process and leave a part of a result.
        let held = signals::hold();
        match supervisor.fork() {
            // This is the worker.
            Ok(None) => None,
            Ok(Some(supervised)) => {
                let stop = Stop::default();
                listen(&stop);
                drop(held);
                let page = listener.and_then(|listener| LivePage::of_run(listener, &stop));
                let supervised = LivePage::join(page.as_ref(), supervised);
                let ending = supervised.wait(&stop).map_err(Failure::from);
                let outcome = ending.and_then(|ending| self.conclude(ending, page.as_ref()));
                page.into_iter().for_each(|page| page.close(&outcome));
                Some(outcome)
            }
            Err(error) => {
                let text = format!("warning: the run has no supervisor: {error}\n");
                screen::message(&text);
                gyrator_worker::report_exit_of_fmus(Exit::Crashed.code());
                None
            }
        }
    }

    /// Does the work in this process, and writes a summary also if a run does not begin.
    pub(crate) fn with_summary(
        &self,
        work: impl FnOnce() -> Result<Exit, Failure>,
    ) -> Result<Exit, Failure> {
        work().map_err(|failure| self.write_summary_of(failure))
    }

    fn write_summary_of(&self, failure: Failure) -> Failure {
        match self.summarize(&failure) {
            Ok(()) => failure,
            Err(error) => failure.detail(error.text()),
        }
    }

    /// Writes the summary of a run that has failed.
    fn summarize(&self, failure: &Failure) -> Result<(), Failure> {
        let detail = failure.texts();
        let crash = CrashSummary {
            system: self.system,
            stop_reason: match failure.exit {
                Exit::Crashed => "crashed",
                Exit::Interrupted => "interrupted",
                _ => "failed",
            },
            stop_detail: &detail,
            position: None,
            components_in_call: Vec::new(),
            output: None,
        };
        self.report(crash, None)
    }

    /// Writes the summary of a run without a report, and what its features write; `page` is its live page.
    fn report(&self, crash: CrashSummary<'_>, page: Option<&LivePage>) -> Result<(), Failure> {
        let why = crash.stop_detail;
        let rows = crash.output.as_ref().map(|(path, _)| path.clone());
        let mut crash = Summary::of_crash(crash);
        let ending = Ending {
            trouble: Some(why),
            rows: rows.as_deref(),
            ..Ending::unknown(self.system)
        };
        for feature in &self.features {
            feature.summarize(&ending, &mut crash);
        }
        crash.graph = self.diagram();
        page.into_iter().for_each(|page| page.keep_crash(&crash));
        ending.write(&self.features, &crash)
    }

    /// The picture of the system, if it is asked for and the file can be read once more.
    fn diagram(&self) -> Option<Diagram> {
        let is_wanted = Needs::of(&self.features).summary;
        let is_lasting = is_wanted && (self.system.is_file() || self.system.is_dir());
        let read = self.read.filter(|_| is_lasting)?;
        read().ok().as_ref().map(Diagram::of)
    }

    fn conclude(&self, ending: WorkerEnd, page: Option<&LivePage>) -> Result<Exit, Failure> {
        ending.warnings.iter().for_each(|text| warn(text));
        if let Some(text) = &ending.unsaid {
            screen::message(&format!("{}\n", screen::harmless(text)));
        }
        if !ending.has_begun {
            let text = Message::error("the worker process cannot start");
            let failure = Failure::new(Exit::Failed, text);
            return self.summarize(&failure).map(|()| failure.exit);
        }
        let file = ending.results.filter(|results| self.is_result(results));
        match ending.outcome {
            WorkerOutcome::Finished(code) => {
                self.check(Exit::of(code), file, ending.unsaid.is_some())
            }
            WorkerOutcome::Died(death) => Err(self.failure(&death, file, page)),
        }
    }

    /// Whether this is the result file, and not the standard output.
    fn is_result(&self, results: &KeptResults) -> bool {
        let name = Path::new(&results.name);
        let output = self.output.filter(|output| *output != Path::new("-"));
        output.is_some_and(|output| name == output || name == rows_path(output))
    }

    /// Makes sure that the result of a run that has reached its end is there: an FMU may have deleted
    /// it since. `is_silenced`: the worker could not report by itself.
    fn check(
        &self,
        exit: Exit,
        file: Option<KeptResults>,
        is_silenced: bool,
    ) -> Result<Exit, Failure> {
        // The rows of a Parquet file are gone if it was made; nothing was recorded if the file has no columns.
        let is_there = |file: &KeptResults| {
            let is_output = Some(Path::new(&file.name)) == self.output;
            (is_output || is_silenced && exit == Exit::Failed) && file.length != Some(0)
        };
        let Some(file) = file.filter(is_there) else {
            return Ok(exit);
        };
        let (rows, error) = (count(file.rows, "row"), file.error.is_some());
        let mut result = Rest::of(file, self.output);
        if exit != Exit::Failed {
            let published = result.finish().map(|()| exit);
            return published.map_err(|error| self.write_summary_of(error.into()));
        }
        // The worker has reported the reason. If an FMU has closed its descriptors, it could not save what it
        // had.
        if !error && !result.is_finished() {
            let place = result.place.display().to_string();
            match result.finish() {
                Ok(()) => screen::message(&format!("{rows} kept in {place}\n")),
                Err(error) if is_silenced => screen::message(&format!("error: {error}\n")),
                Err(_) => {}
            }
        }
        Ok(exit)
    }

    fn failure(
        &self,
        death: &Death,
        file: Option<KeptResults>,
        page: Option<&LivePage>,
    ) -> Failure {
        let mut text = death.to_string();
        let output = file.and_then(|file| keep(file, self.output, &mut text));
        let mut failure = Failure::new(Exit::after(&death.cause), Message::error(text));
        if let Some(advice) = advice(&death.cause) {
            failure = failure.help(advice);
        }
        let detail = death.to_string();
        let crash = crash_summary(self.system, death, &detail, output);
        if let Err(error) = self.report(crash, page) {
            failure = failure.detail(error.text());
        }
        failure
    }
}

fn warn(text: &str) {
    screen::message(&format!("warning: {}\n", screen::harmless(text)));
}

/// A result as its worker has left it.
struct Rest {
    /// The name of the result.
    place: PathBuf,
    part: PartFile,
    /// The bytes that the file should have.
    length: Option<u64>,
    /// It is a file of rows, of which the result is made.
    is_of_rows: bool,
}

impl Rest {
    fn of(results: KeptResults, output: Option<&Path>) -> Self {
        let name = Path::new(&results.name);
        let of_rows = output.filter(|output| name == rows_path(output));
        let place = of_rows.unwrap_or(name).to_owned();
        let part = PartFile::adopt(&place, results.file);
        if !part.is_published() {
            // In place of the worker. If it fails, the rows are there until the power goes.
            let _ = part.file().sync_data();
        }
        Self {
            is_of_rows: of_rows.is_some(),
            length: results.length,
            place,
            part,
        }
    }

    /// Whether there is nothing to do any more.
    fn is_finished(&self) -> bool {
        match self.is_of_rows {
            // They are removed when the result is there.
            true => !self.part.is_unnamed(),
            false => self.part.is_published(),
        }
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        match self.is_of_rows {
            true => finish_rows(&self.part).map(drop),
            false => self.part.publish(self.length),
        }
    }
}

/// Gives the rows of a crashed run their name, or makes the result of them; says where they are, and how many.
fn keep(
    mut results: KeptResults,
    output: Option<&Path>,
    text: &mut String,
) -> Option<(PathBuf, u64)> {
    let (error, name) = (results.error.take(), PathBuf::from(&results.name));
    let (rows, counted) = (results.rows, count(results.rows, "row"));
    let mut result = Rest::of(results, output);
    // Nothing was recorded if the names of columns are missing.
    if result.length == Some(0) {
        result.part.discard();
        return None;
    }
    let finished = result.finish();
    let place = match &finished {
        Err(_) if result.is_of_rows => name,
        _ => result.place,
    };
    match finished {
        Ok(()) => text.push_str(&format!("; {counted} kept in {}", place.display())),
        Err(error) => text.push_str(&format!("; {counted} recorded; {error}")),
    }
    if let Some(error) = error {
        text.push_str(&format!("; the last ones are lost: {error}"));
    }
    Some((place, rows))
}

/// Summary of a run whose worker has died.
fn crash_summary<'a>(
    system: &'a Path,
    death: &'a Death,
    detail: &'a str,
    output: Option<(PathBuf, u64)>,
) -> CrashSummary<'a> {
    let places = death.places.iter();
    CrashSummary {
        system,
        stop_reason: match death.cause {
            Cause::Interrupted => "interrupted",
            Cause::Timeout(_) => "timeout",
            Cause::MemoryLimit(_) | Cause::AddressSpace(_) => "memory-limit",
            _ => "crashed",
        },
        stop_detail: detail,
        position: death
            .position
            .map(|position| (position.time, position.step)),
        components_in_call: places.map(|place| place.component.clone()).collect(),
        output,
    }
}

/// Does work that runs FMUs in a process of its own, so that its death is reported with the FMU. Ctrl-C ends it at once.
///
/// # Errors
/// Errors of the work, and the death of its process.
pub fn supervised(
    timeout: Option<Duration>,
    work: impl FnOnce() -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    if Worker::current().is_some() {
        return work();
    }
    let supervisor = Supervisor::new()
        .arguments(std::env::args_os().skip(1))
        .timeout(timeout);
    let held = signals::hold();
    let Some(supervised) = supervisor.fork()? else {
        drop(held);
        return work();
    };
    let stop = Stop::default();
    let at_once = stop.clone();
    let heard = move || {
        at_once.request();
        at_once.request();
    };
    if let Err(error) = on_signal(heard) {
        warn(&format!("Ctrl-C ends this process alone: {error}"));
    }
    drop(held);
    let WorkerEnd {
        outcome, warnings, ..
    } = supervised.wait(&stop)?;
    warnings.iter().for_each(|text| warn(text));
    match outcome {
        WorkerOutcome::Finished(code) => Ok(Exit::of(code)),
        WorkerOutcome::Died(death) => {
            Err(Failure::of(Exit::after(&death.cause), &death).advised(advice(&death.cause)))
        }
    }
}

/// Lets the parent know how far the run is.
pub(crate) fn track(run: &mut Run, worker: &'static Worker) {
    let at = |time: f64, step: u64| worker.at(Position { time, step });
    gyrator::run::track(run, Box::new(at));
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
    if let Err(error) = on_signal(heard) {
        screen::message(&format!("warning: Ctrl-C ends the run at once: {error}\n"));
    }
}

/// Remedy for a process whose address space is used up.
const MORE_ADDRESSES: &str =
    "allow more, with `ulimit -v` or in the request to the scheduler; each thread takes some MiB";

/// The end of a program that has panicked outside of a worker.
pub(crate) fn panicked() -> Exit {
    let Some(limit) = gyrator_worker::met_limit() else {
        return Exit::Panicked;
    };
    let cause = Cause::AddressSpace(limit);
    let failure = Failure::of(Exit::after(&cause), &cause).advised(advice(&cause));
    failure.print();
    failure.exit
}

/// Remedy for the user.
pub(crate) fn advice(cause: &Cause) -> Option<&'static str> {
    match cause {
        Cause::Timeout(_) => Some(failure::MORE_TIME),
        Cause::MemoryLimit(_) => Some("give it more with --memory-limit MIB"),
        Cause::AddressSpace(_) => Some(MORE_ADDRESSES),
        Cause::Panic => Some("please report it, with the lines above"),
        _ => None,
    }
}
