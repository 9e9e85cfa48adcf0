//! Rules for which the FMU has to run: each in a process of its own, so that a crash, a hang or an
//! `exit` becomes a finding that names the call.
//!
//! [`examine`] starts this program once more for each rule; the program has to call
//! `gyrator_worker::hook` first thing in its `main`, and [`perform`] in the worker.

mod trajectory;
mod trial;

pub(crate) use trajectory::Outputs;
pub use trajectory::Trajectory;
pub(crate) use trial::STEPS;
pub use trial::{Stop, Trial};

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gyrator_worker::{Ending, Outcome, Supervisor};
use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Severity};
use crate::rule::{Check, Rule};
use crate::rules::{REHEARSAL, rule, rules};

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

/// What a worker has to do.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    fmu: PathBuf,
    rule: u8,
    /// Where the worker leaves what it finds.
    report: PathBuf,
    /// A folder of its own, which nothing else uses.
    scratch: PathBuf,
}

/// What a worker leaves, a line each.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Finding(Finding),
    Trajectory(Trajectory),
}

/// Runs the FMU under all dynamic rules.
///
/// The first of them only runs it; where that fails, the others have nothing to add.
///
/// # Errors
/// If there can be no worker.
pub fn examine(fmu: &Path, options: &Options) -> io::Result<Vec<Finding>> {
    let fmu = std::path::absolute(fmu)?;
    let mut findings = examine_rule(&fmu, &REHEARSAL, options)?;
    let has_failed = |finding: &Finding| finding.severity == Severity::Fatal;
    if findings.iter().any(has_failed) {
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
    if let (Some(first), Some(second)) = (first, second)
        && let Some(difference) = first.difference(&second)
    {
        let message = format!("two runs in two processes differ: {difference}");
        findings.push(of_rule(rule, rule.severity, message));
    }
    Ok(findings)
}

/// Runs the FMU in a worker under one rule.
fn run(
    fmu: &Path,
    rule: &Rule,
    options: &Options,
) -> io::Result<(Vec<Finding>, Option<Trajectory>)> {
    let folder = tempfile::Builder::new()
        .prefix("gyrator-validate-")
        .tempdir()?;
    let job = Job {
        fmu: fmu.to_owned(),
        rule: rule.number,
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
    let (mut findings, mut trajectory) = (Vec::new(), None);
    for line in std::fs::read_to_string(&job.report)
        .unwrap_or_default()
        .lines()
    {
        match serde_json::from_str(line) {
            Ok(Line::Finding(finding)) => findings.push(finding),
            Ok(Line::Trajectory(found)) => trajectory = Some(found),
            // Cut off by a death, which is told below.
            Err(_) => {}
        }
    }
    findings.extend(death(rule, &ending));
    Ok((findings, trajectory))
}

fn death(rule: &Rule, ending: &Ending) -> Option<Finding> {
    match &ending.outcome {
        Outcome::Finished(_) => None,
        Outcome::Died(death) => {
            let severity = rule.severity.max(Severity::Error);
            Some(of_rule(rule, severity, death.to_string()))
        }
    }
}

fn of_rule(rule: &Rule, severity: Severity, message: String) -> Finding {
    Finding {
        rule: rule.number,
        severity,
        message,
        line: None,
        column: None,
    }
}

/// Does what [`examine`] has asked a worker for.
///
/// # Errors
/// If the job is not one of [`examine`], or its files cannot be written.
pub fn perform(job: &[u8]) -> io::Result<()> {
    let job: Job = serde_json::from_slice(job)?;
    let rule = rule(job.rule).ok_or_else(|| io::Error::other("there is no such rule"))?;
    std::env::set_current_dir(&job.scratch)?;
    let mut report = std::fs::File::create(&job.report)?;
    let mut write = |line: &Line| -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        report.write_all(&text)
    };
    let mut trial = Trial::new(rule, &job.fmu, &job.scratch);
    let outcome = match rule.check {
        Check::Dynamic(check) => check(&mut trial),
        Check::Repeated(check) => check(&mut trial)
            .and_then(|trajectory| write(&Line::Trajectory(trajectory)).map_err(Stop::Io)),
        Check::Archive(_) | Check::Description(_) => Ok(()),
    };
    for finding in trial.findings {
        write(&Line::Finding(finding))?;
    }
    if let Err(stop) = outcome {
        let message = stop.to_string();
        let (number, severity) = match stop {
            // What rule V-05 looks for without loading.
            Stop::Load(_) => (5, Severity::Fatal),
            _ => (rule.number, rule.severity),
        };
        let finding = of_rule(rule, severity, message);
        write(&Line::Finding(Finding {
            rule: number,
            ..finding
        }))?;
    }
    Ok(())
}
