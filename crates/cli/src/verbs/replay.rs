//! `gyrator replay`: the recorded calls of one FMU, made again.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use clap::Args;
use gyrator::unit::{Handle, VariableType};
use gyrator::{Unit, unit::FmuUnit};
use gyrator_fmu::{Fmu, ModelDescription, TypeAttributes};
use gyrator_worker::replay::{
    Agreement, Answer, Call, CallLog, CallRecorder, Comparison, Datum, Difference, Exchange, Head,
    ReadError, Recording, compare, fingerprint, replay,
};
use gyrator_worker::{Cause, Supervisor, Worker, WorkerOutcome, signals};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Message, advice_on_missing};
use crate::fmu_log::{self, LogLevel};
use crate::fmu_options::FmuOptions;
use crate::numbers::{count, short};
use crate::options::{not_negative, time_limit};
use crate::screen;
use crate::supervision;
use crate::verbs::simulate::not_opened;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The recording: COMPONENT.calls, as `run --record-calls` writes it
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// The FMU, or another version of it [default: the .fmu of this name beside the recording]
    #[arg(long, value_name = "FILE.fmu")]
    fmu: Option<PathBuf>,
    #[command(flatten)]
    open: FmuOptions,
    /// Longest time that a call of the FMU may take; 0: no limit [Linux]
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, default_value = "600")]
    #[arg(allow_negative_numbers = true)]
    timeout: f64,
    /// Log lines of the FMU to show
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "warn")]
    log_level: LogLevel,
    /// Write the findings as JSON to the standard output
    #[arg(long)]
    json: bool,
}

/// The findings, for programs.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    recording: &'a Path,
    fmu: &'a Path,
    component: &'a str,
    model: &'a str,
    /// Whether the FMU's file is the recording's; `null` if one of them is a directory.
    same_fmu: Option<bool>,
    recorded_by: String,
    /// Whether all answers are equal, and the end is the recording's.
    reproduced: bool,
    /// Calls with equal answers.
    equal_calls: u64,
    /// Communication point that was reached with them, s.
    time: Option<f64>,
    /// Calls that were refused both times, among those.
    faults: u64,
    /// The call that came to no end both times.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_in: Option<String>,
    /// How the process of the FMU has ended this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    /// The first difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Sides>,
}

#[derive(Debug, Serialize)]
struct Sides {
    call: String,
    recorded: String,
    replayed: String,
}

/// Makes the calls again.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let recording = open(&options.recording)?;
    let head = recording.head().clone();
    let path = fmu_path(options, &head)?;
    let same_fmu = check_fmu(options, &path, &head)?;
    let peek = Fmu::peek_with(&path, options.open.limits());
    let description = peek.map_err(|error| not_opened(&error))?.description;
    // The worker writes into it; the name is gone before.
    let scratch = tempfile::tempfile()?;
    let Some(death) = in_worker(options, || {
        make_calls(options, recording, &head, &path, &scratch)
    })?
    else {
        return Ok(Exit::Success);
    };
    let mut made = scratch;
    made.seek(SeekFrom::Start(0))?;
    let compared = Recording::of_file(made)
        .and_then(|mut made| compare(&mut Recording::open(&options.recording)?, &mut made));
    let comparison = compared.map_err(|error| damaged(&options.recording, &error))?;
    let names = Names(&description);
    let reproduced = !matches!(comparison.agreement, Agreement::Different(_));
    let text = if options.json {
        let summary = Summary {
            recording: &options.recording,
            fmu: &path,
            component: &head.component,
            model: &head.model,
            same_fmu,
            recorded_by: format!("gyrator {} on {}", head.gyrator, head.platform),
            reproduced,
            equal_calls: comparison.equal,
            time: comparison.time,
            faults: comparison.faults,
            ended_in: match &comparison.agreement {
                Agreement::SameEnd(last) => Some(names.call(&last.call)),
                _ => None,
            },
            end: death.text,
            difference: match &comparison.agreement {
                Agreement::Different(difference) => Some(names.sides(difference)),
                _ => None,
            },
        };
        screen::json(&summary)?
    } else {
        for_people(&head, &path, &comparison, death.text.as_deref(), &names)
    };
    screen::print(&text)?;
    Ok(match (death.is_interrupted, reproduced) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Success,
        (false, false) => Exit::CheckFailed,
    })
}

/// How the worker has ended.
struct Death {
    /// The reason; `None` if it has done its work.
    text: Option<String>,
    is_interrupted: bool,
}

/// Does the work in a process of its own. Returns `None` in that process, which ends next.
fn in_worker(
    options: &Options,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<Option<Death>, Failure> {
    // One that came before signals are listened to would end this process and leave the other.
    let held = signals::hold();
    let supervisor = Supervisor::new()
        .arguments(std::env::args_os().skip(1))
        .timeout(time_limit(options.timeout));
    let Some(supervised) = supervisor.fork()? else {
        work()?;
        if let Some(worker) = Worker::current() {
            worker.results_complete(Exit::Success.code());
        }
        return Ok(None);
    };
    let stop = gyrator_worker::Stop::default();
    supervision::listen(&stop);
    drop(held);
    let ending = supervised.wait(&stop)?;
    for text in &ending.warnings {
        screen::message(&format!("warning: {}\n", screen::harmless(text)));
    }
    match ending.outcome {
        WorkerOutcome::Finished(code) if code == Exit::Success.code() => Ok(Some(Death {
            text: None,
            is_interrupted: false,
        })),
        // It has said why.
        WorkerOutcome::Finished(code) => {
            let text = "the calls could not be made again";
            Err(Failure::new(Exit::of(code), Message::error(text)))
        }
        WorkerOutcome::Died(death) => Ok(Some(Death {
            is_interrupted: matches!(death.cause, Cause::Interrupted),
            text: Some(death.to_string()),
        })),
    }
}

/// The work: every call, with its answer, into `scratch`.
fn make_calls(
    options: &Options,
    mut recording: Recording,
    head: &Head,
    path: &Path,
    scratch: &File,
) -> Result<(), Failure> {
    fmu_log::start(options.log_level);
    let log = CallLog::new(scratch.try_clone()?, head)?;
    let open = options.open.open_options();
    let made = CallRecorder::start(log, || {
        let fmu = Fmu::open_with(path, &open).map_err(|error| error.to_string())?;
        let unit = FmuUnit::new(&fmu, &head.component, head.logging);
        let unit = unit.map_err(|error| error.to_string())?;
        Ok::<_, String>(Box::new(unit) as Box<dyn Unit>)
    })?;
    if let Ok(unit) = made {
        replay(&mut recording, unit).map_err(|error| damaged(&options.recording, &error))?;
    }
    Ok(())
}

fn open(path: &Path) -> Result<Recording, Failure> {
    Recording::open(path).map_err(|error| damaged(path, &error))
}

fn damaged(path: &Path, error: &ReadError) -> Failure {
    let text = format!("{} {error}", path.display());
    let failure = Failure::new(Exit::InvalidInput, Message::error(text));
    if path.is_dir() {
        return failure.help(advice_on_folder(path));
    }
    match (error, advice_on_missing(path)) {
        (ReadError::Io(_), Some(advice)) => failure.help(advice),
        (ReadError::Foreign, _) => {
            failure.help("`gyrator run --record-calls FOLDER` writes COMPONENT.calls")
        }
        _ => failure,
    }
}

/// The recordings in a folder that was named instead of one of them.
fn advice_on_folder(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let recordings = paths.filter(|path| path.extension().is_some_and(|ending| ending == "calls"));
    let mut names: Vec<String> = recordings.map(|path| path.display().to_string()).collect();
    names.sort();
    match names.is_empty() {
        true => "name a recording; `gyrator run --record-calls FOLDER` writes COMPONENT.calls"
            .to_owned(),
        false => format!("name one of its recordings: {}", names.join(", ")),
    }
}

fn fmu_path(options: &Options, head: &Head) -> Result<PathBuf, Failure> {
    if let Some(path) = &options.fmu {
        return Ok(path.clone());
    }
    let beside = options.recording.with_extension("fmu");
    if beside.exists() {
        return Ok(beside);
    }
    let text = format!("there is no {}", beside.display());
    let failure = Failure::new(Exit::NotLoaded, Message::error(text));
    Err(failure.help(format!("pass --fmu with the path of {}", head.fmu)))
}

/// Compares the FMU with the recording's. One that was named may be another, which is said.
fn check_fmu(options: &Options, path: &Path, head: &Head) -> Result<Option<bool>, Failure> {
    let now = fingerprint(path).map_err(|error| {
        let text = format!("{} cannot be read: {error}", path.display());
        let failure = Failure::new(Exit::NotLoaded, Message::error(text));
        failure.advised(advice_on_missing(path))
    })?;
    let same = now.zip(head.sha256.as_ref()).map(|(now, was)| now == *was);
    if same == Some(false) {
        let text = format!(
            "{} is not the {} of the recording: their SHA-256 differ",
            path.display(),
            head.fmu
        );
        if options.fmu.is_none() {
            let failure = Failure::new(Exit::InvalidInput, Message::error(text));
            return Err(failure.help("pass --fmu to make the calls to another version of it"));
        }
        screen::message(&format!("warning: {text}\n"));
    }
    Ok(same)
}

fn for_people(
    head: &Head,
    path: &Path,
    comparison: &Comparison,
    end: Option<&str>,
    names: &Names<'_>,
) -> String {
    let mut text = format!(
        "{}: {} of {}, recorded by gyrator {} on {}\n",
        head.component,
        head.model,
        path.display(),
        head.gyrator,
        head.platform
    );
    let until = comparison
        .time
        .map_or_else(String::new, |time| format!(", up to t = {} s", short(time)));
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} with equal answers{until}",
        count(comparison.equal, "call")
    );
    if let Some(Exchange { call, answer }) = &comparison.last_fault {
        let answer = names.answer(call, answer.as_ref());
        let _ = writeln!(text, "refused as recorded: {}: {answer}", names.call(call));
    }
    match &comparison.agreement {
        Agreement::Equal => text.push_str("reproduced: every answer is equal in every bit\n"),
        Agreement::SameEnd(last) => {
            let _ = writeln!(
                text,
                "reproduced: {} comes to no end, as recorded",
                names.call(&last.call)
            );
        }
        Agreement::Different(difference) => {
            let sides = names.sides(difference);
            let _ = writeln!(
                text,
                "not reproduced: {}\n  recorded: {}\n  now:      {}",
                sides.call, sides.recorded, sides.replayed
            );
        }
    }
    if let Some(end) = end {
        let _ = writeln!(text, "the process of the FMU: {end}");
    }
    text
}

/// Names of variables.
struct Names<'a>(&'a ModelDescription);

impl Names<'_> {
    fn name(&self, handle: Handle, kind: VariableType) -> String {
        let is_it = |attributes: &TypeAttributes| match attributes {
            TypeAttributes::Real(_) => kind == VariableType::Real,
            TypeAttributes::Integer { .. } | TypeAttributes::Enumeration { .. } => {
                kind == VariableType::Integer
            }
            TypeAttributes::Boolean { .. } => kind == VariableType::Boolean,
            TypeAttributes::String { .. } => kind == VariableType::String,
        };
        let mut variables = self.0.variables.iter();
        let variable = variables.find(|v| v.value_reference == handle && is_it(&v.kind));
        variable.map_or_else(|| format!("#{handle}"), |v| v.name.clone())
    }

    fn value(&self, handle: Handle, value: &Datum) -> String {
        let kind = match value {
            Datum::Real(_) => VariableType::Real,
            Datum::Integer(_) => VariableType::Integer,
            Datum::Boolean(_) => VariableType::Boolean,
            Datum::String(_) => VariableType::String,
        };
        self.name(handle, kind)
    }

    fn reals(&self, handles: &[Handle]) -> String {
        /// Names that a line shows.
        const SHOWN: usize = 4;
        let shown = handles.iter().take(SHOWN);
        let names: Vec<String> = shown.map(|h| self.name(*h, VariableType::Real)).collect();
        let more = if handles.len() > SHOWN { ", …" } else { "" };
        names.join(", ") + more
    }

    /// The call with its arguments.
    fn call(&self, call: &Call) -> String {
        let function = call.function();
        match call {
            Call::SetReals { handles, .. }
            | Call::GetReals { handles }
            | Call::SetInputDerivatives { handles, .. }
            | Call::OutputDerivatives { handles, .. } => {
                format!("{function}({})", self.reals(handles))
            }
            Call::DirectionalDerivative { unknowns, .. } => {
                format!("{function}({})", self.reals(unknowns))
            }
            Call::SetValue { handle, value } => {
                format!("{function}({} = {value})", self.value(*handle, value))
            }
            Call::GetValue { handle, value } => {
                format!("{function}({})", self.value(*handle, value))
            }
            Call::Step { time, step } => {
                format!("{function} at t = {} s by {} s", short(*time), short(*step))
            }
            _ => function.to_owned(),
        }
    }

    fn answer(&self, call: &Call, answer: Option<&Answer>) -> String {
        match answer {
            None => "no answer: the process ended in this call, or before the next one".to_owned(),
            Some(Answer::Done) => "done".to_owned(),
            Some(Answer::Terminated(time)) => {
                format!("the FMU ends the simulation at t = {} s", short(*time))
            }
            Some(Answer::Value(value)) => value.to_string(),
            Some(Answer::Fault { message, .. }) => message.clone(),
            Some(Answer::Reals(values)) => {
                let handles: &[Handle] = match call {
                    Call::GetReals { handles } | Call::OutputDerivatives { handles, .. } => handles,
                    Call::DirectionalDerivative { unknowns, .. } => unknowns,
                    _ => &[],
                };
                let pairs = handles.iter().zip(values);
                let pair = |(handle, value): (&Handle, &f64)| {
                    format!("{} = {value}", self.name(*handle, VariableType::Real))
                };
                pairs.map(pair).collect::<Vec<_>>().join(", ")
            }
            Some(_) => "an answer of another version".to_owned(),
        }
    }

    /// Both sides of a difference; of values only those that differ.
    fn sides(&self, difference: &Difference) -> Sides {
        let Difference { recorded, replayed } = difference;
        let side = |exchange: &Option<Exchange>| match exchange {
            None => "not made".to_owned(),
            Some(Exchange { call, answer }) => self.answer(call, answer.as_ref()),
        };
        let call = recorded.as_ref().or(replayed.as_ref());
        let call = call.map_or_else(String::new, |exchange| self.call(&exchange.call));
        if let (Some(before), Some(now)) = (recorded, replayed)
            && let (Call::GetReals { handles }, Some(Answer::Reals(a)), Some(Answer::Reals(b))) =
                (&before.call, &before.answer, &now.answer)
        {
            let both = handles.iter().zip(a.iter().zip(b));
            let differ = both.filter(|(_, (a, b))| a.to_bits() != b.to_bits());
            let (mut one, mut other) = (Vec::new(), Vec::new());
            for (handle, (a, b)) in differ {
                let name = self.name(*handle, VariableType::Real);
                one.push(format!("{name} = {a}"));
                other.push(format!("{name} = {b}"));
            }
            return Sides {
                call,
                recorded: one.join(", "),
                replayed: other.join(", "),
            };
        }
        Sides {
            call,
            recorded: side(recorded),
            replayed: side(replayed),
        }
    }
}
