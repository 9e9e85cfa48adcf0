//! The outcome of a study, for people and for programs.

use std::fmt::Write as _;
use std::path::Path;

use gyrator::Verdict;
use gyrator_study::{Group, Spread, Summary, Tally};
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::numbers::{count, figure};

/// The outcome of a study.
#[derive(Debug, Serialize)]
pub(crate) struct StudySummary<'a> {
    gyrator: &'static str,
    study: &'a Path,
    /// The table; null if rows are missing.
    table: Option<&'a Path>,
    /// Rows of the part.
    rows: usize,
    finished: usize,
    /// Of the finished ones, those that were there before.
    earlier: usize,
    failures: Vec<Failed<'a>>,
    verdicts: Vec<Judged<'a>>,
    /// Metrics over the cases, beside their numerical errors.
    spreads: &'a [Spread],
    /// Runs that were made now, also runs that are not rows.
    runs: usize,
    /// The computer's time, s.
    wall_time: f64,
    #[serde(skip)]
    tally: &'a Tally,
}

/// Rows that failed alike. Rows count from 1, as lines of the table do below its header.
#[derive(Debug, Serialize)]
struct Failed<'a> {
    stop_reason: &'a str,
    rows: usize,
    first_row: usize,
    message: &'a str,
}

/// Rows that are judged alike.
#[derive(Debug, Serialize)]
struct Judged<'a> {
    verdict: Verdict,
    rows: usize,
    first_row: usize,
    /// Advice if it diverges.
    message: Option<&'a str>,
}

impl<'a> StudySummary<'a> {
    /// Of a study file, whose rows were finished with this outcome: `earlier` ones before, the others within
    /// `wall_time`, s. `table` is written if all are there, and its metrics have these spreads.
    pub(crate) fn new(
        study: &'a Path,
        outcome: &'a Summary,
        earlier: usize,
        table: Option<&'a Path>,
        spreads: &'a [Spread],
        wall_time: f64,
    ) -> Self {
        let tally = &outcome.tally;
        let failed = |(stop_reason, group): (&'a String, &'a Group)| Failed {
            stop_reason,
            rows: group.rows,
            first_row: group.first + 1,
            message: &group.message,
        };
        let judged = |(verdict, group): (&Verdict, &'a Group)| Judged {
            verdict: *verdict,
            rows: group.rows,
            first_row: group.first + 1,
            message: (*verdict == Verdict::Diverging).then_some(&*group.message),
        };
        Self {
            gyrator: env!("CARGO_PKG_VERSION"),
            study,
            table,
            rows: outcome.total,
            finished: outcome.done,
            earlier,
            failures: tally.failures.iter().map(failed).collect(),
            verdicts: tally.verdicts.iter().map(judged).collect(),
            spreads,
            runs: outcome.done.saturating_sub(earlier) + outcome.extra_runs,
            wall_time,
            tally,
        }
    }

    /// The summary for people.
    pub(crate) fn for_people(&self) -> String {
        let mut text = outcomes(self.tally) + &spread_table(self.spreads);
        let rows = count(self.rows as u64, "row");
        let kept = match self.earlier {
            0 => String::new(),
            earlier => format!(", {earlier} of them earlier"),
        };
        // Writing into a String cannot fail.
        let _ = match self.table {
            Some(table) => writeln!(text, "{}: {rows}{kept}", table.display()),
            None => writeln!(
                text,
                "{} of {rows} finished{kept}; run the same command again to continue",
                self.finished
            ),
        };
        let runs = count(self.runs as u64, "run");
        let failed = match self.tally.failed() {
            0 => String::new(),
            failed => format!("; {failed} of {} rows failed", self.finished),
        };
        let _ = writeln!(text, "time: {runs} in {:.1} s{failed}", self.wall_time);
        text
    }
}

/// The failures and the verdicts of some rows, one line each.
pub(crate) fn outcomes(tally: &Tally) -> String {
    let mut text = String::new();
    for (reason, group) in &tally.failures {
        let runs = count(group.rows as u64, "run");
        let _ = writeln!(text, "{reason}: {runs}, one of them: {}", group.message);
    }
    let verdicts = tally.verdicts.iter();
    let verdicts: Vec<String> = verdicts
        .map(|(verdict, group)| format!("{} {verdict}", group.rows))
        .collect();
    if !verdicts.is_empty() {
        let _ = writeln!(text, "coupling error: {}", verdicts.join(", "));
    }
    text
}

/// Metrics over the cases, beside their numerical errors; nothing if none is known.
pub(crate) fn spread_table(spreads: &[Spread]) -> String {
    if spreads.is_empty() {
        return String::new();
    }
    let mut table = Aligned::new(&[
        ("metric", Align::Left),
        ("variant", Align::Left),
        ("mean", Align::Right),
        ("spread", Align::Right),
        ("numerical error", Align::Right),
        ("rows", Align::Right),
        ("without error", Align::Right),
    ]);
    for spread in spreads {
        let error = spread.numerical_error;
        let without = Some(spread.without_error).filter(|rows| *rows > 0);
        table.row([
            spread.metric.clone(),
            spread.variant.clone().unwrap_or_default(),
            figure(spread.mean),
            figure(spread.spread),
            error.map_or_else(String::new, |error| format!("≤ {}", figure(error))),
            spread.rows.to_string(),
            without.map_or_else(String::new, |rows| rows.to_string()),
        ]);
    }
    table.render()
}

/// The failure of a study of which no run could begin; `None` if one could.
pub(crate) fn without_runs(tally: &Tally, rows: usize) -> Option<Failure> {
    let kinds = [
        (tally.invalid(), Exit::InvalidInput),
        (tally.not_loaded(), Exit::NotLoaded),
    ];
    let groups = kinds
        .into_iter()
        .filter_map(|(group, exit)| Some((group?, exit)));
    let groups: Vec<_> = groups.collect();
    if groups.iter().map(|(group, _)| group.rows).sum::<usize>() < rows {
        return None;
    }
    let (group, exit) = groups.into_iter().min_by_key(|(group, _)| group.first)?;
    let text = format!("none of the runs could start: {}", group.message);
    Some(Failure::new(exit, Message::error(text)))
}

/// The failure of a study with runs that diverge; `None` if there are none.
pub(crate) fn divergence(tally: &Tally) -> Option<Failure> {
    let group = tally.verdicts.get(&Verdict::Diverging)?;
    let runs = count(group.rows as u64, "run");
    let verb = if group.rows == 1 {
        "diverges"
    } else {
        "diverge"
    };
    let text = format!(
        "{runs} {verb}, first row {} of the table: {}",
        group.first + 1,
        group.message
    );
    let failure = Failure::new(Exit::CheckFailed, Message::error(text));
    let help = "the table is complete; `accept_divergence = true` in the study file, or --accept-divergence, \
                ends such a study with exit code 0";
    Some(failure.help(help))
}
