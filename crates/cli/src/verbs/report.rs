//! `gyrator report`: the report of a run that is over.

use std::path::PathBuf;

use clap::Args;
use gyrator_record::ResultFile;
use serde_json::Value;

use super::plot::{not_known, open, refuse_empty};
use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::overwriting::{self, Named};
use crate::picture;
use crate::report_page::{self, Shown};
use crate::screen;
use crate::table_options::{TimeOptions, not_read};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The result, CSV, Parquet or Arrow
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// Draw these columns; * and ? stand for any text and any character [default: the signals, and the residual power
    /// and energy of bonds, 40 in all]
    #[arg(value_name = "VARIABLE")]
    variables: Vec<String>,
    /// The summary of the run: verdict, energies, settings and provenance, which a CSV result does not contain
    #[arg(long, value_name = "FILE.json")]
    summary: Option<PathBuf>,
    #[command(flatten)]
    time: TimeOptions,
    /// Write the page
    #[arg(long, short = 'o', value_name = "FILE.html", value_parser = picture::html)]
    output_file: PathBuf,
}

/// Writes the report.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let mut inputs: Vec<Named<'_>> = vec![("the result", &options.result)];
    let summary = options.summary.as_deref();
    inputs.extend(summary.map(|path| ("the summary", path)));
    overwriting::refuse(&[("--output-file", &options.output_file)], &inputs)?;
    let file = open(&[&options.result], &options.time)?.remove(0);
    let summary = summary_of(options, &file)?;
    let shown = Shown::of(file.columns(), &options.variables);
    let shown = shown.map_err(|unknown| not_known(&unknown, &file))?;
    let drawing = report_page::drawing(&file, &shown);
    let drawing = drawing.map_err(|error| not_read(&error, &options.result))?;
    let mut remarks = shown.remarks();
    let size = [drawing.rows(), 1 + file.columns().len() as u64];
    if let Some(warning) = other_run(options, &summary, size) {
        screen::message(&format!("warning: {warning}\n"));
        remarks.push(warning);
    }
    if summary.is_null() {
        refuse_empty(&file, drawing.rows())?;
        remarks.push(
            "This page shows signals only. Verdict, energies, settings and provenance stand in the summary of the \
             run: --summary FILE.json of `gyrator run` writes it, and --summary FILE.json of `gyrator report` reads it. \
             A Parquet result holds it."
                .to_owned(),
        );
    }
    report_page::write(&options.output_file, &summary, drawing, &remarks)?;
    Ok(Exit::Success)
}

/// A warning if the result of the run of the summary has other rows and columns than the given one.
fn other_run(options: &Options, summary: &Value, size: [u64; 2]) -> Option<String> {
    let path = options.summary.as_ref()?;
    let of_summary = ["rows", "columns"].map(|key| summary["output"][key].as_u64());
    let [Some(rows), Some(columns)] = of_summary else {
        return None;
    };
    ([rows, columns] != size).then(|| {
        format!(
            "{} is the summary of a run whose result has {rows} rows and {columns} columns; {} has {} rows and {} columns",
            path.display(),
            options.result.display(),
            size[0],
            size[1]
        )
    })
}

/// The summary that is given, or that the result holds; null if there is none.
fn summary_of(options: &Options, file: &ResultFile) -> Result<Value, Failure> {
    let Some(path) = &options.summary else {
        let text = file.metadata("gyrator.summary");
        return Ok(text
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default());
    };
    let invalid = |text: String| {
        let text = format!("the summary {}: {text}", path.display());
        Failure::new(Exit::InvalidInput, Message::error(text))
    };
    let text = std::fs::read_to_string(path).map_err(|error| invalid(error.to_string()))?;
    let summary: Value = serde_json::from_str(&text)
        .map_err(|error| invalid(format!("this is not JSON: {error}")))?;
    match summary.get("stop_reason") {
        Some(_) => Ok(summary),
        None => Err(invalid(
            "this is not a summary of a run: it has no `stop_reason`".to_owned(),
        )),
    }
}
