//! `gyrator compare`: two results.

use std::path::PathBuf;

use clap::Args;
use gyrator_record::{
    ColumnComparison, Comparison, Series, Table, Tolerance, compare, read_table_with,
};
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input_file::is_same_unit;
use crate::input_kind::{self, Wanted};
use crate::options::{RenameOptions, not_negative};
use crate::table_options::TimeOptions;
use crate::{overwriting, picture, screen};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The result: CSV, Parquet or Arrow IPC
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// The reference, in one of the same forms; columns are compared at its times
    #[arg(value_name = "REFERENCE")]
    reference: PathBuf,
    /// Accepted deviation, relative to the reference's value
    #[arg(long, value_name = "NUMBER", default_value = "1e-6", value_parser = not_negative)]
    #[arg(allow_negative_numbers = true)]
    relative_tolerance: f64,
    /// Accepted deviation in addition, in the unit of each column
    #[arg(long, value_name = "NUMBER", default_value = "1e-9", value_parser = not_negative)]
    #[arg(allow_negative_numbers = true)]
    absolute_tolerance: f64,
    /// Accept single samples with the value of the sample before or after, as at events
    #[arg(long)]
    sample_shift: bool,
    #[command(flatten)]
    names: RenameOptions,
    #[command(flatten)]
    time: TimeOptions,
    /// Write the figures as JSON to the standard output
    #[arg(long)]
    json: bool,
    /// Draw the columns that deviate most, with the tolerance as a tube
    #[arg(long, value_name = "FILE.svg", value_parser = picture::svg)]
    plot: Option<PathBuf>,
}

/// The comparison, for programs.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    within_tolerance: bool,
    columns: Vec<Column<'a>>,
    missing: &'a [String],
    additional: &'a [String],
}

#[derive(Debug, Serialize)]
struct Column<'a> {
    name: &'a str,
    within_tolerance: bool,
    max_absolute: f64,
    max_relative: f64,
    rms: f64,
    first_out_of_tolerance: Option<f64>,
    out_of_tolerance: usize,
    shifted: usize,
    compared: usize,
    uncovered: usize,
}

/// Compares the two results.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let plot = options.plot.iter().map(|path| ("--plot", path.as_path()));
    let inputs = [
        ("the result", &*options.result),
        ("the reference", &*options.reference),
    ];
    overwriting::refuse(&plot.collect::<Vec<_>>(), &inputs)?;
    let paths = [&*options.result, &*options.reference];
    for path in paths {
        input_kind::expect(path, Wanted::Table)?;
    }
    let mut tables = options.time.read_all(&paths, read_table_with)?.into_iter();
    let (result, mut reference) = (
        tables.next().unwrap_or_default(),
        tables.next().unwrap_or_default(),
    );
    options.names.apply(&mut reference)?;
    warn_of_units(&result, &reference);
    let tolerance = Tolerance {
        relative: options.relative_tolerance,
        absolute: options.absolute_tolerance,
        sample_shift: options.sample_shift,
    };
    let comparison = compare(&result, &reference, &tolerance);
    let text = if options.json {
        screen::json(&summary(&comparison))?
    } else {
        format!("{}{comparison}\n", table(&comparison))
    };
    screen::print(&text)?;
    let plot = options.plot.as_ref().filter(|_| comparison.has_samples());
    if let Some(path) = plot {
        let names = [&options.result, &options.reference].map(|path| path.display().to_string());
        let tables = (&result, &reference);
        let names = (names[0].as_str(), names[1].as_str());
        let figure = gyrator_pictures::plot::comparison(tables, names, &comparison, &tolerance);
        picture::write(path, &figure.to_svg())?;
    }
    Ok(if comparison.holds() {
        Exit::Success
    } else {
        Exit::CheckFailed
    })
}

/// Numbers are compared as they are.
fn warn_of_units(result: &Table, reference: &Table) {
    let known = result.by_name();
    let differs = |series: &&Series| {
        let found = known
            .get(&*series.name)
            .and_then(|found| found.unit.as_ref());
        let units = found.zip(series.unit.as_ref());
        units.is_some_and(|(found, wanted)| !is_same_unit(found, wanted))
    };
    let mut differing = reference.series.iter().filter(differs);
    let Some(first) = differing.next() else {
        return;
    };
    let others = match differing.count() {
        0 => String::new(),
        1 => " and another column".to_owned(),
        count => format!(" and {count} other columns"),
    };
    screen::message(&format!(
        "warning: `{}`{others}: the result and the reference have different units; the numbers are compared as they are\n",
        first.name
    ));
}

fn table(comparison: &Comparison) -> String {
    let mut table = Aligned::new(&[
        ("column", Align::Left),
        ("samples", Align::Right),
        ("max. deviation", Align::Right),
        ("relative", Align::Right),
        ("RMS", Align::Right),
    ]);
    for column in &comparison.columns {
        table.row([
            column.name.clone(),
            column.compared.to_string(),
            format!("{:.3e}", column.max_absolute),
            format!("{:.3e}", column.max_relative),
            format!("{:.3e}", column.rms),
        ]);
    }
    table.render()
}

fn summary(comparison: &Comparison) -> Summary<'_> {
    Summary {
        within_tolerance: comparison.holds(),
        columns: comparison.columns.iter().map(column).collect(),
        missing: &comparison.missing,
        additional: &comparison.additional,
    }
}

fn column(found: &ColumnComparison) -> Column<'_> {
    Column {
        name: &found.name,
        within_tolerance: found.holds(),
        max_absolute: found.max_absolute,
        max_relative: found.max_relative,
        rms: found.rms,
        first_out_of_tolerance: found.first_out_of_tolerance,
        out_of_tolerance: found.out_of_tolerance,
        shifted: found.shifted,
        compared: found.compared,
        uncovered: found.uncovered,
    }
}
