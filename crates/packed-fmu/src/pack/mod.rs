//! Packing: `modelDescription.xml`, the library, the system and its files in one archive.

mod archive;
mod description;
mod exposure;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fmu_kit::package::{self, PLATFORM};
use gyrator::Verdict;
use gyrator::block::block_files;
use gyrator::error::StartError;
use gyrator::system::{FmuCache, resolved_graph};
use gyrator_fmu::{Fmu, Limits, ModelDescription, OpenError};
use gyrator_system::{Problem, Source, Spanned, SystemFile, Value, toml_file};

use crate::contents::{self, Contents};
use archive::Entries;

/// The system file in the folder `resources`.
pub const SYSTEM_FILE: &str = "system.toml";

/// Contents of a packed FMU, and its look from outside.
#[derive(Debug, Clone, Default)]
pub struct PackOptions {
    /// Name of the model; the identifier follows from it.
    pub model_name: String,
    /// Patterns of the variables to expose, with `*` and `?`; if empty, all outputs, unconnected inputs, parameters and
    /// the usual values of bonds.
    pub expose: Vec<String>,
    /// Other names of variables: `component.variable` and the name outside.
    pub rename: Vec<(String, String)>,
    /// Limits of the archives of the FMUs.
    pub limits: Limits,
}

/// A packed FMU.
#[derive(Debug)]
pub struct Packed {
    /// The archive.
    pub archive: Vec<u8>,
    /// Number of inputs, outputs and parameters.
    pub counts: [usize; 3],
    /// Parts of the system that mean something else in a packed FMU.
    pub warnings: Vec<String>,
}

/// Why a system was not packed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The system does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// An FMU cannot be read.
    #[error("component `{component}`: {source}")]
    Fmu {
        /// Name of the component.
        component: String,
        /// The reason.
        source: OpenError,
    },
    /// A file of the system cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The archive cannot be made.
    #[error("cannot make the archive: {0}")]
    Archive(String),
    /// A pattern or a name that fits nothing, or a name twice.
    #[error("{0}")]
    Names(String),
    /// The step control of the system, by name, is not `fixed`.
    #[error(
        "step control `{0}` chooses its own communication points, and a packed FMU has those of its importer"
    )]
    StepControl(String),
}

/// The number of a verdict as packed FMUs have it: from 1, in the order of severity.
pub(crate) fn verdict_number(verdict: Verdict) -> i32 {
    let place = Verdict::ALL.iter().position(|known| *known == verdict);
    place
        .and_then(|place| i32::try_from(place + 1).ok())
        .unwrap_or(0)
}

/// Packs a system, with its FMUs and `library`, the shared library of packed FMUs for this machine, as one FMU. Equal
/// systems with equal files give equal bytes.
///
/// # Errors
/// [`PackError`].
pub fn pack(
    system: &SystemFile,
    fmus: &FmuCache,
    library: &[u8],
    options: &PackOptions,
) -> Result<Packed, PackError> {
    check_steps(system)?;
    let (mut inner, warnings) = for_processes(system.clone());
    let opened = fmus.system(inner.clone())?;
    let errors = opened.check().into_iter();
    let list: Vec<_> = errors.filter(Problem::is_error).collect();
    if !list.is_empty() {
        return Err(StartError::Invalid(system.problems(list)).into());
    }
    let graph = resolved_graph(&opened)?;
    let models = models(system, options.limits)?;
    let exposed = exposure::choose(&graph, &models, options)?;
    let files = with_files(&mut inner)?;
    let mut table = Contents {
        guid: String::new(),
        variables: exposed
            .iter()
            .map(|variable| variable.row.clone())
            .collect(),
    };
    let about = description::About::new(system, &graph, &models, &options.model_name);
    let mut entries = Entries::new();
    for (path, name) in &files {
        entries.insert(format!("resources/{name}"), archive::read(path)?);
    }
    let text = Cow::Owned(toml_file::to_toml(&inner).into_bytes());
    entries.insert(format!("resources/{SYSTEM_FILE}"), text);
    let (platform, ending) = PLATFORM;
    let binary = format!("binaries/{platform}/{}{ending}", about.identifier);
    entries.insert(binary, Cow::Borrowed(library));
    let sources = exposure::dependencies(&graph, &exposed);
    let nameless = [about.document(&exposed, &sources, ""), json(&table)?];
    table.guid = archive::guid(&entries, &nameless);
    let xml = about.document(&exposed, &sources, &table.guid);
    for (name, text) in [
        ("modelDescription.xml".to_owned(), xml),
        (format!("resources/{}", contents::FILE), json(&table)?),
    ] {
        entries.insert(name, Cow::Owned(text.into_bytes()));
    }
    let bytes = package::archive(&entries);
    Ok(Packed {
        archive: bytes.map_err(|error| PackError::Archive(error.to_string()))?,
        counts: exposure::counts(&exposed),
        warnings,
    })
}

fn json(table: &Contents) -> Result<String, PackError> {
    let text = serde_json::to_string_pretty(table);
    text.map_err(|error| PackError::Archive(error.to_string()))
}

/// A communication step has to be a number of macro-steps that is known before.
fn check_steps(system: &SystemFile) -> Result<(), PackError> {
    let control = system.experiment.step_control.as_ref();
    match control.map(|control| control.name.value.as_str()) {
        None | Some("fixed") => Ok(()),
        Some(word) => Err(PackError::StepControl(word.to_owned())),
    }
}

/// The system without processes of its own: a packed FMU runs in the process of its importer.
fn for_processes(mut system: SystemFile) -> (SystemFile, Vec<String>) {
    let mut warnings = Vec::new();
    for component in &mut system.components {
        let name = &component.name.value;
        if component
            .isolate
            .take()
            .is_some_and(|isolate| isolate.value)
        {
            warnings.push(format!("{name}: `isolate` has no effect in a packed FMU"));
        }
        if component.host.take().is_some() {
            warnings.push(format!("{name}: `host` has no effect in a packed FMU"));
        }
        if component.restart.take().is_some() {
            warnings.push(format!("{name}: `restart` has no effect in a packed FMU"));
        }
        for path in &component.library_path {
            let path = path.value.display();
            warnings.push(format!(
                "{name}: `library_path` stays {path}, on this machine"
            ));
        }
    }
    system.hosts.clear();
    (system, warnings)
}

/// The descriptions of the FMUs, by component.
fn models(
    system: &SystemFile,
    limits: Limits,
) -> Result<BTreeMap<String, Arc<ModelDescription>>, PackError> {
    let mut by_path: BTreeMap<&Path, Arc<ModelDescription>> = BTreeMap::new();
    let mut models = BTreeMap::new();
    for component in system.components.iter().filter(|c| c.block.is_none()) {
        let (name, path) = (component.name.value.clone(), &*component.fmu.value);
        let model = match by_path.get(path) {
            Some(model) => Arc::clone(model),
            None => {
                let peek = Fmu::peek_with(path, limits).map_err(|source| PackError::Fmu {
                    component: name.clone(),
                    source,
                })?;
                by_path.insert(path, Arc::clone(&peek.description));
                peek.description
            }
        };
        models.insert(name, model);
    }
    Ok(models)
}

/// Gives the files of the system the names that they have in the archive, below `resources`.
fn with_files(system: &mut SystemFile) -> Result<BTreeMap<PathBuf, String>, PackError> {
    let mut files = BTreeMap::new();
    let mut used = BTreeSet::new();
    let tables: Vec<_> = system
        .components
        .iter()
        .map(|component| block_files(component, system))
        .collect();
    let scenario = system.scenario_path();
    for (component, tables) in system.components.iter_mut().zip(tables) {
        for (place, path) in tables {
            let name = entry_name(&mut files, &mut used, "tables", path);
            if let Some(block) = &mut component.block {
                block.parameters[place].1.value = Value::String(name);
            }
        }
        if component.block.is_none() {
            let path = component.fmu.value.clone();
            let name = entry_name(&mut files, &mut used, "fmus", path);
            component.fmu = Spanned::unplaced(name.into());
        }
    }
    if let Some(path) = scenario {
        const NAME: &str = "scenario.toml";
        system.experiment.scenario = Some(Spanned::unplaced(NAME.into()));
        files.insert(path, NAME.to_owned());
    }
    system.source = Arc::new(Source::new(SYSTEM_FILE, ""));
    Ok(files)
}

/// The name of a file in the archive: that which it has, or one that no other has.
fn entry_name(
    files: &mut BTreeMap<PathBuf, String>,
    used: &mut BTreeSet<String>,
    folder: &str,
    path: PathBuf,
) -> String {
    if let Some(name) = files.get(&path) {
        return name.clone();
    }
    let part = |part: Option<&std::ffi::OsStr>| -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let text = part.unwrap_or_default().to_string_lossy();
        text.chars()
            .map(|letter| if is_plain(letter) { letter } else { '_' })
            .collect()
    };
    let (stem, ending) = (part(path.file_stem()), part(path.extension()));
    let mut name = format!("{folder}/{stem}.{ending}");
    let mut number = 1;
    while !used.insert(name.to_lowercase()) {
        number += 1;
        name = format!("{folder}/{stem}-{number}.{ending}");
    }
    files.insert(path, name.clone());
    name
}
