//! Rules for which the FMU has to run: each in a process of its own, so that a crash, a hang or an
//! `exit` becomes a finding that names the call.
//!
//! [`examine`] starts this program once more for each rule; the program has to call
//! `gyrator_worker::hook` first thing in its `main`, and [`perform`] in the worker.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gyrator_fmu::{LoadError, ModelDescription, OpenOptions};
use gyrator_worker::{Supervisor, WorkerOutcome};
use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Severity};
use crate::reference::{self, Experiment, Recording, Reference};
use crate::rule::{Check, Rule};
use crate::rules::{MEETS_REFERENCE, REHEARSAL, rule, rules};
pub use crate::trajectory::Trajectory;
pub use crate::trial::{Stop, Trial};

/// How FMUs are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Longest time for one call.
    pub timeout: Duration,
    /// Most memory that the FMU may use, bytes.
    pub memory_limit: Option<u64>,
    /// Command line of the worker, by which the program finds its way to [`perform`].
    pub arguments: Vec<OsString>,
}

/// Work of one worker process.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    fmu: PathBuf,
    task: Task,
    /// The file in which the worker leaves what it finds.
    report: PathBuf,
    /// A folder of its own, which nothing else uses.
    scratch: PathBuf,
}

/// One of the things that a worker does.
#[derive(Debug, Serialize, Deserialize)]
enum Task {
    /// Runs the FMU under the rule of this number.
    Rule(u8),
    /// Records a run that is to be compared with a reference.
    Record {
        experiment: Experiment,
        input: Option<PathBuf>,
        names: Vec<String>,
        /// End of the reference, s.
        end: f64,
    },
}

/// Output of a worker, a line each.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Finding(Finding),
    Trajectory(Trajectory),
    Recording(Recording),
}

/// Runs the FMU under all dynamic rules.
///
/// The first of them only runs it; if that fails, the others have nothing to add.
///
/// # Errors
/// If the worker cannot be made.
pub fn examine(fmu: &Path, options: &Options) -> io::Result<Vec<Finding>> {
    let fmu = std::path::absolute(fmu)?;
    let mut findings = examine_rule(&fmu, &REHEARSAL, options)?;
    if !findings.is_empty() {
        return Ok(findings);
    }
    let others = rules().filter(|rule| rule.is_dynamic() && rule.number != REHEARSAL.number);
    for rule in others {
        findings.extend(examine_rule(&fmu, rule, options)?);
    }
    Ok(findings)
}

fn examine_rule(fmu: &Path, rule: &Rule, options: &Options) -> io::Result<Vec<Finding>> {
    let (mut findings, first) = run(fmu, rule, options)?;
    if !matches!(rule.check, Check::Repeated(_)) || !findings.is_empty() {
        return Ok(findings);
    }
    let (more, second) = run(fmu, rule, options)?;
    findings.extend(more);
    match (first, second) {
        (Some(first), Some(second)) => {
            let difference = first.difference(&second).map(|difference| {
                let message = format!("two runs in two processes differ: {difference}");
                Finding::new(rule.number, rule.severity, message)
            });
            findings.extend(difference);
        }
        _ if findings.is_empty() => findings.push(without_results(rule)),
        _ => {}
    }
    Ok(findings)
}

/// Runs the FMU in a worker under one rule.
fn run(
    fmu: &Path,
    rule: &Rule,
    options: &Options,
) -> io::Result<(Vec<Finding>, Option<Trajectory>)> {
    let (lines, death) = start(fmu, Task::Rule(rule.number), options)?;
    let (mut findings, mut trajectory) = (Vec::new(), None);
    for line in lines {
        match line {
            Line::Finding(finding) => findings.push(finding),
            Line::Trajectory(found) => trajectory = Some(found),
            Line::Recording(_) => {}
        }
    }
    let severity = rule.severity.max(Severity::Error);
    findings.extend(death.map(|death| Finding::new(rule.number, severity, death)));
    Ok((findings, trajectory))
}

/// Runs the FMU as a reference was run, and compares.
///
/// # Errors
/// If there can be no worker.
pub fn meets(
    fmu: &Path,
    model: &ModelDescription,
    reference: &Reference,
    options: &Options,
) -> io::Result<Vec<Finding>> {
    let task = Task::Record {
        experiment: reference.experiment,
        input: reference
            .input
            .as_deref()
            .map(std::path::absolute)
            .transpose()?,
        names: reference
            .results
            .series
            .iter()
            .map(|series| series.name.clone())
            .collect(),
        end: reference.results.time.last().copied().unwrap_or(0.0),
    };
    let (lines, death) = start(&std::path::absolute(fmu)?, task, options)?;
    let (mut findings, mut recording) = (Vec::new(), None);
    for line in lines {
        match line {
            Line::Finding(finding) => findings.push(finding),
            Line::Recording(found) => recording = Some(found),
            Line::Trajectory(_) => {}
        }
    }
    findings
        .extend(death.map(|death| Finding::new(MEETS_REFERENCE.number, Severity::Fatal, death)));
    match recording {
        Some(recording) => {
            findings.extend(reference::compare(model, &recording.into(), reference));
        }
        None if findings.is_empty() => findings.push(without_results(&MEETS_REFERENCE)),
        None => {}
    }
    Ok(findings)
}

/// Starts a worker; returns what it has left, and how it died if it did.
fn start(fmu: &Path, task: Task, options: &Options) -> io::Result<(Vec<Line>, Option<String>)> {
    let folder = tempfile::Builder::new()
        .prefix("gyrator-validate-")
        .tempdir()?;
    let job = Job {
        fmu: fmu.to_owned(),
        task,
        report: folder.path().join("report"),
        scratch: folder.path().join("scratch"),
    };
    std::fs::create_dir(&job.scratch)?;
    let ending = Supervisor::new()
        .job(&serde_json::to_vec(&job)?)
        .arguments(options.arguments.iter().cloned())
        .timeout(Some(options.timeout))
        .memory_limit(options.memory_limit)
        .supervise(&gyrator_worker::Stop::default())?;
    let bytes = std::fs::read(&job.report).unwrap_or_default();
    // The last line may be cut off by the worker's death, which is reported anyway.
    let lines = String::from_utf8_lossy(&bytes)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let death = match ending.outcome {
        WorkerOutcome::Finished(_) => None,
        WorkerOutcome::Died(death) => Some(death.to_string()),
    };
    Ok((lines, death))
}

/// A worker that says nothing, whose FMU has kept no rule either.
fn without_results(rule: &Rule) -> Finding {
    let severity = rule.severity.max(Severity::Error);
    Finding::new(rule.number, severity, "the run left no results".to_owned())
}

/// Does what [`examine`] or [`meets`] has asked a worker for; FMUs are opened with `open`.
///
/// # Errors
/// If the job is not one of theirs, or its files cannot be written.
pub fn perform(job: &[u8], mut open: OpenOptions) -> io::Result<()> {
    let job: Job = serde_json::from_slice(job)?;
    // The working directory changes before the FMU is opened.
    for path in open.library_path.iter_mut().chain(&mut open.cache) {
        *path = std::path::absolute(&*path)?;
    }
    std::env::set_current_dir(&job.scratch)?;
    let mut report = std::fs::File::create(&job.report)?;
    for line in work(&job, open)? {
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        report.write_all(&text)?;
    }
    Ok(())
}

fn work(job: &Job, open: OpenOptions) -> io::Result<Vec<Line>> {
    let number = match &job.task {
        Task::Rule(number) => *number,
        Task::Record { .. } => MEETS_REFERENCE.number,
    };
    let rule = rule(number).ok_or_else(|| io::Error::other("there is no such rule"))?;
    let mut trial = Trial::new(rule.number, rule.severity, &job.fmu, &job.scratch, open);
    let mut lines = Vec::new();
    let outcome = match (&job.task, rule.check) {
        (Task::Record { .. }, _) => record(&trial, &job.task).map(|recording| {
            lines.extend(recording.map(Line::Recording));
        }),
        (_, Check::Dynamic(check)) => check(&mut trial),
        (_, Check::Repeated(check)) => check(&mut trial).map(|trajectory| {
            lines.push(Line::Trajectory(trajectory));
        }),
        _ => Ok(()),
    };
    lines.extend(trial.findings.into_iter().map(Line::Finding));
    if let Err(stop) = outcome {
        let (number, severity) = match stop {
            // It was loaded, and refuses what the rule tries.
            Stop::Load(LoadError::Instantiate { .. }) => (rule.number, rule.severity),
            // Rule V-05 looks for this without loading.
            Stop::Load(_) => (5, Severity::Fatal),
            // Allowed, if only for other step sizes than the one that was tried.
            Stop::Discarded(_) => (rule.number, Severity::Warning),
            _ => (rule.number, rule.severity),
        };
        let finding = Finding::new(number, severity, stop.to_string());
        lines.push(Line::Finding(finding));
    }
    Ok(lines)
}

fn record(trial: &Trial, task: &Task) -> Result<Option<Recording>, Stop> {
    let Task::Record {
        experiment,
        input,
        names,
        end,
    } = task
    else {
        return Ok(None);
    };
    let input = input
        .as_deref()
        .map(reference::read_table)
        .transpose()
        .map_err(|error| Stop::Io(io::Error::other(error.to_string())))?;
    reference::run(&trial.open()?, experiment, input.as_ref(), names, *end).map(Some)
}
