//! Reports of runs as HTML pages: which signals they show, and their files.
//!
//! A feature of all runs. `gyrator report` also writes pages of results.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use gyrator_pictures::graph::Diagram;
use gyrator_pictures::plot::{Choice, UnknownName, choose};
use gyrator_pictures::report::{Drawing, Page};
use gyrator_record::{ALL_TIMES, Column, Decimated, ReadTableError, ResultFile};
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use crate::failure::Failure;
use crate::feature::{Ending, Feature, Needs};
use crate::overwriting::{self, Named};
use crate::summary::Summary;
use crate::{picture, profile};

/// Signals that a page shows if none are named; more are more than a reader looks at.
const MOST: usize = 40;

/// Bytes of a graph that a page takes: a third of what its signals have at most.
const LARGEST_GRAPH: usize = 100_000;

/// Components of a graph that is drawn: the labels of more are too small to be read.
const MOST_COMPONENTS: usize = 200;

/// The beginning of a page.
const DOCTYPE: &str = "<!doctype html>";

// Whether the run is reported as a page.
#[derive(Args)]
pub(crate) struct ReportOptions {
    /// Write the report of the run with its signals: one HTML page that opens offline
    #[arg(long, value_name = "FILE.html", value_parser = picture::html, help_heading = "Results")]
    report: Option<PathBuf>,
}

impl Feature for ReportOptions {
    fn output(&self) -> Option<Named<'_>> {
        let path = self.report.as_deref();
        path.map(|path| ("--report", path))
    }

    fn is_earlier(&self, output: &Path) -> bool {
        is_page(output)
    }

    fn needs(&self) -> Needs {
        let is_wanted = self.report.is_some();
        Needs {
            variables: is_wanted,
            summary: is_wanted,
            drawing: is_wanted,
            times: is_wanted,
            ..Needs::default()
        }
    }

    fn summarize<'a>(&'a self, ending: &Ending<'_>, summary: &mut Summary<'a>) {
        let profile = ending.profile.filter(|_| self.report.is_some());
        summary.component_times = profile.map(profile::of_fmus);
    }

    fn write(&self, ending: &Ending<'_>, summary: &Summary<'_>) -> Result<(), Failure> {
        let Some(path) = &self.report else {
            return Ok(());
        };
        match ending.report {
            Some(_) => {
                let drawing = ending.drawing.cloned().unwrap_or_default();
                write(path, summary, drawing, ending.remarks)
            }
            None => write_kept(path, summary, ending.rows),
        }
    }
}

/// The columns of a page, with the error bars of signals after them, and how many signals are left out.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) columns: Vec<usize>,
    left_out: usize,
}

impl Shown {
    /// The columns of these names, or the usual ones.
    ///
    /// # Errors
    /// A name that no column has.
    pub(crate) fn of(columns: &[Column], names: &[String]) -> Result<Self, UnknownName> {
        let Choice {
            columns: chosen,
            is_named,
        } = choose(columns, names)?;
        let name = |place: &usize| columns[*place].name.as_str();
        let all: BTreeSet<&str> = chosen.iter().map(name).collect();
        let is_bar_of = |place: &usize, signals: &BTreeSet<&str>| {
            let signal = name(place).strip_prefix("error.");
            signal.is_some_and(|signal| signals.contains(signal))
        };
        let is_bar = |place: &usize| is_bar_of(place, &all);
        let signals = chosen.iter().filter(|place| !is_bar(place));
        let most = if is_named { usize::MAX } else { MOST };
        let signals: Vec<usize> = signals.copied().collect();
        let kept = &signals[..signals.len().min(most)];
        let bars = chosen.iter().filter(|place| is_bar(place));
        let names: BTreeSet<&str> = kept.iter().map(name).collect();
        let bars = bars.filter(|bar| is_bar_of(bar, &names));
        Ok(Self {
            columns: kept.iter().chain(bars).copied().collect(),
            left_out: signals.len() - kept.len(),
        })
    }

    /// Remarks on the choice, for the reader.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let remark = |count| {
            format!(
                "{count} more signals are not drawn; `gyrator report RESULT NAME… -o FILE.html` draws those that are named."
            )
        };
        (self.left_out > 0)
            .then(|| remark(self.left_out))
            .into_iter()
            .collect()
    }
}

/// The signals of a result file.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn drawing(file: &ResultFile, shown: &Shown) -> Result<Drawing, ReadTableError> {
    let stretches = Drawing::stretches(shown.columns.len());
    let decimated = Decimated::read(file, &shown.columns, stretches, ALL_TIMES)?;
    Ok(Drawing::from(&decimated))
}

/// The graph of the system that a summary describes, as SVG; `None` if it has none, or one that is too large.
fn graph_of(summary: &Value) -> Option<String> {
    graph(&Diagram::deserialize(&summary["graph"]).ok()?)
}

/// A graph for a page, as SVG; `None` if it is too large.
pub(crate) fn graph(diagram: &Diagram) -> Option<String> {
    let is_small = diagram.components() <= MOST_COMPONENTS;
    let svg = is_small.then(|| gyrator_pictures::graph::svg(diagram));
    svg.filter(|svg| svg.len() <= LARGEST_GRAPH)
}

/// Writes the page of a run whole; it overwrites only another page.
///
/// # Errors
/// A file that cannot be written, or that is not a page.
pub(crate) fn write(
    path: &Path,
    summary: &impl Serialize,
    drawing: Drawing,
    remarks: &[String],
) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let summary: Value = serde_json::to_value(summary)?;
        let graph = graph_of(&summary);
        let page = Page {
            summary: &summary,
            drawing: &drawing.with_units(&summary),
            graph: graph.as_deref(),
            remarks,
            live: None,
        };
        overwriting::replace(path, &page.html(), is_page, "the file is no page")
    };
    write().map_err(|error| Failure::not_written(format!("the report {}", path.display()), &error))
}

/// As [`write`], with the signals of the rows that are left of a run without a report.
fn write_kept(path: &Path, summary: &impl Serialize, rows: Option<&Path>) -> Result<(), Failure> {
    let kept = rows.and_then(|rows| ResultFile::open(rows).ok());
    let shown = kept
        .as_ref()
        .and_then(|file| Shown::of(file.columns(), &[]).ok());
    let shown = shown.unwrap_or_default();
    // The fault also stands in the page without them.
    let drawing = kept.and_then(|file| drawing(&file, &shown).ok());
    write(path, summary, drawing.unwrap_or_default(), &shown.remarks())
}

/// Whether a file may be a page.
fn is_page(path: &Path) -> bool {
    overwriting::begins_with(path, DOCTYPE)
}

#[cfg(test)]
mod tests {
    use gyrator_record::ColumnType;

    use super::*;

    #[test]
    fn at_most_forty_signals_are_drawn_with_their_bars() {
        let signals = (0..50).map(|k| format!("a.x{k}"));
        let names = signals
            .clone()
            .chain(signals.map(|name| format!("error.{name}")));
        let columns: Vec<Column> = names
            .map(|name| Column::new(name, ColumnType::Real))
            .collect();
        let shown = Shown::of(&columns, &[]).unwrap();
        assert_eq!((shown.columns.len(), shown.left_out), (80, 10));
        assert!(shown.remarks()[0].starts_with("10 more signals"));
        let shown = Shown::of(&columns, &["a.x1*".to_owned()]).unwrap();
        assert_eq!((shown.columns.len(), shown.left_out), (22, 0));
        assert!(Shown::of(&columns, &["b".to_owned()]).is_err());
    }

    #[test]
    fn only_pages_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.html");
        let write = || write(&path, &Value::Null, Drawing::default(), &[]);
        write().unwrap();
        write().unwrap();
        assert!(is_page(&path));
        std::fs::write(&path, "time,x\n").unwrap();
        assert!(!is_page(&path));
        assert!(write().unwrap_err().text().contains("the file is no page"));
    }
}
