//! The checks of a run: their options, what was found of them, for people and as JUnit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use gyrator::graph::Graph;
use gyrator_assess::{Checks, Finding, Judging, Outcome, checks};
use gyrator_system::Experiment;
use gyrator_worker::surroundings;

use crate::failure::Failure;
use crate::input_kind::{self, Wanted};
use crate::numbers::count;
use crate::overwriting::Named;
use crate::{junit, screen};

/// Checks that are shown to people where they do not hold; programs get all.
const SHOWN: usize = 20;

// Checks of a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct CheckOptions {
    /// Check signals, energies and verdict during the run with the checks of this file; exit code 6 if one fails
    #[arg(long, value_name = "FILE.toml", conflicts_with = "initialize_only")]
    check: Option<PathBuf>,
    /// Write the results of the checks as JUnit XML, for build servers, even if the run fails
    #[arg(long, value_name = "FILE.xml", requires = "check")]
    junit: Option<PathBuf>,
}

impl CheckOptions {
    /// The file of checks, if there is one.
    pub(crate) fn input(&self) -> Option<Named<'_>> {
        self.check.as_deref().map(|path| ("the checks", path))
    }

    /// The file that is written, by its option.
    pub(crate) fn output(&self) -> Option<Named<'_>> {
        self.junit.as_deref().map(|path| ("--junit", path))
    }

    /// Reads the checks.
    pub(crate) fn read(&self) -> Result<Option<Checks>, Failure> {
        let Some(path) = &self.check else {
            return Ok(None);
        };
        input_kind::expect(path, Wanted::Checks)?;
        Ok(Some(checks::read(path)?))
    }

    /// The findings of a run that did not begin or has crashed, for the reason `why`.
    pub(crate) fn not_judged(&self, why: &str) -> Vec<Finding> {
        match self.read() {
            Ok(Some(checks)) => checks.not_judged(why),
            _ => Vec::new(),
        }
    }

    /// Writes the findings as JUnit, where that was asked for. `trouble` says why the run is no good whatever the checks
    /// found.
    pub(crate) fn write(
        &self,
        system: &Path,
        findings: &[Finding],
        trouble: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(path) = &self.junit else {
            return Ok(());
        };
        let text = junit::report(&system.display().to_string(), findings, trouble);
        let written = text.and_then(|text| {
            surroundings::in_own(|| match path.is_file() && !junit::is_report(path) {
                true => Err(std::io::Error::other("the file is not a JUnit report")),
                false => screen::file(path, &text),
            })
        });
        written.map_err(|error| {
            Failure::not_written(format!("the JUnit report {}", path.display()), &error)
        })
    }
}

/// Finds what the checks are about in the system.
pub(crate) fn judging(
    checks: &Checks,
    graph: &Graph,
    experiment: &Experiment,
) -> Result<Judging, Failure> {
    let start = experiment.start();
    let stop = experiment.stop_time.as_ref().map(|time| time.value);
    Ok(Judging::new(checks, graph, start, stop)?)
}

/// The failure with the checks that do not hold.
pub(crate) fn named(failure: Failure, findings: &[Finding]) -> Failure {
    let failed = findings
        .iter()
        .filter(|finding| finding.outcome == Outcome::Failed);
    failed.fold(failure, |failure, finding| {
        failure.detail(finding.to_string())
    })
}

/// How many checks do not hold, in words; `None` where all hold.
pub(crate) fn failed(findings: &[Finding]) -> Option<String> {
    let failed = findings.iter().filter(|finding| !finding.holds()).count();
    let of = count(findings.len() as u64, "check");
    (failed > 0).then(|| match (failed, findings.len()) {
        (1, 1) => "the check does not hold".to_owned(),
        (1, _) => format!("1 of {of} does not hold"),
        _ => format!("{failed} of {of} do not hold"),
    })
}

/// How many checks hold, and a line for each that does not.
pub(crate) fn table(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let hold = findings.iter().filter(|finding| finding.holds()).count();
    let mut text = format!("checks: {hold} of {} hold\n", findings.len());
    let others = findings.iter().filter(|finding| !finding.holds());
    for finding in others.take(SHOWN) {
        let _ = writeln!(text, "{finding}");
    }
    let more = (findings.len() - hold).saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "and {more} more, which --summary and --junit list");
    }
    text
}
