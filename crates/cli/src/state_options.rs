//! Saved states: a run writes one, another goes on from it.
//!
//! Bytes of a state are tried before they are kept, because `canSerializeFMUstate` is often wrong: of 19 public FMUs
//! that claim it, 3 crash with their own bytes and 6 continue with other numbers. Some pass within one process, since
//! their bytes have addresses in them. Such a state would fail weeks later, with the run that made it gone. So
//! instances in new processes take each state, and their outputs and their next step are compared to the last bit:
//! two more starts of the system in a run that saves.

use std::io::{self, Read as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use gyrator::graph::Graph;
use gyrator::learning::FeedForward;
use gyrator::run::{Handover, keep_last_state, last_state, serialize};
use gyrator::system::{Resumption, StateFile};
use gyrator::{Report, Run, RunError, StartError, StopReason};
use gyrator_record::{is_same_time, write_whole};
use gyrator_system::{Experiment, SystemFile};
use gyrator_worker::surroundings;

use crate::exit::Exit;
use crate::failure::{Failure, Message, advice_on_missing};
use crate::numbers::{apart, short};
use crate::options::finite;
use crate::overwriting::Named;

// The saved state of a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Saved states")]
pub(crate) struct StateOptions {
    /// Save the state of the run in this file, from which `--resume` continues; all FMUs must be able to serialize
    /// theirs
    #[arg(long, value_name = "FILE", conflicts_with = "initialize_only")]
    save_state: Option<PathBuf>,
    /// Simulated time of the saved state, a communication point [default: the end]
    #[arg(long, value_name = "SECONDS", value_parser = finite, requires = "save_state")]
    #[arg(allow_negative_numbers = true)]
    at: Option<f64>,
    /// Continue from the state in this file, which `--save-state` wrote for the same system
    #[arg(long, value_name = "FILE", conflicts_with_all = ["initialize_only", "error_bars"])]
    resume: Option<PathBuf>,
}

impl StateOptions {
    /// The state that is read.
    pub(crate) fn input(&self) -> Option<Named<'_>> {
        self.resume.as_deref().map(|path| ("the saved state", path))
    }

    /// The state that is written, by its option.
    pub(crate) fn output(&self) -> Option<Named<'_>> {
        self.save_state
            .as_deref()
            .map(|path| ("--save-state", path))
    }

    /// Whether a state is written.
    pub(crate) fn are_saved(&self) -> bool {
        self.save_state.is_some()
    }

    /// Reads the state to go on from and compares its system; an action of a scenario that begins with it is taken out of
    /// `system`.
    pub(crate) fn resumption(
        &self,
        system: &mut SystemFile,
        feed_forward: Option<&FeedForward>,
    ) -> Result<Option<Resumed>, Failure> {
        let path = self.resume.as_deref();
        path.map(|path| resumption(path, system, feed_forward))
            .transpose()
    }

    /// Makes ready to save the state of a run that has made no step. `again` starts the same run in new processes; its first step is the
    /// run's unless `is_steered` from outside.
    pub(crate) fn saving(
        &self,
        run: &mut Run,
        system: &SystemFile,
        feed_forward: Option<&FeedForward>,
        (again, is_steered): (StartAgain, bool),
    ) -> Result<Option<Saving>, Failure> {
        let Some(path) = &self.save_state else {
            return Ok(None);
        };
        let experiment = &system.experiment;
        let stop = experiment.stop_time.as_ref().map(|stop| stop.value);
        let time = self.at.or(stop).unwrap_or(f64::INFINITY);
        check_time(time, self.at.is_some(), run, experiment)?;
        // Whether it can be done is better known before a long run than after it.
        check_place(path).map_err(|error| not_written(path, &error))?;
        let state = serialize(run)?;
        let mut handover = Handover::begin(again()?, &state, run)?;
        handover.step()?;
        // An FMU may delete its file while it runs.
        let file = StateFile::new(system, feed_forward);
        let file = file.map_err(|error| not_written(path, &error))?;
        let is_last = stop.is_some_and(|stop| is_at(run.graph(), time, stop));
        if is_last {
            keep_last_state(run);
        }
        Ok(Some(Saving {
            path: path.clone(),
            file,
            time,
            is_last,
            before: run.time(),
            saved: None,
            failure: None,
            again,
            is_steered,
            handover: Some(handover),
        }))
    }
}

/// A state from which a run goes on.
pub(crate) struct Resumed {
    path: PathBuf,
    time: f64,
    resumption: Resumption,
}

impl Resumed {
    /// Has a run that has made no step go on from the state; returns a note.
    pub(crate) fn apply(self, run: &mut Run) -> Result<String, Failure> {
        let applied = self.resumption.apply(run);
        applied.map_err(|error| refused(&self.path, error))?;
        Ok(format!(
            "goes on from the state at {} s in {}",
            short(self.time),
            self.path.display()
        ))
    }
}

fn resumption(
    path: &Path,
    system: &mut SystemFile,
    feed_forward: Option<&FeedForward>,
) -> Result<Resumed, Failure> {
    let bytes = std::fs::read(path).map_err(|error| {
        let text = format!("cannot read the saved state {}: {error}", path.display());
        let failure = Failure::new(Exit::InvalidInput, Message::error(text));
        failure.advised(advice_on_missing(path))
    })?;
    let file = StateFile::from_bytes(&bytes).map_err(|error| refused(path, error.into()))?;
    let resumption = file.resume(system, feed_forward);
    Ok(Resumed {
        path: path.to_owned(),
        time: file.time(),
        resumption: resumption.map_err(|error| refused(path, error))?,
    })
}

/// A state that is not taken, with the path of its file.
fn refused(path: &Path, error: StartError) -> Failure {
    match error {
        StartError::State(error) => {
            let text = format!("{}: {}", path.display(), error.message);
            Failure::new(Exit::InvalidInput, Message::error(text)).help(error.help)
        }
        StartError::Run(error @ RunError::NotRestored(_)) => {
            let text = format!("{}: {error}", path.display());
            Failure::new(Exit::InvalidInput, Message::error(text))
        }
        error => error.into(),
    }
}

/// Starts a run once more, with all FMUs in new processes.
pub(crate) type StartAgain = Box<dyn Fn() -> Result<Run, Failure>>;

/// A state that is to be saved in a run.
pub(crate) struct Saving {
    path: PathBuf,
    /// The file without the state.
    file: StateFile,
    /// When, s.
    time: f64,
    /// It is that at the stop time.
    is_last: bool,
    /// The last communication point, s.
    before: f64,
    saved: Option<f64>,
    failure: Option<Failure>,
    again: StartAgain,
    is_steered: bool,
    /// A run that has made a step from the last state, until the run itself has made it.
    handover: Option<Handover>,
}

impl Saving {
    /// Writes the state when the run is at its time; a run whose state cannot be saved is to be stopped.
    pub(crate) fn look(&mut self, run: &mut Run) -> ControlFlow<()> {
        match self.save_if_due(run) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                self.failure = Some(failure);
                ControlFlow::Break(())
            }
        }
    }

    fn save_if_due(&mut self, run: &mut Run) -> Result<(), Failure> {
        let (time, before) = (run.time(), self.before);
        self.before = time;
        self.compare(run)?;
        if self.is_last || self.saved.is_some() {
            return Ok(());
        }
        if is_at(run.graph(), self.time, time) {
            let state = serialize(run)?;
            let mut handover = Handover::begin((self.again)()?, &state, run)?;
            handover.step()?;
            self.handover = Some(handover);
            return self.write(time, state);
        }
        if time > self.time {
            let text = format!(
                "--at {}: the run has no communication point there; those beside it are {} s and {} s",
                self.time, before, time
            );
            return Err(Failure::usage(text).help("pass one of them"));
        }
        Ok(())
    }

    /// Compares the step that was made from a state with the run's; a state that goes on otherwise is removed.
    fn compare(&mut self, run: &mut Run) -> Result<(), Failure> {
        let is_due = |handover: &mut Handover| handover.time() <= run.time();
        let handover = self.handover.take_if(is_due);
        let is_one = |handover: &Handover| handover.time() == run.time() && !self.is_steered;
        let Some(mut handover) = handover.filter(is_one) else {
            return Ok(());
        };
        handover.compare(run).map_err(|error| {
            if self.saved.take().is_some() {
                // It is not one.
                let _ = surroundings::in_own(|| std::fs::remove_file(&self.path));
            }
            error.into()
        })
    }

    /// Writes the state at the end of the run, if that was wanted; returns a note.
    pub(crate) fn conclude(&mut self, run: &mut Run, report: &Report) -> Result<String, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.compare(run)?;
        if let Some(state) = last_state(run) {
            let state = state?;
            Handover::begin((self.again)()?, &state, run)?;
            self.write(report.stop_time, state)?;
        }
        let path = self.path.display();
        match self.saved {
            Some(time) => Ok(format!("the state at {} s is in {path}", short(time))),
            None if report.stop_reason == StopReason::Interrupted => Ok(format!(
                "no state is in {path}: the run was interrupted before"
            )),
            None => {
                let (stop, time) = apart(report.stop_time, self.time);
                let text =
                    format!("no state was saved: the run ended at {stop} s, before {time} s");
                Err(Failure::new(Exit::Failed, Message::error(text)))
            }
        }
    }

    fn write(&mut self, time: f64, state: Vec<u8>) -> Result<(), Failure> {
        let file = self.file.with(time, state);
        let written = surroundings::in_own(|| {
            check_place(&self.path)?;
            write_whole(&self.path, |output| output.write_all(&file.to_bytes()))
        });
        written.map_err(|error| not_written(&self.path, &error))?;
        self.saved = Some(time);
        Ok(())
    }
}

/// Refuses a place where no file can be, and a file that is neither empty nor a saved state: it may be an input.
fn check_place(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        folder.metadata()?;
    }
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !path.is_file() {
        return Ok(());
    }
    let mut beginning = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(64).read_to_end(&mut beginning)?;
    match StateFile::is_one(&beginning) {
        true => Ok(()),
        false => Err(io::Error::other("that file is not a saved state")),
    }
}

fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::not_written(format!("the state {}", path.display()), error)
}

/// Whether two times are one communication point, but for rounding.
fn is_at(graph: &Graph, one: f64, other: f64) -> bool {
    is_same_time(one, other, graph.macro_step())
}

/// Refuses a time that is not a communication point of the run, as far as that is known before its first step.
fn check_time(
    time: f64,
    is_given: bool,
    run: &Run,
    experiment: &Experiment,
) -> Result<(), Failure> {
    let begin = run.time();
    let stop = experiment.stop_time.as_ref().map(|stop| stop.value);
    let stop = stop.unwrap_or(f64::INFINITY);
    let step = run.graph().macro_step();
    let is_an_end = [begin, stop]
        .iter()
        .any(|end| is_at(run.graph(), time, *end));
    if !is_an_end && !(begin..=stop).contains(&time) {
        let text = format!("--at {time}: the run goes from {begin} s to {stop} s");
        return Err(Failure::usage(text));
    }
    let control = experiment.step_control.as_ref();
    if control.is_some_and(|control| control.name.value != "fixed") {
        return Ok(());
    }
    let start = experiment.start();
    let point = |index: f64| start + index * step;
    let steps = (time - start) / step;
    if is_at(run.graph(), point(steps.round()), time) {
        return Ok(());
    }
    let (below, above) = (point(steps.floor()), point(steps.ceil()));
    let (below, above) = apart(below, above);
    if is_given {
        let text = format!(
            "--at {time} is not a communication point: those beside it are {below} s and {above} s"
        );
        return Err(Failure::usage(text).help("pass one of them"));
    }
    let text = format!(
        "the stop time {time} s is not a communication point, and its state cannot be saved"
    );
    Err(Failure::usage(text).help(format!("pass --at {below}, or the stop time {above} s")))
}
