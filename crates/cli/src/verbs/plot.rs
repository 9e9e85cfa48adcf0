//! `gyrator plot`: pictures of results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use gyrator_pictures::plot::{BUCKETS, Choice, Drawn, Facts, UnknownName, choose, figure};
use gyrator_record::{ALL_TIMES, Column, ColumnType, Decimated, ResultFile};
use gyrator_system::closest;

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::input_kind::{self, Wanted};
use crate::numbers::count;
use crate::overwriting::{self, Named};
use crate::picture::PictureOptions;
use crate::table_options::{TimeOptions, not_read};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The result, CSV, Parquet or Arrow
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// Draw these columns; * and ? stand for any text and any character [default: the signals that move, and the
    /// residual power and energy of bonds]
    #[arg(value_name = "VARIABLE")]
    variables: Vec<String>,
    #[command(flatten)]
    picture: PictureOptions,
    /// Draw this result over the first one [repeatable]
    #[arg(long, value_name = "RESULT")]
    with: Vec<PathBuf>,
    /// The summary of the run: verdict, units and error bars, which a CSV result does not contain
    #[arg(long, value_name = "FILE.json")]
    summary: Option<PathBuf>,
    /// Write this above the picture [default: the files and the verdict]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Call a result so in the picture: the first one, then each of --with [repeatable]
    #[arg(long, value_name = "TEXT")]
    label: Vec<String>,
    /// Draw from this time on, s
    #[arg(long, value_name = "SECONDS", default_value_t = f64::NEG_INFINITY, hide_default_value = true, allow_negative_numbers = true)]
    from: f64,
    /// Draw until this time, s
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY, hide_default_value = true, allow_negative_numbers = true)]
    until: f64,
    #[command(flatten)]
    time: TimeOptions,
}

impl Options {
    /// Refuses more labels than results, and times in the wrong order.
    fn check(&self) -> Result<(), Failure> {
        let results = 1 + self.with.len();
        if self.label.len() > results {
            let text = format!(
                "{} labels for {}",
                self.label.len(),
                count(results as u64, "result")
            );
            return Err(
                Failure::usage(text).help("give one --label for RESULT, and one for each --with")
            );
        }
        if self.from < self.until {
            return Ok(());
        }
        let text = format!("--from {} is not before --until {}", self.from, self.until);
        Err(Failure::usage(text).help("give both in seconds, the earlier one with --from"))
    }
}

/// Draws the results.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    options.check()?;
    let mut inputs: Vec<Named<'_>> = vec![("the result", &options.result)];
    inputs.extend(options.with.iter().map(|path| ("a result", path.as_path())));
    inputs.extend(
        options
            .summary
            .iter()
            .map(|path| ("the summary", path.as_path())),
    );
    overwriting::refuse(&options.picture.outputs(), &inputs)?;
    let results = std::iter::once(&options.result).chain(&options.with);
    let mut files = open(
        &results.map(|path| &**path).collect::<Vec<_>>(),
        &options.time,
    )?;
    let first = files.remove(0);
    let choice = choose(first.columns(), &options.variables).map_err(|unknown| {
        let (name, failure) = (&unknown.pattern, not_known(&unknown, &first));
        match Path::new(name).is_file() {
            true => failure.help(format!(
                "--with {name} draws that result over the first one"
            )),
            false => failure,
        }
    })?;
    let times = (options.from, options.until);
    let mut runs = vec![drawn(&first, &choice, times)?];
    if let Some(path) = &options.summary {
        runs[0].facts = facts(path)?;
    }
    for other in files {
        let names = runs[0].rows.columns.iter().map(|known| &*known.column.name);
        let choice = Choice {
            columns: places_in(&other, names)?,
            is_named: true,
        };
        runs.push(drawn(&other, &choice, times)?);
    }
    name_apart(
        &mut runs,
        std::iter::once(&options.result).chain(&options.with),
    );
    for (run, label) in runs.iter_mut().zip(&options.label) {
        run.name.clone_from(label);
    }
    let mut figure = figure(&runs, choice.is_named);
    if let Some(title) = &options.title {
        figure.title.clone_from(title);
    }
    options.picture.show(&figure)
}

/// The columns of another result that are drawn over the first one's. The picture says which are not there.
fn places_in<'a>(
    other: &ResultFile,
    names: impl Iterator<Item = &'a str>,
) -> Result<Vec<usize>, Failure> {
    let places = other.columns().iter().enumerate();
    let places: BTreeMap<&str, usize> = places
        .map(|(place, column)| (column.name.as_str(), place))
        .collect();
    let names: Vec<&str> = names.collect();
    let found: Vec<usize> = names
        .iter()
        .filter_map(|name| places.get(name).copied())
        .collect();
    if found.is_empty() {
        let list = |names: &mut dyn Iterator<Item = &&str>| {
            let names: Vec<String> = names.map(|name| (*name).to_owned()).collect();
            listed(&names)
        };
        let path = other.path().display();
        let text = format!(
            "--with {path}: it has none of the columns that are drawn: {}",
            list(&mut names.iter())
        );
        return Err(Failure::usage(text).help(format!("it has {}", list(&mut places.keys()))));
    }
    Ok(found)
}

pub(super) fn open(paths: &[&Path], time: &TimeOptions) -> Result<Vec<ResultFile>, Failure> {
    for path in paths {
        input_kind::expect(path, Wanted::Table)?;
    }
    time.read_all(paths, ResultFile::open_with)
}

/// Refuses a result of which there is nothing to draw.
pub(super) fn refuse_empty(file: &ResultFile, rows: u64) -> Result<(), Failure> {
    let path = file.path().display();
    let is_number = |column: &Column| column.kind != ColumnType::String;
    let (text, help) = match rows {
        0 => (
            format!("{path} has no rows: there is nothing to draw"),
            "the run that wrote it has recorded nothing; its messages and its summary say why",
        ),
        _ if !file.columns().iter().any(is_number) => (
            format!("{path} has no column of numbers besides the time: there is nothing to draw"),
            "--output-variable of `gyrator run` chooses the variables that are recorded",
        ),
        _ => return Ok(()),
    };
    let failure = Failure::new(Exit::InvalidInput, Message::error(text));
    Err(failure.help(help))
}

pub(super) fn not_known(unknown: &UnknownName, file: &ResultFile) -> Failure {
    let failure = Failure::usage(format!("{}: {unknown}", file.path().display()));
    let names = unknown.known.iter().map(String::as_str);
    let of_component = format!(".{}", unknown.pattern);
    let mut with_component = names.clone().filter(|name| name.ends_with(&of_component));
    let near = match (with_component.next(), with_component.next()) {
        (Some(_), Some(_)) => Some(format!("*{of_component}")),
        (Some(name), None) => Some(name.to_owned()),
        _ => closest(&unknown.pattern, names).map(str::to_owned),
    };
    match near {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help(format!("it has {}", listed(&unknown.known))),
    }
}

/// Some names, and the number of the others.
pub(super) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Reads the columns that were chosen; without names, columns that are known not to move are left out.
fn drawn(file: &ResultFile, choice: &Choice, times: (f64, f64)) -> Result<Drawn, Failure> {
    let moves = |place: &usize| {
        file.range(*place)
            .is_none_or(|(least, greatest)| least < greatest)
    };
    let mut columns = choice.columns.clone();
    if !choice.is_named && columns.iter().any(&moves) {
        columns.retain(moves);
    }
    let rows = Decimated::read(file, &columns, BUCKETS, times);
    let rows = rows.map_err(|error| not_read(&error, file.path()))?;
    if rows.rows == 0 && times != ALL_TIMES {
        let text = format!("{} has no row in these times", file.path().display());
        return Err(Failure::usage(text).help("change --from or --until"));
    }
    refuse_empty(file, rows.rows)?;
    Ok(Drawn {
        name: String::new(),
        rows,
        facts: Facts::of_file(file).unwrap_or_default(),
    })
}

fn facts(path: &Path) -> Result<Facts, Failure> {
    let invalid = |text: String| {
        let text = format!("the summary {}: {text}", path.display());
        Failure::new(Exit::InvalidInput, Message::error(text))
    };
    let text = std::fs::read_to_string(path).map_err(|error| invalid(error.to_string()))?;
    Facts::parse(&text).map_err(|error| invalid(error.to_string()))
}

/// Runs are called like their files, with the folders if the names are the same.
fn name_apart<'a>(runs: &mut [Drawn], paths: impl Iterator<Item = &'a PathBuf>) {
    let paths: Vec<&PathBuf> = paths.collect();
    let short = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let is_twice = |path: &Path| {
        paths
            .iter()
            .filter(|other| short(other) == short(path))
            .count()
            > 1
    };
    for (run, path) in runs.iter_mut().zip(&paths) {
        run.name = match short(path) {
            Some(name) if !is_twice(path) => name,
            _ => path.display().to_string(),
        };
    }
}
