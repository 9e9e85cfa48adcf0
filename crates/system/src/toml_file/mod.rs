//! The native format of system files: TOML 1.1.
//!
//! Reading collects every problem with its place and continues after it, so that one run of the
//! reader reports all of them.
//!
//! ```toml
//! # include = ["sensors.toml"]  # further files; what this one says comes before what they say
//!
//! [experiment]                  # every key may be left to the command line or to defaults
//! start_time = 0.0              # s
//! stop_time = 10.0              # s; or `duration`, s
//! step_size = 1e-3              # macro-step, s
//! tolerance = 1e-6              # relative; passed to the FMUs
//! method = "auto"               # a word of a registry, or { name = "…", parameter = … }
//! exchange = "auto"             # auto | stale | fresh | compensated
//! step_control = "fixed"        # as method
//! extrapolation = "auto"        # as method
//!
//! [defaults]                    # of all components that do not say their own: any key of theirs
//! step_halvings = 2
//!
//! [components.left]             # `[components."left.arm"]` for a name with dots
//! fmu = "Left.fmu"              # required; relative to the folder of this file
//! step_size = 1e-3              # communication step, s
//! extrapolation = "linear"      # of all its inputs
//! exchange = "stale"
//! start_values = { m = 1, body.mass = 2.5, "x[1]" = 0.1, on = true, file = "data.csv" }
//! preload = ["libvendor.so"]    # shared libraries to load first
//! propagate_initial_inputs = false
//!
//! [components.right]
//! fmu = "Right.fmu"
//! host = "lab"                  # another machine runs it: a name below `[hosts]`, or an address
//!
//! [hosts.lab]
//! url = "https://lab:7443"      # where `gyrator serve` listens
//! access = "lab-access"         # folder with its certificates and its token
//! keep_alive = 1.0              # s; default 1
//! upload = false                # whether FMUs that it lacks are sent to it
//!
//! [components.road]
//! block = { name = "sine", amplitude = 0.05 }         # a source or a function: a word of a registry
//!
//! [[connections]]
//! from = "right.x"
//! to = "left.x2"
//! gain = 2.0                    # after the conversion of units
//! offset = 0.5                  # in the unit of the input
//!
//! [[connections]]
//! from = "right.mode"
//! to = "left.mode"
//! convert = { off = 0, on = 1 } # or "round", "floor", "ceiling", "truncate", "nonzero"
//! unit_conversion = false
//!
//! [[bonds]]
//! name = "coupling"
//! effort = [{ from = "left.f", to = "right.f" }]    # one pair an axis; one alone needs no list
//! flow = ["right.v", "left.v2"]                     # as many, the other way; a pair in short
//! sense = -1                                        # default 1
//! correction = { name = "residual-power", mu = 0.5 }  # default "off"
//! max_residual_energy = 100.0                       # J; beyond it the run ends
//! energy_tolerance = 1e-6                           # r and E₀, J, of step control ecco; default: its own
//! energy_scale = 10.0
//!
//! [[interface_models]]
//! name = "arm"
//! component = "right"                               # the multibody component, which gives the flows
//! bonds = "coupling"                                # one name, or a list
//! exchange_step = 1e-4                              # s; divides the macro-step
//! inverse_mass = ["w11"]                            # outputs of the component
//! free_acceleration = ["b1"]
//! positions = ["x"]
//! forces = ["left.f_total"]                         # default: the efforts of the bonds
//! order = "fast-first"                              # a word of a registry; its parameters are keys here
//! force = "mean"
//! ```

mod components;
mod document;
mod experiment;
mod hosts;
mod include;
mod interface_models;
mod scenario;
pub mod section;
mod settings;
mod supplement;
mod wiring;
mod write;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::DeTable;

use crate::check::check;
use crate::problem::{Problem, Problems, Source};
use crate::system_file::{SystemFile, Unpacked};
use section::{Reader, Section};

pub use document::{ReadError, parse_document, read_text};
pub use interface_models::OPTIONS as INTERFACE_MODEL_OPTIONS;
pub use scenario::{parse_scenario, read_scenario};
pub use settings::{Setting, parse_with, segments};
pub use supplement::supplement;
pub use write::{bond_to_toml, literal, to_toml};

/// A remark after a number, and the comment about its unit, if no FMU recommends one. A program that finds a better number removes
/// it.
pub const GUESS: &str = "; a guess: no FMU recommends one";

/// Reads a system file; paths in it are joined to its folder. Warnings come with the system.
///
/// # Errors
///
/// [`ReadError`] if the file cannot be read, or with all problems if one of them is an error.
pub fn read(path: &Path) -> Result<(SystemFile, Vec<Problem>), ReadError> {
    let (system, problems) = read_partly(path)?;
    Ok(without_errors(system, problems)?)
}

/// As [`read`], with errors among the problems: the system is all that could be read, for further
/// problems to be found in it.
///
/// # Errors
///
/// [`ReadError`] if the file cannot be read, or is not TOML.
pub fn read_partly(path: &Path) -> Result<(SystemFile, Vec<Problem>), ReadError> {
    let text = read_text("the system file", path)?;
    let end = text.len();
    Ok(parse_partly(text, path.to_owned(), end, &[])?)
}

/// The same system with the text of a system file as its source, which [`parse_with`] can change:
/// for systems that were read from another format. FMUs of an archive get paths from the folder in
/// which they were unpacked, so that the text does not depend on it.
///
/// # Errors
///
/// All problems of the text.
pub fn as_toml(mut system: SystemFile) -> Result<SystemFile, Problems> {
    let name = system.source.path.with_extension("toml");
    let path = match (system.unpacked.folder(), name.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => name,
    };
    system.source = Arc::new(Source::new(&path, ""));
    let (mut read, _) = parse(to_toml(&system), path)?;
    read.unpacked = system.unpacked;
    Ok(read)
}

/// Reads a system from text. `path` is the file of the text: paths in the text are joined to
/// its folder, and problems name it. Warnings come with the system.
///
/// # Errors
///
/// All problems of the text in its order, if one of them is an error.
pub fn parse(
    text: impl Into<String>,
    path: impl Into<PathBuf>,
) -> Result<(SystemFile, Vec<Problem>), Problems> {
    let text = text.into();
    let end = text.len();
    parse_edited(text, path.into(), end, &[])
}

/// Reads a system from the text before `end`, with settings whose values stand after it.
fn parse_edited(
    text: String,
    path: PathBuf,
    end: usize,
    settings: &[(&str, Range<usize>)],
) -> Result<(SystemFile, Vec<Problem>), Problems> {
    let (system, problems) = parse_partly(text, path, end, settings)?;
    without_errors(system, problems)
}

fn without_errors(
    system: SystemFile,
    problems: Vec<Problem>,
) -> Result<(SystemFile, Vec<Problem>), Problems> {
    if has_errors(&problems) {
        return Err(Problems {
            source: system.source,
            list: problems,
        });
    }
    Ok((system, problems))
}

/// As [`parse_edited`], with errors among the problems; a text that is not TOML gives its own errors
/// only.
fn parse_partly(
    text: String,
    path: PathBuf,
    end: usize,
    settings: &[(&str, Range<usize>)],
) -> Result<(SystemFile, Vec<Problem>), Problems> {
    let mut source = Source::new(path, text);
    let mut not_included = Vec::new();
    let parts = include::append_included(&mut source, end, &mut not_included);
    let source = Arc::new(source);
    let mut reader = Reader::new(Arc::clone(&source));
    reader.problems = not_included;
    let mut syntax = Vec::new();
    let mut documents = parts.iter().map(|part| {
        let text = &source.text[part.range.clone()];
        let (document, errors) = DeTable::parse_recoverable(text);
        let problem = |error| syntax_problem(error, text, part.range.start);
        syntax.extend(errors.iter().map(problem));
        document.into_inner()
    });
    let mut document = documents.next().unwrap_or_else(DeTable::new);
    let included: Vec<_> = documents.collect();
    include::merge(&mut document, included, &parts, &mut reader.problems);
    if let Err(problem) = settings::apply(&mut document, &source.text, settings) {
        reader.problems.push(problem);
    }
    let system = read_system(&document, &source, &mut reader);
    let mut problems = reader.problems;
    let is_toml = syntax.is_empty();
    if is_toml {
        problems.extend(check(&system));
    } else {
        // References of names are not checked: the cause may be the text that could not be read.
        // Further errors of the parser on a line follow from its first error.
        syntax.dedup_by_key(|problem| {
            let start = problem.span.as_ref().map_or(0, |span| span.start);
            (source.file_at(start).1, source.position(start).0)
        });
        problems.retain(|problem| !syntax.iter().any(|broken| touch(problem, broken)));
        problems.extend(syntax);
    }
    problems.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    if is_toml {
        return Ok((system, problems));
    }
    Err(Problems {
        source,
        list: problems,
    })
}

fn has_errors(problems: &[Problem]) -> bool {
    problems.iter().any(Problem::is_error)
}

fn read_system(document: &DeTable<'_>, source: &Arc<Source>, reader: &mut Reader) -> SystemFile {
    let mut root = Section::new("a system file", document, 0..0);
    if let Some(value) = root.take("include") {
        reader.texts("include", value);
    }
    let experiment = root.table("experiment", "[experiment]", reader);
    let components = components::read(&mut root, reader);
    let names = components
        .iter()
        .map(|component| component.name.value.clone())
        .chain(std::mem::take(&mut reader.other_components))
        .collect();
    let connections = wiring::connections(&mut root, "connections", &names, reader);
    let bonds = wiring::bonds(&mut root, &names, reader);
    let interface_models = interface_models::read(&mut root, &names, reader);
    let hosts = hosts::read(&mut root, reader);
    root.finish(reader);
    SystemFile {
        source: Arc::clone(source),
        experiment: experiment
            .map(|section| experiment::read(section, reader))
            .unwrap_or_default(),
        connections,
        bonds,
        interface_models,
        hosts,
        components,
        outer_signals: Vec::new(),
        unpacked: Unpacked::default(),
    }
}

/// A syntax error of the parser as a problem, in a text that begins at `offset`; its place is never
/// empty.
fn syntax_problem(error: &toml::de::Error, text: &str, offset: usize) -> Problem {
    let span = error.span().unwrap_or(0..0);
    let mut start = text.floor_char_boundary(span.start);
    let mut end = text.ceil_char_boundary(span.end).max(start);
    let found = &text[start..end];
    let (rule, message) = match error.message() {
        "duplicate key" => (
            "duplicate-key",
            format!("`{}` is there twice", found.trim()),
        ),
        other => ("syntax", format!("this is not TOML: {other}")),
    };
    if start == end {
        end = text.ceil_char_boundary(end + 1);
    }
    if start == end {
        start = text.floor_char_boundary(start.saturating_sub(1));
    }
    Problem::error(rule, message).at(&(offset + start..offset + end))
}

/// Whether two problems overlap or stand side by side.
fn touch(problem: &Problem, other: &Problem) -> bool {
    match (&problem.span, &other.span) {
        (Some(one), Some(two)) => one.start <= two.end && two.start <= one.end,
        _ => false,
    }
}
