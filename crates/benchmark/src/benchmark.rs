//! A benchmark, and how it is run.

use gyrator::{RunError, StartError};
use rayon::prelude::*;

use crate::assembly::{COMPENSATED, FRESH, REFINED, STALE};
use crate::cranes;
use crate::macro_steps;
use crate::published;
use crate::reference::NotConverged;
use crate::role::{Role, RoleAssignment, RoleError};
use crate::row::{Bar, BenchmarkRow, Figure};
use crate::untuned;
use gyrator_pictures::chart::Chart;

/// A system with a known solution, in several cases, and what co-simulations of it should show.
#[derive(Debug, Clone, Copy)]
pub struct Benchmark {
    /// Name, in kebab case.
    pub name: &'static str,
    /// The system, in a line.
    pub summary: &'static str,
    /// Publication.
    pub source: &'static str,
    /// The roles of the FMUs in it.
    pub roles: &'static [Role],
    /// Its cases.
    pub cases: &'static [Case],
    /// Runs a case in all its configurations.
    pub(crate) measure:
        fn(&RoleAssignment, &'static Case, &Progress<'_>) -> Result<(), MeasureError>,
    /// Draws the counterparts of the figures of its source.
    pub(crate) figures: fn(&RoleAssignment) -> Result<Vec<Chart>, MeasureError>,
    /// Makes further rows from the rows of all cases that were run; judged if all cases were run.
    pub(crate) conclude: fn(&[BenchmarkRow]) -> Vec<BenchmarkRow>,
}

/// No further rows.
pub(crate) fn nothing_more(_: &[BenchmarkRow]) -> Vec<BenchmarkRow> {
    Vec::new()
}

/// A case of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// Name, for `--case`.
    pub name: &'static str,
    /// Distinction from the other cases.
    pub summary: &'static str,
}

impl Case {
    pub(crate) const fn new(name: &'static str, summary: &'static str) -> Self {
        Self { name, summary }
    }
}

/// A case could not be measured.
#[derive(Debug, thiserror::Error)]
#[error("{benchmark}, case {case}: {error}")]
pub struct BenchmarkError {
    /// The benchmark.
    pub benchmark: &'static str,
    /// The case.
    pub case: &'static str,
    /// Why.
    pub error: Box<MeasureError>,
}

/// Why a case could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A role cannot be filled.
    #[error(transparent)]
    RoleAssignment(#[from] RoleError),
    /// The system could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The reference solution has not converged.
    #[error(transparent)]
    Reference(#[from] NotConverged),
    /// An FMU has no such output.
    #[error("the run has no real output `{0}`")]
    NoOutput(String),
    /// A word of the benchmark's own does not fit.
    #[error("{0}")]
    NoEntry(String),
    /// The synthesis found no compensator.
    #[error(transparent)]
    Synthesis(#[from] gyrator::h_infinity::SynthesisError),
    /// Nothing was learned.
    #[error(transparent)]
    Learning(#[from] gyrator::learning::LearningError),
}

/// Takes the rows of a case, as they are measured.
pub(crate) struct Progress<'a> {
    benchmark: &'static Benchmark,
    case: &'static Case,
    is_foreign: bool,
    lacking: Option<String>,
    rows: std::sync::Mutex<Vec<BenchmarkRow>>,
    show: &'a (dyn Fn(&BenchmarkRow) + Sync),
}

impl Progress<'_> {
    /// Whether a substitute is being judged.
    pub(crate) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Takes the rows of a configuration.
    pub(crate) fn add(
        &self,
        configuration: &'static str,
        rows: impl IntoIterator<Item = BenchmarkRow>,
    ) {
        let mut all = self
            .rows
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for row in rows {
            let mut row = BenchmarkRow {
                benchmark: self.benchmark.name,
                case: self.case.name,
                configuration,
                ..row
            };
            row = published::judge(row);
            if self.is_foreign {
                row = judge_foreign(row, &all, self.lacking.as_deref());
            }
            (self.show)(&row);
            all.push(row);
        }
    }
}

/// Source of the bars for a substitute.
const FOREIGN: &str = "bar for other people's FMUs";

/// How much worse than stale outputs compensated and fresh ones may be.
const OTHER_EXCHANGE: f64 = 1.5;

/// Greatest part of its error at full steps that may remain at a tenth of them; and of the error
/// that our FMUs have at full steps.
const REMAINDERS: [f64; 2] = [0.2, 0.25];

/// The rows of our own FMUs depend on their solver to the last digit. Another FMU is judged by the
/// exact solution: its error has to vanish with the step, and other ways of exchange must not make
/// it worse. The error at full steps is not judged: with stale outputs energy grows on itself, and
/// half a step more of delay, as accurate solvers have under held inputs, can multiply it.
fn judge_foreign(
    row: BenchmarkRow,
    before: &[BenchmarkRow],
    lacking: Option<&str>,
) -> BenchmarkRow {
    let is_size = row.meaning.is_size_of_error();
    let is_stale = row.configuration == STALE.name;
    let note = lacking.filter(|_| is_stale && is_size).map(str::to_owned);
    let mut row = row.not_judged();
    row.note = note.or(row.note);
    let judged = [COMPENSATED.name, FRESH.name, REFINED.name].contains(&row.configuration);
    let stale = before
        .iter()
        .find(|other| other.metric == row.metric && other.configuration == STALE.name);
    let Some(stale) = stale.filter(|_| is_size && judged) else {
        return row;
    };
    let Figure::Number(own) = stale.measured else {
        return row;
    };
    let mut limit = OTHER_EXCHANGE * own.abs();
    if row.configuration == REFINED.name {
        limit = REMAINDERS[0] * own.abs();
        if let Some(Figure::Number(ours)) = stale.reference {
            limit = limit.min(REMAINDERS[1] * ours.abs());
        }
    }
    row.within(Bar::AtMost(limit), FOREIGN)
}

impl Benchmark {
    /// Runs the `cases`, several at a time, and gives their rows in the order of the cases, or why a
    /// case could not be measured. Each row is shown as soon as it is measured.
    pub fn run(
        &'static self,
        cases: &[&'static Case],
        roles: &RoleAssignment,
        show: &(dyn Fn(&BenchmarkRow) + Sync),
    ) -> Vec<Result<Vec<BenchmarkRow>, BenchmarkError>> {
        let run = |case: &&'static Case| {
            let progress = Progress {
                benchmark: self,
                case,
                is_foreign: roles.is_foreign(self.roles),
                lacking: roles.lacking(self.roles),
                rows: std::sync::Mutex::default(),
                show,
            };
            (self.measure)(roles, case, &progress).map_err(|error| BenchmarkError {
                benchmark: self.name,
                case: case.name,
                error: Box::new(error),
            })?;
            Ok(progress
                .rows
                .into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner))
        };
        let mut results: Vec<Result<Vec<BenchmarkRow>, BenchmarkError>> =
            cases.par_iter().map(run).collect();
        let all: Vec<BenchmarkRow> = results.iter().flatten().flatten().cloned().collect();
        let is_whole = cases.len() == self.cases.len() && results.iter().all(Result::is_ok);
        if let Some(Ok(last)) = results.last_mut() {
            for row in (self.conclude)(&all) {
                let row = BenchmarkRow {
                    benchmark: self.name,
                    ..row
                };
                let row = if is_whole { row } else { row.not_judged() };
                show(&row);
                last.push(row);
            }
        }
        results
    }

    /// The counterparts of the figures of its source.
    ///
    /// # Errors
    /// A run that is shown and cannot be made.
    pub fn figures(&self, roles: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
        (self.figures)(roles)
    }

    /// Case, configuration and metric of its rows that published figures judge: the lines of its data file.
    pub fn published(&self) -> impl Iterator<Item = [&'static str; 3]> + use<> {
        published::names(self.name)
    }

    /// The case of that name.
    #[must_use]
    pub fn case(&'static self, name: &str) -> Option<&'static Case> {
        self.cases.iter().find(|case| case.name == name)
    }

    /// Whether a case takes a minute or more, or judges by bars that are not the benchmark's own, so that it is to be run only if it
    /// or its benchmark is asked for.
    #[must_use]
    pub fn is_long(&self, case: &Case) -> bool {
        let is_search =
            self.name == cranes::BENCHMARK.name && case.name.starts_with(cranes::MAX_STEP);
        is_search || self.judges_choices()
    }

    /// Whether it judges what runs choose by themselves.
    #[must_use]
    pub fn judges_choices(&self) -> bool {
        [untuned::BENCHMARK.name, macro_steps::BENCHMARK.name].contains(&self.name)
    }

    /// The role of that name.
    #[must_use]
    pub fn role(&'static self, name: &str) -> Option<&'static Role> {
        self.roles.iter().find(|role| role.name == name)
    }
}
