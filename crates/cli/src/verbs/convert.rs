//! `gyrator convert`: a result in another form.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use gyrator_record::{Column, ColumnType, ConversionError, ResultFile, convert, is_csv};

use crate::exit::Exit;
use crate::failure::{Failure, Message, advice_on_missing};
use crate::input_kind::{self, Wanted};
use crate::numbers::count;
use crate::table_options::TimeOptions;
use crate::{overwriting, screen};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The result: CSV, Parquet or Arrow IPC
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// Write the rows to this file: .csv, .parquet, .arrow or .feather
    #[arg(long, short = 'o', value_name = "FILE")]
    output_file: PathBuf,
    /// The summary that `run --summary` wrote: it is stored in the new file, and has the types of the columns of a CSV
    /// file
    #[arg(long, value_name = "FILE.json")]
    summary: Option<PathBuf>,
    #[command(flatten)]
    time: TimeOptions,
}

/// Converts the result.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let mut inputs = vec![("the result that is read", &*options.result)];
    inputs.extend(options.summary.as_deref().map(|path| ("the summary", path)));
    overwriting::refuse(&[("--output-file", &options.output_file)], &inputs)?;
    input_kind::expect(&options.result, Wanted::Table)?;
    let read = options
        .time
        .read_all(&[&options.result], ResultFile::open_with);
    let result = read?.remove(0);
    let (mut columns, mut further) = (result.columns().to_vec(), BTreeMap::new());
    if let Some(path) = &options.summary {
        let text = summary(path, &mut columns)?;
        further.insert("gyrator.summary".to_owned(), text);
    }
    let rows = convert(&result, &columns, &further, &options.output_file)
        .map_err(|error| not_converted(&error, &options.result))?;
    let mut text = format!(
        "{}: {}, {} columns\n",
        options.output_file.display(),
        count(rows, "row"),
        columns.len() + 1
    );
    let has_more = columns.iter().any(|column| column.unit.is_some())
        || result.all_metadata().next().is_some()
        || !further.is_empty();
    if has_more && is_csv(&options.output_file) {
        text.push_str("note: a CSV file holds neither units nor a summary\n");
    }
    screen::print(&text)?;
    Ok(Exit::Success)
}

/// Reads a summary, and gives the columns the types that it knows.
fn summary(path: &Path, columns: &mut [Column]) -> Result<String, Failure> {
    let invalid = |error: String| {
        let text = format!("--summary {}: {error}", path.display());
        let failure = Failure::new(Exit::InvalidInput, Message::error(text));
        failure.advised(advice_on_missing(path))
    };
    let text = std::fs::read_to_string(path).map_err(|error| invalid(error.to_string()))?;
    let facts: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| invalid(format!("this is not JSON: {error}")))?;
    if facts.get("gyrator").is_none() {
        return Err(invalid("this is not a summary of a run".to_owned()));
    }
    for column in columns {
        let word = facts["output"]["types"][&column.name].as_str();
        column.kind = match word {
            Some("integer") => ColumnType::Integer,
            Some("enumeration") => ColumnType::Enumeration,
            Some("boolean") => ColumnType::Boolean,
            _ => column.kind,
        };
    }
    Ok(text)
}

fn not_converted(error: &ConversionError, input: &Path) -> Failure {
    let exit = match error {
        ConversionError::Read(_) | ConversionError::Value { .. } | ConversionError::Times => {
            Exit::InvalidInput
        }
        ConversionError::Form(_) => Exit::Usage,
        ConversionError::Write { .. } => Exit::Failed,
    };
    let failure = Failure::of(exit, &error);
    match (exit, advice_on_missing(input)) {
        (Exit::InvalidInput, Some(advice)) => failure.help(advice),
        _ => failure,
    }
}
