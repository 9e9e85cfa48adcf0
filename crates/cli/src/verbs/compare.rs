//! `gyrator compare`: two results.

use std::path::PathBuf;

use clap::Args;
use gyrator_record::{
    ColumnComparison, Comparison, Series, Table, Tolerance, Values, compare, conversion_between,
    is_heading, read_table_with,
};
use gyrator_system::{closest, did_you_mean};
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input_file::is_same_unit;
use crate::input_kind::{self, Wanted};
use crate::numbers::short;
use crate::options::{RenameOptions, not_negative};
use crate::table_options::TimeOptions;
use crate::verbs::plot::listed;
use crate::{overwriting, picture, screen};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The result: CSV, Parquet or Arrow IPC
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// The reference, in one of the same forms; columns are compared at its times
    #[arg(value_name = "REFERENCE")]
    reference: PathBuf,
    /// Accepted deviation of a sample, relative to the reference's value
    #[arg(long, value_name = "NUMBER", default_value = "1e-6", value_parser = not_negative)]
    #[arg(allow_negative_numbers = true)]
    relative_tolerance: f64,
    /// Accepted deviation in addition, in the unit of each column; near zero it alone counts
    #[arg(long, value_name = "NUMBER", default_value = "1e-9", value_parser = not_negative)]
    #[arg(allow_negative_numbers = true)]
    absolute_tolerance: f64,
    /// Compare only this column of the reference [repeatable] [default: all]
    #[arg(long, value_name = "NAME")]
    column: Vec<String>,
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
    uncovered_rows: usize,
    additional_rows: usize,
}

#[derive(Debug, Serialize)]
struct Column<'a> {
    name: &'a str,
    within_tolerance: bool,
    max_absolute: f64,
    max_relative: f64,
    of_range: f64,
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
    let (mut result, mut reference) = (
        tables.next().unwrap_or_default(),
        tables.next().unwrap_or_default(),
    );
    options.names.apply(&mut reference)?;
    choose(&options.column, &mut result, &mut reference)?;
    convert_units(&mut result, &reference);
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
    advise(&comparison, options);
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

/// Leaves the columns that `--column` names in the reference.
fn choose(names: &[String], result: &mut Table, reference: &mut Table) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
    }
    let is_of =
        |name: &str, series: &Series| is_heading(name, &series.name, series.unit.as_deref());
    let is_in = |name: &str, table: &Table| table.series.iter().any(|series| is_of(name, series));
    if let Some(unknown) = names.iter().find(|name| !is_in(name, reference)) {
        let failure = Failure::usage(format!(
            "--column {unknown}: the reference has no such column"
        ));
        let help = match is_in(unknown, result) {
            true => Some(format!(
                "`--rename OLD={unknown}` names the column OLD of the reference so"
            )),
            false => did_you_mean(unknown, reference.series.iter().map(|series| &*series.name)),
        };
        return Err(failure.advised(help));
    }
    let is_chosen = |series: &Series| names.iter().any(|name| is_of(name, series));
    let others = reference.series.iter().filter(|series| !is_chosen(series));
    let others: Vec<String> = others.map(|series| series.name.clone()).collect();
    result
        .series
        .retain(|series| !others.contains(&series.name));
    reference.series.retain(is_chosen);
    Ok(())
}

/// Converts columns of the result to the units of the reference; says which are compared as they are.
fn convert_units(result: &mut Table, reference: &Table) {
    let wanted = reference.by_name();
    let mut differing = Vec::new();
    for series in &mut result.series {
        let Some(expected) = wanted.get(&*series.name) else {
            continue;
        };
        let (found, unit) = match (&series.unit, &expected.unit) {
            (Some(found), Some(unit)) if !is_same_unit(found, unit) => (found, unit),
            (None, Some(unit)) if unit != "1" && unit != "-" => {
                differing.push(format!("`{}` (no unit, {unit})", series.name));
                continue;
            }
            _ => continue,
        };
        match (conversion_between(found, unit), &mut series.values) {
            (Some((factor, offset)), Values::Numbers(numbers)) => {
                for number in numbers {
                    *number = factor * *number + offset;
                }
                series.unit = Some(unit.clone());
            }
            _ => differing.push(format!("`{}` ({found}, {unit})", series.name)),
        }
    }
    if differing.is_empty() {
        return;
    }
    let columns = listed(&differing);
    screen::message(&format!(
        "warning: the result and the reference have different units, and the numbers are compared as they are: {columns}\n"
    ));
}

/// Says how columns that are missing in the result may be found there, and how a signal near zero is compared.
fn advise(comparison: &Comparison, options: &Options) {
    if let Some(missing) = comparison.missing.first() {
        let additional = comparison.additional.iter().map(String::as_str);
        let of_component = format!(".{missing}");
        let found = additional
            .clone()
            .find(|name| name.ends_with(&of_component) || missing.ends_with(&format!(".{name}")));
        let new = found
            .or_else(|| closest(missing, additional))
            .unwrap_or("NAME");
        screen::message(&format!(
            "help: `--rename {missing}={new}` compares it with the column {new} of the result; `--column` leaves others out\n"
        ));
    }
    let is_near_zero = |column: &ColumnComparison| {
        column.out_of_tolerance > 0 && column.of_range <= options.relative_tolerance
    };
    if comparison.columns.iter().any(is_near_zero) {
        screen::message(
            "help: where a signal crosses zero, the relative tolerance accepts nothing; give --absolute-tolerance\n",
        );
    }
}

fn table(comparison: &Comparison) -> String {
    let mut table = Aligned::new(&[
        ("column", Align::Left),
        ("samples", Align::Right),
        ("out of tolerance", Align::Right),
        ("first at, s", Align::Right),
        ("max. deviation", Align::Right),
        ("of the range", Align::Right),
        ("RMS", Align::Right),
    ]);
    for column in &comparison.columns {
        let first = column.first_out_of_tolerance;
        table.row([
            column.name.clone(),
            column.compared.to_string(),
            column.out_of_tolerance.to_string(),
            first.map_or_else(|| "-".to_owned(), short),
            format!("{:.3e}", column.max_absolute),
            format!("{:.3e}", column.of_range),
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
        uncovered_rows: comparison.uncovered,
        additional_rows: comparison.additional_rows,
    }
}

fn column(found: &ColumnComparison) -> Column<'_> {
    Column {
        name: &found.name,
        within_tolerance: found.holds(),
        max_absolute: found.max_absolute,
        max_relative: found.max_relative,
        of_range: found.of_range,
        rms: found.rms,
        first_out_of_tolerance: found.first_out_of_tolerance,
        out_of_tolerance: found.out_of_tolerance,
        shifted: found.shifted,
        compared: found.compared,
        uncovered: found.uncovered,
    }
}
