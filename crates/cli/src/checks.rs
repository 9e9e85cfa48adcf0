//! The checks of a run: their options, what was found of them, for people and as JUnit.
//!
//! A feature of runs of systems.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use gyrator::{RunError, System};
use gyrator_assess::{Checks, Finding, Judging, Outcome, checks};
use gyrator_system::SystemFile;

use crate::failure::Failure;
use crate::feature::{Ending, Feature, Objection, Observing};
use crate::input_kind::{self, Wanted};
use crate::junit;
use crate::numbers::count;
use crate::overwriting::{self, Named};
use crate::summary::Summary;

/// Checks that are shown to people if they do not hold; programs get all.
const SHOWN: usize = 20;

// Checks of a run.
#[derive(Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct CheckOptions {
    /// Check signals, energies and verdict during the run with the checks of this file; exit code 6 if one fails
    #[arg(long, value_name = "FILE.toml", conflicts_with = "initialize_only")]
    check: Option<PathBuf>,
    /// Write the results of the checks as JUnit XML, for build servers, even if the run fails
    #[arg(long, value_name = "FILE.xml", requires = "check")]
    junit: Option<PathBuf>,
    #[arg(skip)]
    checks: OnceCell<Checks>,
    #[arg(skip)]
    judging: OnceCell<Judging>,
    #[arg(skip)]
    findings: OnceCell<Vec<Finding>>,
}

impl CheckOptions {
    /// The checks of the file, if there is one.
    fn checks(&self) -> Result<Option<Checks>, Failure> {
        let Some(path) = &self.check else {
            return Ok(None);
        };
        input_kind::expect(path, Wanted::Checks)?;
        Ok(Some(checks::read(path)?))
    }

    /// The findings of a run that did not begin or has crashed, for the reason `why`.
    fn not_judged(&self, why: &str) -> Vec<Finding> {
        match self.checks() {
            Ok(Some(checks)) => checks.not_judged(why.lines().next().unwrap_or_default()),
            _ => Vec::new(),
        }
    }
}

impl Feature for CheckOptions {
    fn input(&self) -> Option<Named<'_>> {
        let path = self.check.as_deref();
        path.map(|path| ("the checks", path))
    }

    fn output(&self) -> Option<Named<'_>> {
        let path = self.junit.as_deref();
        path.map(|path| ("--junit", path))
    }

    fn is_earlier(&self, output: &Path) -> bool {
        output.is_file() && junit::is_report(output)
    }

    fn read(&self) -> Result<(), Failure> {
        if let Some(checks) = self.checks()? {
            let _ = self.checks.set(checks);
        }
        Ok(())
    }

    fn prepare(&self, system: &System, file: &SystemFile) -> Result<(), Failure> {
        let Some(checks) = self.checks.get() else {
            return Ok(());
        };
        let graph = gyrator::system::resolved_graph(system)
            .map_err(|error| Failure::not_started(error, file))?;
        let stop = file.experiment.stop_time.as_ref().map(|time| time.value);
        let judging = Judging::new(checks, &graph, file.experiment.start(), stop)?;
        let _ = self.judging.set(judging);
        Ok(())
    }

    fn observe(&self, observing: &mut Observing<'_>) -> Result<(), RunError> {
        match self.judging.get() {
            Some(judging) => observing.run.observe(judging.observer()),
            None => Ok(()),
        }
    }

    fn summarize<'a>(&'a self, ending: &Ending<'_>, summary: &mut Summary<'a>) {
        let findings = match (ending.report, self.judging.get()) {
            (Some(report), Some(judging)) => judging.conclude(report),
            (Some(_), None) => Vec::new(),
            (None, _) => self.not_judged(ending.trouble.unwrap_or_default()),
        };
        let findings = self.findings.get_or_init(|| findings);
        summary.checks = findings;
        summary.check_table = table(findings);
    }

    fn objection(&self) -> Option<Objection> {
        let findings = self.findings.get()?;
        let is_failed = |finding: &&Finding| finding.outcome == Outcome::Failed;
        let details = findings.iter().filter(is_failed);
        Some(Objection {
            text: failed(findings)?,
            details: details.map(ToString::to_string).collect(),
        })
    }

    /// `trouble` of the end says in the JUnit report what is wrong with the run, whatever the checks found.
    fn write(&self, ending: &Ending<'_>, summary: &Summary<'_>) -> Result<(), Failure> {
        let Some(path) = &self.junit else {
            return Ok(());
        };
        let system = ending.system.display().to_string();
        let text = junit::report(&system, summary.checks, ending.trouble);
        let refusal = "the file is not a JUnit report";
        let write = |text: String| overwriting::replace(path, &text, junit::is_report, refusal);
        let written = text.and_then(write);
        written.map_err(|error| {
            Failure::not_written(format!("the JUnit report {}", path.display()), &error)
        })
    }
}

/// How many checks do not hold, in words; `None` if all hold.
fn failed(findings: &[Finding]) -> Option<String> {
    let failed = findings.iter().filter(|finding| !finding.holds()).count();
    let of = count(findings.len() as u64, "check");
    (failed > 0).then(|| match (failed, findings.len()) {
        (1, 1) => "the check does not hold".to_owned(),
        (1, _) => format!("1 of {of} does not hold"),
        _ => format!("{failed} of {of} do not hold"),
    })
}

/// How many checks hold, and a line for each that does not.
fn table(findings: &[Finding]) -> String {
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
