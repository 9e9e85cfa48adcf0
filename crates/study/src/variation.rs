//! `[[vary]]`: the blocks of points of a study file.
//!
//! Keys are set in the text of the system file, before it is read. So a study varies whatever the format can say,
//! also what is added to it later, and a wrong value is reported as in any file.

use std::path::Path;

use gyrator_system::toml_file::section::{Reader, Section};
use gyrator_system::{Problem, Value, did_you_mean};
use toml::Spanned as Placed;
use toml::de::{DeTable, DeValue};

use crate::literal::Literal;
use crate::random::Distribution;
use crate::sampling::{self, Request, SAMPLINGS, Sampling};
use crate::study_file::{Design, Point};

/// Points of one block, and rows of a table, beyond which a study counts as a mistake.
pub(crate) const MOST: usize = 10_000_000;

type PlacedValue<'a> = &'a Placed<DeValue<'a>>;

/// The points of a block, and their design if they are made for sensitivities.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) points: Vec<Point>,
    pub(crate) design: Option<Design>,
}

impl From<Vec<Point>> for Block {
    fn from(points: Vec<Point>) -> Self {
        Self {
            points,
            design: None,
        }
    }
}

/// Reads a block.
pub(crate) fn block(section: &mut Section<'_>, text: &str, reader: &mut Reader) -> Block {
    let grid = section.take("grid");
    let zip = section.take("zip");
    let list = section.take("list");
    let random = section.take("random");
    let (count, seed) = (section.take("count"), section.take("seed"));
    let sampling = section.take("sampling");
    if let (None, Some(sampling)) = (random, sampling) {
        wrong(reader, sampling, "`sampling` belongs to `random`");
    }
    let file = section.text("file", reader);
    let columns = section.take("columns");
    let points = match (grid, zip, list, random, file) {
        (Some(grid), None, None, None, None) => product(&series(grid, text, reader), reader, grid),
        (None, Some(zip), None, None, None) => {
            side_by_side(&series(zip, text, reader), reader, zip)
        }
        (None, None, Some(list), None, None) => listed(list, text, reader),
        (None, None, None, Some(random), None) => {
            let seed = seed
                .and_then(|seed| whole("seed", seed, reader))
                .unwrap_or(1);
            let count = count.and_then(|count| whole("count", count, reader));
            let count = count.and_then(|count| usize::try_from(count).ok());
            let sampling = sampling.map_or(Some(SAMPLINGS[0]), |word| sampled(word, reader));
            return sampling.map_or_else(Block::default, |sampling| {
                drawn(random, (count, seed), sampling, text, reader)
            });
        }
        (None, None, None, None, Some(file)) => {
            let path = reader.path(file.clone()).value;
            let names = columns.map(|names| renamed(names, reader));
            match from_file(&path, names.as_deref()) {
                Ok(points) => points,
                Err(message) => {
                    let message = format!("{}: {message}", path.display());
                    reader.error("unreadable-points", message, &file.span);
                    Vec::new()
                }
            }
        }
        _ => {
            let message = "a [[vary]] block has one of `grid`, `zip`, `list`, `random` and `file`";
            let place = [grid, zip, list, random].into_iter().flatten().next();
            let problem = Problem::error("unclear-variation", message);
            reader.problems.push(match place {
                Some(value) => problem.at(&value.span()),
                None => problem,
            });
            Vec::new()
        }
    };
    points.into()
}

/// The sampling of a word.
fn sampled(value: PlacedValue<'_>, reader: &mut Reader) -> Option<&'static Sampling> {
    let word = reader.text("sampling", value)?;
    let found = sampling::find(&word.value);
    if found.is_none() {
        let names = SAMPLINGS.iter().map(|sampling| sampling.name);
        let message = format!("there is no sampling `{}`", word.value);
        let problem = Problem::error("unknown-sampling", message).at(&word.span);
        let help = did_you_mean(&word.value, names.clone());
        let listed = || format!("write {}", names.collect::<Vec<_>>().join(", "));
        reader
            .problems
            .push(problem.help(help.unwrap_or_else(listed)));
    }
    found
}

fn wrong(reader: &mut Reader, value: PlacedValue<'_>, message: impl Into<String>) {
    reader.error("invalid-variation", message, &value.span());
}

fn whole(key: &str, value: PlacedValue<'_>, reader: &mut Reader) -> Option<u64> {
    let integer = value.get_ref().as_integer();
    let number = integer.and_then(|i| u64::from_str_radix(i.as_str(), i.radix()).ok());
    if number.is_none() {
        wrong(
            reader,
            value,
            format!("`{key}` must be a whole number of at least 0"),
        );
    }
    number
}

/// The keys of a table in the order of the file, and their values. `left.m` without quotes is a
/// table in a table; `is_value` holds for the tables that are values.
fn entries<'a>(
    value: PlacedValue<'a>,
    is_value: &dyn Fn(&DeTable<'_>) -> bool,
    reader: &mut Reader,
) -> Vec<(String, PlacedValue<'a>)> {
    fn collect<'a>(
        prefix: &str,
        table: &'a DeTable<'a>,
        is_value: &dyn Fn(&DeTable<'_>) -> bool,
        found: &mut Vec<(usize, String, PlacedValue<'a>)>,
    ) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) if !is_value(inner) => {
                    collect(&format!("{name}."), inner, is_value, found);
                }
                _ => found.push((key.span().start, name, value)),
            }
        }
    }
    let mut found = Vec::new();
    match value.get_ref() {
        DeValue::Table(table) => collect("", table, is_value, &mut found),
        _ => wrong(reader, value, "this must be a table of keys and values"),
    }
    found.sort_by_key(|(place, ..)| *place);
    found
        .into_iter()
        .map(|(_, name, value)| (name, value))
        .collect()
}

/// A word with parameters is a value.
fn is_choice(table: &DeTable<'_>) -> bool {
    table.contains_key("name")
}

/// Settings of a variant or of a point of a list.
pub(crate) fn point(value: PlacedValue<'_>, text: &str, reader: &mut Reader) -> Point {
    let mut point = Point::new();
    for (key, value) in entries(value, &is_choice, reader) {
        match Literal::of(value, text) {
            Some(literal) => point.push((key, literal)),
            None => wrong(reader, value, format!("`{key}` must be one value")),
        }
    }
    point
}

fn listed(list: PlacedValue<'_>, text: &str, reader: &mut Reader) -> Vec<Point> {
    let DeValue::Array(list) = list.get_ref() else {
        wrong(reader, list, "`list` must be a list of tables");
        return Vec::new();
    };
    list.iter()
        .map(|value| point(value, text, reader))
        .collect()
}

/// The values of each key: a list, one value, or a range `{ from, to, count, scale }`.
fn series(value: PlacedValue<'_>, text: &str, reader: &mut Reader) -> Vec<(String, Vec<Literal>)> {
    let is_value = |table: &DeTable<'_>| is_choice(table) || table.contains_key("from");
    let mut series = Vec::new();
    for (key, value) in entries(value, &is_value, reader) {
        let values = match value.get_ref() {
            DeValue::Array(list) => list.iter().map(|value| Literal::of(value, text)).collect(),
            DeValue::Table(table) if table.contains_key("from") => Some(range(
                Section::new(format!("the range of `{key}`"), table, value.span()),
                reader,
            )),
            _ => Literal::of(value, text).map(|literal| vec![literal]),
        };
        match values {
            Some(values) => series.push((key, values)),
            None => wrong(
                reader,
                value,
                format!("`{key}` must be a list of values, or a range"),
            ),
        }
    }
    series
}

fn range(mut section: Section<'_>, reader: &mut Reader) -> Vec<Literal> {
    let from = section
        .required("from", reader)
        .and_then(|v| reader.number("from", v));
    let to = section
        .required("to", reader)
        .and_then(|v| reader.number("to", v));
    let count = section.required("count", reader);
    let scale = section.text("scale", reader);
    section.finish(reader);
    let (Some(from), Some(to), Some(place)) = (from, to, count) else {
        return Vec::new();
    };
    let (from, to) = (from.value, to.value);
    let Some(count) = whole("count", place, reader) else {
        return Vec::new();
    };
    let is_log = match scale.as_ref().map(|scale| scale.value.as_str()) {
        None | Some("linear") => false,
        Some("log") if from * to > 0.0 => true,
        Some("log") => {
            wrong(
                reader,
                place,
                "a range on a logarithmic scale has ends of one sign",
            );
            return Vec::new();
        }
        Some(_) => {
            wrong(reader, place, "`scale` is \"linear\" or \"log\"");
            return Vec::new();
        }
    };
    if count as usize > MOST {
        wrong(reader, place, format!("more than {MOST} values"));
        return Vec::new();
    }
    let at = |index: u64| {
        let part = index as f64 / (count.max(2) - 1) as f64;
        match index {
            0 => from,
            last if last + 1 == count => to,
            _ if is_log => from * libm::pow(to / from, part),
            _ => from + (to - from) * part,
        }
    };
    (0..count).map(|index| Literal::number(at(index))).collect()
}

/// Every combination; the last key varies fastest.
fn product(
    series: &[(String, Vec<Literal>)],
    reader: &mut Reader,
    place: PlacedValue<'_>,
) -> Vec<Point> {
    let sizes = series.iter().map(|(_, values)| values.len());
    let count = sizes.fold(1_usize, usize::saturating_mul);
    if count > MOST {
        wrong(
            reader,
            place,
            format!("the grid has more than {MOST} points"),
        );
        return Vec::new();
    }
    let mut points = vec![Point::new()];
    for (key, values) in series {
        points = points
            .iter()
            .flat_map(|point| {
                values.iter().map(|value| {
                    let mut longer = point.clone();
                    longer.push((key.clone(), value.clone()));
                    longer
                })
            })
            .collect();
    }
    points
}

fn side_by_side(
    series: &[(String, Vec<Literal>)],
    reader: &mut Reader,
    place: PlacedValue<'_>,
) -> Vec<Point> {
    let count = series.first().map_or(0, |(_, values)| values.len());
    if let Some((key, values)) = series.iter().find(|(_, values)| values.len() != count) {
        let message = format!(
            "the lists of a `zip` are equally long, but `{key}` has {} values for {count}",
            values.len()
        );
        wrong(reader, place, message);
        return Vec::new();
    }
    let point = |index: usize| {
        let values = series.iter();
        values
            .map(|(key, values)| (key.clone(), values[index].clone()))
            .collect()
    };
    (0..count).map(point).collect()
}

/// The points of a sampling: for each, a value of each key in the order of the file.
fn drawn(
    random: PlacedValue<'_>,
    (count, seed): (Option<usize>, u64),
    sampling: &'static Sampling,
    text: &str,
    reader: &mut Reader,
) -> Block {
    const WORDS: [&str; 4] = ["uniform", "log_uniform", "normal", "choice"];
    let is_value = |table: &DeTable<'_>| {
        is_choice(table) || WORDS.iter().any(|word| table.contains_key(*word))
    };
    let (mut keys, mut distributions) = (Vec::new(), Vec::new());
    for (key, value) in entries(random, &is_value, reader) {
        match distribution(value, text) {
            Ok(distribution) => {
                keys.push(key);
                distributions.push(distribution);
            }
            Err(message) => wrong(reader, value, format!("`{key}`: {message}")),
        }
    }
    let group = sampling.analysis.map_or(1, |a| (a.group)(keys.len()));
    let is_possible = |count: &usize| count.saturating_mul(group) <= MOST;
    let Some(count) = count.filter(is_possible) else {
        let most = MOST / group;
        wrong(
            reader,
            random,
            format!("`random` needs a `count` of at most {most}"),
        );
        return Block::default();
    };
    let request = Request {
        count,
        seed,
        distributions: &distributions,
    };
    match (sampling.points)(&request) {
        Ok(points) => Block {
            points: points
                .into_iter()
                .map(|values| keys.iter().cloned().zip(values).collect())
                .collect(),
            design: sampling.analysis.map(|_| Design {
                sampling,
                count,
                seed,
                keys,
            }),
        },
        Err(message) => {
            wrong(reader, random, message);
            Block::default()
        }
    }
}

fn distribution(value: PlacedValue<'_>, text: &str) -> Result<Distribution, String> {
    const FORMS: &str = "write { uniform = [a, b] }, { log_uniform = [a, b] }, \
                         { normal = [mean, deviation] } or { choice = […] }";
    let entry = value.get_ref().as_table().filter(|table| table.len() == 1);
    let (word, values) = entry.and_then(|table| table.iter().next()).ok_or(FORMS)?;
    let list = values.get_ref().as_array().ok_or(FORMS)?;
    let literals: Option<Vec<Literal>> = list.iter().map(|v| Literal::of(v, text)).collect();
    let literals = literals.ok_or(FORMS)?;
    if word.get_ref() == "choice" && !literals.is_empty() {
        return Ok(Distribution::Choice(literals));
    }
    let number = |literal: &Literal| match literal.cell {
        crate::Cell::Real(number) if number.is_finite() => Ok(number),
        _ => Err(FORMS),
    };
    let [a, b] = &literals[..] else {
        return Err(FORMS.to_owned());
    };
    let (a, b) = (number(a)?, number(b)?);
    match word.get_ref().as_ref() {
        "uniform" if a <= b => Ok(Distribution::Uniform(a, b)),
        "log_uniform" if 0.0 < a && a <= b => Ok(Distribution::LogUniform(a, b)),
        "normal" if b >= 0.0 => Ok(Distribution::Normal(a, b)),
        "uniform" | "log_uniform" => Err("the first bound must not exceed the second; those of \
                                          log_uniform are positive"
            .to_owned()),
        "normal" => Err("the deviation must not be negative".to_owned()),
        _ => Err(FORMS.to_owned()),
    }
}

/// Columns of a file and the keys that they set.
fn renamed(value: PlacedValue<'_>, reader: &mut Reader) -> Vec<(String, String)> {
    let Some(table) = value.get_ref().as_table() else {
        wrong(reader, value, "`columns` is a table: { column = \"key\" }");
        return Vec::new();
    };
    let mut names = Vec::new();
    for (column, key) in table {
        match key.get_ref().as_str() {
            Some(text) => names.push((
                key.span().start,
                column.get_ref().to_string(),
                text.to_owned(),
            )),
            None => wrong(reader, key, "`columns` is a table: { column = \"key\" }"),
        }
    }
    names.sort();
    names
        .into_iter()
        .map(|(_, column, key)| (column, key))
        .collect()
}

/// The rows of a CSV file: those columns that `names` lists, or all, whose names are then the keys.
/// Lines that begin with `#` are left out, and so are empty cells.
fn from_file(path: &Path, names: Option<&[(String, String)]>) -> Result<Vec<Point>, String> {
    let mut file = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(|error| error.to_string())?;
    let headers = file.headers().map_err(|error| error.to_string())?.clone();
    let keys: Vec<(usize, String)> = match names {
        None => headers.iter().map(str::to_owned).enumerate().collect(),
        Some(names) => {
            let place = |(column, key): &(String, String)| {
                let place = headers.iter().position(|header| header == column);
                let place = place.ok_or_else(|| format!("there is no column `{column}`"))?;
                Ok((place, key.clone()))
            };
            names.iter().map(place).collect::<Result<_, String>>()?
        }
    };
    let mut points = Vec::new();
    for row in file.records() {
        let row = row.map_err(|error| error.to_string())?;
        let cell = |(place, key): &(usize, String)| {
            let text = row.get(*place).filter(|text| !text.is_empty())?;
            Some((key.clone(), Literal::value(&Value::from_text(text))))
        };
        points.push(keys.iter().filter_map(cell).collect());
        if points.len() > MOST {
            return Err(format!("more than {MOST} rows"));
        }
    }
    Ok(points)
}
