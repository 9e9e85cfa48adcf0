//! Reads a system of the SSP standard.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use gyrator_fmu::{Limits, OpenError};
use gyrator_system::{
    Component, Experiment, Problem, Problems, Spanned, SystemFile, check, did_you_mean, toml_file,
};

use crate::connections::{connection, outer_signals, ways};
use crate::description::{self, parameter_sets};
use crate::models::Models;
use crate::net::Net;
use crate::package::Package;
use crate::start_values::start_values;
use crate::structure::Description;
use crate::tree::Reader;

/// How a system is read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Names of the parameter sets that are applied; if empty, all sets that the system binds
    /// are, as the standard has it.
    pub parameter_sets: Vec<String>,
    /// Name of the description that is read instead of `SystemStructure.ssd`, without its ending.
    pub variant: Option<String>,
    /// Limits of archives, and of single files.
    pub limits: Limits,
}

/// Why a system was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The archive cannot be unpacked.
    #[error(transparent)]
    Archive(#[from] OpenError),
    /// No parameter set has this name.
    #[error("there is no parameter set `{name}`")]
    UnknownParameterSet {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// No description has this name.
    #[error("there is no variant `{name}`")]
    UnknownVariant {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The files do not describe a system.
    #[error(transparent)]
    Problems(#[from] Problems),
}

impl ReadError {
    /// Advice to the user.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let (name, known, things) = match self {
            Self::UnknownParameterSet { name, known } => (name, known, "parameter sets"),
            Self::UnknownVariant { name, known } => (name, known, "variants"),
            Self::Archive(_) | Self::Problems(_) => return None,
        };
        let near = did_you_mean(name, known.iter().map(String::as_str));
        Some(match near {
            Some(near) => near,
            None if known.is_empty() => format!("the system has no {things}"),
            None => format!("the {things} are `{}`", known.join("`, `")),
        })
    }
}

/// Reads a system from an `.ssp`, an `.ssd`, or a folder that holds a `SystemStructure.ssd`.
/// Warnings come with the system. The files of an archive are unpacked, and removed when the last
/// copy of the system is dropped.
///
/// Components are named by the systems around them, without the outermost, and their own name,
/// with dots between them.
///
/// # Errors
///
/// [`ReadError`] if the archive cannot be unpacked or a parameter set is not there; else with all
/// problems of all files, if one of them is an error.
pub fn read(path: &Path, options: &Options) -> Result<(SystemFile, Vec<Problem>), ReadError> {
    let (mut package, warnings) = Package::open(path, options.limits)?;
    let variants = package.variants();
    if let Some(name) = &options.variant {
        let name = name.strip_suffix(".ssd").unwrap_or(name);
        if !variants.iter().any(|known| known == name) {
            return Err(ReadError::UnknownVariant {
                name: name.to_owned(),
                known: variants,
            });
        }
        package.choose(name);
    }
    let mut reader = Reader::new(&package, options.limits);
    for warning in warnings {
        let problem = Problem::warning("archive", warning.message);
        reader.problems.push(problem);
    }
    let description = description::read(&mut reader);
    let system = match &description {
        Some(description) => {
            refuse_unknown(description, &options.parameter_sets)?;
            let mut system = flatten(description, options, &mut reader);
            system.unpacked = package.unpacked.clone();
            system
        }
        None => SystemFile::new(""),
    };
    if options.variant.is_none() {
        note_variants(&variants, &mut reader);
    }
    let supplements = description.as_ref().map(|d| &*d.supplements);
    finish(system, supplements, reader)
}

/// Descriptions beside the usual one are variants of the system (SSP 3), unless it includes them.
fn note_variants(variants: &[String], reader: &mut Reader<'_>) {
    let is_read = |name: &&String| {
        let mut files = reader.source.included.iter();
        files.any(|(_, path)| path.file_stem().is_some_and(|stem| stem == name.as_str()))
    };
    let others: Vec<&str> = variants
        .iter()
        .filter(|name| !is_read(name))
        .map(String::as_str)
        .collect();
    if !others.is_empty() {
        let message = format!(
            "SystemStructure.ssd is read, and not the variants beside it: `{}`",
            others.join("`, `")
        );
        let problem = Problem::warning("variants", message);
        let help = "choose one with --variant";
        reader.problems.push(problem.help(help));
    }
}

fn refuse_unknown(description: &Description, selected: &[String]) -> Result<(), ReadError> {
    let known = parameter_sets(&description.system);
    match selected.iter().find(|name| !known.contains(*name)) {
        Some(name) => Err(ReadError::UnknownParameterSet {
            name: name.clone(),
            known: known.into_iter().collect(),
        }),
        None => Ok(()),
    }
}

/// The system without the hierarchy.
fn flatten(description: &Description, options: &Options, reader: &mut Reader<'_>) -> SystemFile {
    let mut models = Models::new(options.limits);
    let net = Net::new(description, &mut models, reader);
    let ways = ways(&net, reader);
    let values = start_values(&net, &ways, &options.parameter_sets, description, reader);
    let mut system = SystemFile::new("");
    system.experiment = Experiment {
        start_time: description.start_time.clone(),
        stop_time: description.stop_time.clone(),
        step_size: description.macro_step.clone(),
        ..Experiment::default()
    };
    for (flat, values) in net.components.iter().zip(values) {
        let mut component = Component::new("", "");
        component.name = flat.name.clone();
        component.fmu = flat.node.fmu.clone();
        let place = flat.node.fmu.span.clone();
        component.isolate = flat.node.is_proxy.then(|| Spanned::new(true, place));
        component.step_size = step_size(flat.node.step_size.as_ref(), description, reader);
        component.start_values = values;
        system.components.push(component);
    }
    for way in &ways {
        system.connections.extend(connection(&net, way, reader));
    }
    system.outer_signals = outer_signals(&net, &ways, reader);
    system
}

/// The communication step of a component. The hint of libcosim need not be a multiple of the
/// macro-step; it takes the nearest one, at least one step.
fn step_size(
    hint: Option<&Spanned<f64>>,
    description: &Description,
    reader: &mut Reader<'_>,
) -> Option<Spanned<f64>> {
    let hint = hint?;
    let Some(macro_step) = &description.macro_step else {
        return Some(hint.clone());
    };
    let is_whole = |ratio: f64| (ratio - ratio.round()).abs() <= 1e-9 * ratio;
    let ratio = hint.value / macro_step.value;
    if is_whole(ratio) || is_whole(1.0 / ratio) {
        return Some(hint.clone());
    }
    let step = ratio.round().max(1.0) * macro_step.value;
    let message = format!(
        "the step size hint {} s is not a multiple of the macro-step {} s; the component steps by {step} s",
        hint.value, macro_step.value
    );
    let problem = Problem::warning("step-rounded", message);
    reader.problems.push(problem.at(&hint.span));
    Some(Spanned::new(step, hint.span.clone()))
}

/// Adds the annotations of gyrator, checks the system, and gives it out with all problems.
pub(crate) fn finish(
    mut system: SystemFile,
    supplements: Option<&[Range<usize>]>,
    reader: Reader<'_>,
) -> Result<(SystemFile, Vec<Problem>), ReadError> {
    let mut problems = reader.problems;
    let file = reader.package.description();
    let mut source = reader.source;
    source.path = file.shown;
    system.source = Arc::new(source);
    if let Some(supplements) = supplements {
        for span in supplements {
            problems.extend(toml_file::supplement(&mut system, span.clone()));
        }
        let has_errors = problems.iter().any(Problem::is_error);
        // A finding that follows from an error says nothing new.
        if !has_errors && system.components.is_empty() {
            problems.push(Problem::error(
                "no-components",
                "the system has no components",
            ));
        } else if !has_errors {
            problems.extend(check(&system));
        }
    }
    problems.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    if problems.iter().any(Problem::is_error) {
        return Err(ReadError::Problems(system.problems(problems)));
    }
    Ok((system, problems))
}
