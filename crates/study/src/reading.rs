//! Reading a study file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gyrator_system::toml_file::section::{Reader, Section, elements};
use gyrator_system::toml_file::{ReadError, Setting, parse_document, read_text};
use gyrator_system::{Problem, Problems, did_you_mean};
use toml::Spanned as Placed;
use toml::de::DeValue;

use crate::metrics::{Metric, Quantity, Window};
use crate::requirement::Requirement;
use crate::study_file::{Design, Point, Reference, StudyFile, Variant};
use crate::variation;

/// Reads a study file; paths in it are joined to its folder.
///
/// # Errors
///
/// [`ReadError`] if the file cannot be read, or with all problems of its text.
pub fn read(path: &Path) -> Result<StudyFile, ReadError> {
    Ok(parse(read_text("the study file", path)?, path)?)
}

/// Reads a study from text, which comes from `path`.
///
/// # Errors
///
/// All problems of the text.
pub fn parse(text: impl Into<String>, path: impl Into<PathBuf>) -> Result<StudyFile, Problems> {
    parse_document(text, path, "a study file", read_study)
}

fn read_study(mut root: Section<'_>, reader: &mut Reader) -> Option<StudyFile> {
    let source = Arc::clone(reader.source());
    let system = root.required_text("system", reader);
    let resume = root.text("resume", reader);
    let (blocks, design) = blocks(&mut root, &source.text, reader);
    let requirements = requirements(&mut root, &blocks, design.is_some(), reader);
    let variants = variants(&mut root, &source.text, reader);
    let reference = root.take("reference");
    let reference = reference.and_then(|value| self::reference(value, &variants, reader));
    let mut bonds = None;
    let mut error_bars = Vec::new();
    let metrics = metrics(
        &mut root,
        reference.is_some(),
        &mut bonds,
        &mut error_bars,
        reader,
    );
    let mut is_set = |key| root.boolean(key, reader).is_some_and(|set| set.value);
    let wall_time = is_set("wall_time");
    let accepts_divergence = is_set("accept_divergence");
    let verification = is_set("verification");
    root.finish(reader);
    let system = system?;
    Some(StudyFile {
        source,
        system: reader.path(system),
        resume: resume.map(|path| reader.path(path).value),
        settings: Vec::new(),
        blocks,
        design,
        requirements,
        variants,
        reference,
        metrics,
        error_bars,
        verification,
        bonds,
        wall_time,
        accepts_divergence,
    })
}

fn blocks(
    root: &mut Section<'_>,
    text: &str,
    reader: &mut Reader,
) -> (Vec<Vec<Point>>, Option<Design>) {
    let Some(value) = root.take("vary") else {
        return (Vec::new(), None);
    };
    let (mut blocks, mut designs) = (Vec::new(), Vec::new());
    for mut section in reader.tables("vary", value) {
        let block = variation::block(&mut section, text, reader);
        designs.extend(block.design.map(|design| (blocks.len(), design)));
        blocks.push(block.points);
        section.finish(reader);
    }
    let rows = blocks
        .iter()
        .fold(1_usize, |n, block| n.saturating_mul(block.len()));
    if rows > variation::MOST {
        let message = format!("the blocks make more than {} cases", variation::MOST);
        reader.error("too-many-cases", message, &value.span());
        return (Vec::new(), None);
    }
    report_twice(&blocks, value, reader);
    let design = designs.pop();
    if let Some((place, design)) = &design {
        let is_other = |(index, block): (usize, &Vec<Point>)| index != *place && block.len() > 1;
        if blocks.iter().enumerate().any(is_other) {
            let name = design.sampling.name;
            let message = format!("a `{name}` sampling is not crossed with other points");
            let problem = Problem::error("crossed-design", message).at(&value.span());
            let help = "leave one point in each other block, or use [variants]";
            reader.problems.push(problem.help(help));
        }
    }
    (blocks, design.map(|(_, design)| design))
}

/// A key that two blocks vary, or a point twice, would be set by the last one only.
fn report_twice(blocks: &[Vec<Point>], value: &Placed<DeValue<'_>>, reader: &mut Reader) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for block in blocks {
        let mut of_block = BTreeSet::new();
        for point in block {
            let mut of_point = BTreeSet::new();
            for (key, _) in point {
                if seen.contains(key.as_str()) || !of_point.insert(key.as_str()) {
                    let message = format!("`{key}` is varied twice");
                    reader.error("varied-twice", message, &value.span());
                    return;
                }
            }
            of_block.extend(of_point);
        }
        seen.extend(of_block);
    }
}

fn requirements(
    root: &mut Section<'_>,
    blocks: &[Vec<Point>],
    has_design: bool,
    reader: &mut Reader,
) -> Vec<Requirement> {
    let Some(value) = root.take("require") else {
        return Vec::new();
    };
    if has_design {
        let message = "`require` would leave gaps among the points of a sensitivity analysis";
        reader.error("incomplete-design", message, &value.span());
    }
    let points = blocks.iter().flatten().flatten();
    let known: BTreeSet<&str> = points.map(|(key, _)| key.as_str()).collect();
    let mut requirements = Vec::new();
    for text in reader.texts("require", value) {
        match Requirement::parse(&text.value, &known) {
            Ok(requirement) => requirements.push(requirement),
            Err(message) => {
                reader.error("invalid-requirement", message, &text.span);
            }
        }
    }
    requirements
}

fn variants(root: &mut Section<'_>, text: &str, reader: &mut Reader) -> Vec<Variant> {
    let Some(mut tables) = root.table("variants", "[variants]", reader) else {
        return Vec::new();
    };
    let mut variants = Vec::new();
    for (name, value) in tables.rest() {
        let settings = variation::point(value, text, reader);
        let settings = settings.into_iter().map(|(key, literal)| Setting {
            key,
            value: literal.toml,
        });
        variants.push(Variant {
            name: name.value,
            settings: settings.collect(),
        });
    }
    variants
}

fn reference(
    value: &Placed<DeValue<'_>>,
    variants: &[Variant],
    reader: &mut Reader,
) -> Option<Reference> {
    if let DeValue::Table(table) = value.get_ref() {
        let mut section = Section::new("`reference`", table, value.span());
        let file = section.required_text("file", reader);
        section.finish(reader);
        return file.map(|file| Reference::File(reader.path(file).value));
    }
    let name = reader.text("reference", value)?;
    let index = variants
        .iter()
        .position(|variant| variant.name == name.value);
    if index.is_none() {
        let message = format!("there is no variant `{}`", name.value);
        let names = variants.iter().map(|variant| variant.name.as_str());
        let problem = Problem::error("unknown-variant", message).at(&name.span);
        let near = did_you_mean(&name.value, names);
        let help = near.as_deref();
        let help = help.unwrap_or("name one of [variants], or write { file = \"result.csv\" }");
        reader.problems.push(problem.help(help));
    }
    index.map(Reference::Variant)
}

fn metrics(
    root: &mut Section<'_>,
    has_reference: bool,
    bonds: &mut Option<Vec<String>>,
    error_bars: &mut Vec<String>,
    reader: &mut Reader,
) -> Vec<Metric> {
    let Some(value) = root.take("metrics") else {
        return Vec::new();
    };
    let mut metrics = Vec::new();
    for mut section in reader.tables("metrics", value) {
        let name = section.text("name", reader).map(|name| name.value);
        let window = section
            .take("window")
            .and_then(|value| window(value, reader));
        let at = section.take("at");
        if let (Some(at), false) = (at, section.has("value")) {
            reader.error("unused-times", "`at` belongs to `value`", &at.span());
        }
        for (key, quantity) in Quantity::ALL {
            let Some(value) = section.take(key) else {
                continue;
            };
            if quantity.is_error() && !has_reference {
                let message = format!("`{key}` needs a `reference`");
                reader.error("no-reference", message, &value.span());
            }
            let times: Vec<Option<f64>> = match quantity {
                Quantity::Value => times(at, value, reader),
                _ => vec![None],
            };
            for variable in texts(key, value, reader) {
                metrics.extend(times.iter().map(|at| Metric {
                    quantity: *quantity,
                    variable: variable.clone(),
                    window: window.filter(|_| at.is_none()),
                    at: *at,
                    name: name.clone(),
                }));
            }
        }
        if let Some(value) = section.take("energies") {
            match value.get_ref().as_bool() {
                Some(false) => *bonds = Some(Vec::new()),
                Some(true) => *bonds = None,
                None => *bonds = Some(texts("energies", value, reader)),
            }
        }
        if let Some(value) = section.take("error_bars") {
            if window.is_some() || name.is_some() {
                let message = "error bars are those of the whole run";
                let problem = Problem::error("windowed-error-bars", message).at(&value.span());
                let help =
                    "put `error_bars` into one of the [[metrics]] without `window` and `name`";
                reader.problems.push(problem.help(help));
            }
            error_bars.extend(texts("error_bars", value, reader));
        }
        section.finish(reader);
    }
    let mut columns = BTreeSet::new();
    let of_metrics = metrics.iter().map(Metric::column);
    let of_errors = error_bars
        .iter()
        .map(|variable| format!("error.{variable}"));
    for column in of_metrics.chain(of_errors) {
        if !columns.insert(column.clone()) {
            let message = format!("there are two columns `{column}`");
            let problem = Problem::error("duplicate-metric", message).at(&value.span());
            reader
                .problems
                .push(problem.help("give one of the [[metrics]] a `name`"));
            break;
        }
    }
    metrics
}

fn window(value: &Placed<DeValue<'_>>, reader: &mut Reader) -> Option<Window> {
    let ends = match value.get_ref() {
        DeValue::Array(ends) if ends.len() == 2 => ends,
        _ => {
            reader.wrong_type("window", "a list of two times", value);
            return None;
        }
    };
    let from = reader.number("window", &ends[0])?.value;
    let to = reader.number("window", &ends[1])?.value;
    if to < from {
        let message = format!("the window ends at {to} s and begins at {from} s");
        reader.error("ends-before-begin", message, &value.span());
    }
    Some(Window { from, to })
}

/// The times of `value`: a list, one time, or the times of a result file.
fn times(
    at: Option<&Placed<DeValue<'_>>>,
    value: &Placed<DeValue<'_>>,
    reader: &mut Reader,
) -> Vec<Option<f64>> {
    let Some(at) = at else {
        let message = "`value` needs `at`, the times at which the values are taken";
        let problem = Problem::error("no-times", message).at(&value.span());
        let help = "write at = [0.5, 1.0], or { file = \"measured.csv\" }";
        reader.problems.push(problem.help(help));
        return Vec::new();
    };
    if let DeValue::Table(table) = at.get_ref() {
        let mut section = Section::new("`at`", table, at.span());
        let file = section.required_text("file", reader);
        section.finish(reader);
        let Some(file) = file.map(|file| reader.path(file)) else {
            return Vec::new();
        };
        return match gyrator_record::read_table(&file.value) {
            Ok(table) => table.time.into_iter().map(Some).collect(),
            Err(error) => {
                reader.error("unreadable-times", error.to_string(), &file.span);
                Vec::new()
            }
        };
    }
    let times = elements(at).iter();
    let times = times.filter_map(|value| reader.number("at", value));
    times.map(|time| Some(time.value)).collect()
}

/// A list of texts, or one of them.
fn texts(key: &str, value: &Placed<DeValue<'_>>, reader: &mut Reader) -> Vec<String> {
    let texts = reader.texts(key, value).into_iter();
    texts.map(|text| text.value).collect()
}
