//! `gyrator validate`: judges FMUs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use gyrator_fmu::Fmu;
use gyrator_validate::reference::{Reference, ReferenceError};
use gyrator_validate::{Finding, Report, Severity, Subject, dynamic, rule, rules};
use gyrator_worker::Worker;
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::benchmark_options::BenchmarkExecution;
use crate::exit::Exit;
use crate::failure::{Failure, Message, advice_on_missing, is_named};
use crate::fmu_options::FmuOptions;
use crate::input_kind::{self, Wanted};
use crate::numbers::count;
use crate::options::{RenameOptions, positive};
use crate::screen;
use crate::verbs::benchmark;
use crate::verbs::simulate::not_opened;

#[derive(Debug, Args)]
#[command(mut_arg("isolate", |option| option.requires("against")))]
#[command(mut_arg("worker_threads", |option| option.requires("against")))]
pub(super) struct Options {
    /// The FMUs, or modelDescription.xml files
    #[arg(value_name = "FMU", required_unless_present = "list")]
    fmus: Vec<PathBuf>,
    /// List the rules
    #[arg(long)]
    list: bool,
    /// Run the FMUs as well, each rule in a process of its own
    #[arg(long)]
    dynamic: bool,
    /// Compare a run with these results; --dynamic also finds the files of fmi-cross-check beside the FMU and the
    /// results inside it (FMI-LS-REF)
    #[arg(long, value_name = "FILE.csv", help_heading = "Reference")]
    reference: Option<PathBuf>,
    /// Feed the inputs of that run from a CSV file
    #[arg(
        long,
        value_name = "FILE.csv",
        requires = "reference",
        help_heading = "Reference"
    )]
    input: Option<PathBuf>,
    /// Times and tolerances of that run: the options file of fmi-cross-check
    #[arg(
        long,
        value_name = "FILE.opt",
        requires = "reference",
        help_heading = "Reference"
    )]
    options: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Reference")]
    names: RenameOptions,
    /// Put the FMU into this role of a benchmark, and judge the result like `gyrator benchmark`
    #[arg(
        long,
        value_name = "BENCHMARK:ROLE[,OURS=THEIRS…]",
        help_heading = "Reference"
    )]
    #[arg(conflicts_with = "json")]
    against: Option<String>,
    #[command(flatten, next_help_heading = "Reference")]
    execution: BenchmarkExecution,
    #[command(flatten)]
    open: FmuOptions,
    /// Longest time for one call of an FMU [Linux]
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    timeout: f64,
    /// Limit of memory for an FMU [Linux]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(allow_negative_numbers = true)]
    memory_limit: Option<u64>,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// Write the findings as JSON to the standard output
    #[arg(long)]
    json: bool,
}

/// Findings on one FMU.
#[derive(Debug, Serialize)]
struct Judged<'a> {
    file: &'a Path,
    /// Whether the exit code is 0 for it.
    valid: bool,
    #[serde(flatten)]
    report: Report,
}

/// Judges the FMUs.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    if let Some(worker) = Worker::current() {
        dynamic::perform(worker.job(), options.open.open_options())?;
        return Ok(Exit::Success);
    }
    if options.list {
        screen::print(&list())?;
        return Ok(Exit::Success);
    }
    let mut judged = Vec::new();
    for file in &options.fmus {
        let report = examine(file, options)?;
        judged.push(Judged {
            file,
            valid: report.worst() < Some(limit(options)),
            report,
        });
    }
    let text = if options.json {
        screen::json(&judged)?
    } else {
        judged.iter().map(for_people).collect()
    };
    screen::print(&text)?;
    let mut exit = Exit::Success;
    if !judged.iter().all(|judged| judged.valid) {
        exit = Exit::CheckFailed;
    }
    if let Some(role) = &options.against {
        for file in &options.fmus {
            match benchmark::against(role, file, &options.execution, options.timeout)? {
                Exit::Success => {}
                Exit::CheckFailed => exit = Exit::CheckFailed,
                other => return Ok(other),
            }
        }
    }
    Ok(exit)
}

/// The rules, a line each.
fn list() -> String {
    let mut table = Aligned::new(&[
        ("rule", Align::Left),
        ("severity", Align::Left),
        ("requirement", Align::Left),
        ("source", Align::Left),
    ]);
    let mut all: Vec<_> = rules().collect();
    all.sort_by_key(|rule| rule.number);
    for rule in all {
        table.row([
            format!("V-{:02}", rule.number),
            rule.severity.to_string(),
            rule.title.to_owned(),
            rule.source.to_owned(),
        ]);
    }
    table.render()
}

fn examine(file: &Path, options: &Options) -> Result<Report, Failure> {
    input_kind::expect(file, Wanted::Subject)?;
    let subject =
        Subject::read(file, options.open.limits()).map_err(|error| unreadable(file, &error))?;
    let mut report = gyrator_validate::examine_subject(&subject);
    // An FMU that cannot be read cannot be run.
    let is_readable = report.worst() < Some(Severity::Fatal) && subject.contents().is_some();
    if !is_readable {
        return Ok(report);
    }
    if options.dynamic {
        report.extend(dynamic::examine(file, &running(options))?);
    }
    if report.worst() < Some(Severity::Fatal) {
        compare(file, &subject, options, &mut report)?;
    }
    Ok(report)
}

/// Compares runs of the FMU with the references there are.
fn compare(
    file: &Path,
    subject: &Subject,
    options: &Options,
    report: &mut Report,
) -> Result<(), Failure> {
    let invalid = |error: ReferenceError| Failure::of(Exit::InvalidInput, &error);
    let mut references = Vec::new();
    if let Some(results) = &options.reference {
        let (input, experiment) = (options.input.as_deref(), options.options.as_deref());
        let mut reference = Reference::read(results, input, experiment).map_err(invalid)?;
        options.names.apply(&mut reference.results)?;
        references.push(reference);
    } else if options.dynamic {
        references.extend(Reference::beside(file).map_err(invalid)?);
        let (within, findings) = Reference::within(subject);
        references.extend(within);
        report.extend(findings);
    }
    if references.is_empty() {
        return Ok(());
    }
    let peek = Fmu::peek_with(file, options.open.limits()).map_err(|error| not_opened(&error))?;
    for reference in &references {
        let findings = dynamic::meets(file, &peek.description, reference, &running(options))?;
        report.extend(findings);
    }
    Ok(())
}

/// How FMUs are run.
fn running(options: &Options) -> dynamic::Options {
    dynamic::Options {
        timeout: Duration::try_from_secs_f64(options.timeout).unwrap_or(Duration::MAX),
        memory_limit: options.memory_limit.map(|limit| limit << 20),
        // The worker reads the same command line and finds what it has to do in its job.
        arguments: std::env::args_os().skip(1).collect(),
    }
}

/// The least severity that makes an FMU invalid.
fn limit(options: &Options) -> Severity {
    if options.strict {
        Severity::Warning
    } else {
        Severity::Error
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> Failure {
    let text = format!("{}: {error}", file.display());
    // As when it is to be run.
    let exit = match error.kind() {
        std::io::ErrorKind::NotFound if !is_named(file, "xml") => Exit::NotLoaded,
        _ => Exit::InvalidInput,
    };
    let failure = Failure::new(exit, Message::error(text));
    failure.advised(advice_on_missing(file))
}

/// The findings, a line each, under the rule that they break; and a line that counts them.
fn for_people(judged: &Judged<'_>) -> String {
    let mut text = String::new();
    let mut last = None;
    for finding in &judged.report.findings {
        if last.replace(finding.rule) != Some(finding.rule) {
            let title = rule(finding.rule).map_or("", |rule| rule.title);
            text.push_str(&format!("V-{:02} {title}\n", finding.rule));
        }
        text.push_str(&line(finding));
    }
    let name = judged.file.display();
    let verdict = if judged.valid { "valid" } else { "not valid" };
    let counts: Vec<String> = Severity::ALL
        .into_iter()
        .rev()
        .map(|severity| (judged.report.count(severity) as u64, severity))
        .filter(|(number, _)| *number > 0)
        .map(|(number, severity)| match severity {
            Severity::Fatal => count(number, "fatal finding"),
            _ => count(number, severity.name()),
        })
        .collect();
    let counts = if counts.is_empty() {
        String::new()
    } else {
        format!(": {}", counts.join(", "))
    };
    text + &format!("{name}: {verdict}{counts}\n")
}

fn line(finding: &Finding) -> String {
    let severity = finding.severity;
    let place = match (finding.line, finding.column) {
        (Some(line), Some(column)) => format!("modelDescription.xml:{line}:{column}: "),
        _ => String::new(),
    };
    format!("  {severity:7} {place}{}\n", finding.message)
}
