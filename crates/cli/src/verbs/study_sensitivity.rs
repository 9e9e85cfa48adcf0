//! `gyrator study sensitivity`: how much each parameter of a study matters.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use gyrator_study::{Metric, NoSensitivity, Sensitivities};
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::input_kind::{self, Wanted};
use crate::numbers::count;
use crate::screen;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The study file, with a block `sampling = "saltelli"` or `"morris"`
    #[arg(value_name = "STUDY.toml")]
    study: PathBuf,
    /// The complete table of the study, in any form [default: the name of the study file with the extension .csv]
    #[arg(value_name = "TABLE")]
    table: Option<PathBuf>,
    /// Analyse this column of the table [repeatable] [default: all `metrics` of the study file]
    #[arg(long, value_name = "COLUMN")]
    metric: Vec<String>,
    /// Write the figures as JSON to the standard output
    #[arg(long)]
    json: bool,
}

/// The figures of one metric, for programs.
#[derive(Serialize)]
struct Analysed<'a> {
    metric: &'a str,
    variant: Option<&'a str>,
    groups: usize,
    left_out: usize,
    parameters: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
}

/// Prints the sensitivities of all metrics.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    input_kind::expect(&options.study, Wanted::Study)?;
    let study = gyrator_study::read(&options.study)?;
    let table = match &options.table {
        Some(table) => table.clone(),
        None => options.study.with_extension("csv"),
    };
    if study.design.is_none() {
        return Err(not_analysed(&NoSensitivity::NoDesign).help(
            "write `sampling = \"saltelli\"` (Sobol indices) or \"morris\" (elementary effects) beside `random`, and run the study",
        ));
    }
    if !table.exists() {
        let text = format!("{}: there is no such table", table.display());
        let failure = Failure::new(Exit::InvalidInput, Message::error(text));
        let study = options.study.display();
        return Err(failure.help(format!(
            "`gyrator study {study} -o {}` writes it",
            table.display()
        )));
    }
    input_kind::expect(&table, Wanted::StudyTable)?;
    let metrics = match options.metric.is_empty() {
        true => study.metrics.iter().map(Metric::column).collect(),
        false => options.metric.clone(),
    };
    if metrics.is_empty() {
        let failure = Failure::new(
            Exit::InvalidInput,
            Message::error("the study file has no `metrics`".to_owned()),
        );
        return Err(failure.help("name columns of the table with --metric"));
    }
    let found = Sensitivities::of_table(&study, &table, &metrics).map_err(|e| not_analysed(&e))?;
    let text = match options.json {
        true => {
            let found: Vec<Analysed<'_>> = found.iter().map(analysed).collect();
            screen::json(&found)?
        }
        false => {
            let texts: Vec<String> = found.iter().map(for_people).collect();
            texts.join("\n")
        }
    };
    screen::print(&text)?;
    Ok(Exit::Success)
}

fn not_analysed(error: &NoSensitivity) -> Failure {
    Failure::of(Exit::InvalidInput, error)
}

fn analysed(found: &Sensitivities) -> Analysed<'_> {
    let parameter = |(name, values): &'_ (String, Vec<f64>)| {
        let figures = found.figures.iter().zip(values);
        let figures = figures.map(|(figure, value)| ((*figure).to_owned(), (*value).into()));
        (name.clone(), figures.collect())
    };
    Analysed {
        metric: &found.metric,
        variant: found.variant.as_deref(),
        groups: found.groups,
        left_out: found.left_out,
        parameters: found.parameters.iter().map(parameter).collect(),
    }
}

fn for_people(found: &Sensitivities) -> String {
    let mut text = found.metric.clone();
    if let Some(variant) = &found.variant {
        let _ = write!(text, ", variant {variant}");
    }
    let groups = count(found.groups as u64, "group");
    let _ = write!(text, " ({groups} of points");
    if found.left_out > 0 {
        let _ = write!(
            text,
            ", {} left out: a run failed, or has no value",
            found.left_out
        );
    }
    text.push_str(")\n");
    let headings = found.figures.iter().map(|figure| (*figure, Align::Right));
    let headings: Vec<_> = [("parameter", Align::Left)]
        .into_iter()
        .chain(headings)
        .collect();
    let mut table = Aligned::new(&headings);
    for (name, figures) in &found.parameters {
        let figures = figures.iter().map(|figure| format!("{figure:.4}"));
        table.row([name.clone()].into_iter().chain(figures));
    }
    text + &table.render()
}
