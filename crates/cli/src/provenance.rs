//! Provenance of a run: the program and its arguments, SHA-256 of the files that it has read, its settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use gyrator_system::{Choice, Component, Experiment, Spanned, SystemFile, Tolerance, Value};
use gyrator_worker::replay::fingerprint;
use serde::Serialize;
use serde_json::{Map, json};

use crate::overwriting::{self, Named};

/// The inputs of a run, for it to be repeated. Of a run that crashed or never began, the FMUs, the further files
/// and the settings are null.
#[derive(Debug, Serialize)]
pub(crate) struct Provenance {
    gyrator: &'static str,
    /// Arguments of the program.
    arguments: Vec<String>,
    system: HashedFile,
    /// One entry a component that has an FMU.
    fmus: Option<Vec<FmuFile>>,
    /// The other files that were read.
    files: Option<Vec<OtherFile>>,
    settings: Option<serde_json::Value>,
}

/// A file and its content.
#[derive(Debug, Serialize)]
struct HashedFile {
    file: PathBuf,
    /// In hexadecimal digits; null for a folder, for a pipe, and if the file cannot be read any more.
    sha256: Option<String>,
}

#[derive(Debug, Serialize)]
struct FmuFile {
    component: String,
    #[serde(flatten)]
    file: HashedFile,
}

#[derive(Debug, Serialize)]
struct OtherFile {
    what: String,
    #[serde(flatten)]
    file: HashedFile,
}

impl Provenance {
    /// The part that the parent of a run knows.
    pub(crate) fn of_system_file(path: &Path) -> Self {
        Self {
            gyrator: env!("CARGO_PKG_VERSION"),
            arguments: arguments(),
            system: HashedFile {
                file: path.to_owned(),
                sha256: fingerprint(path).ok().flatten(),
            },
            fmus: None,
            files: None,
            settings: None,
        }
    }
}

/// Hashes of files by path.
type Hashes = BTreeMap<PathBuf, Option<String>>;

/// The files of a run, which are hashed on a thread of their own while the run goes on.
pub(crate) struct Hashing {
    files: Vec<(String, PathBuf)>,
    /// `None` if no thread can start.
    thread: Option<JoinHandle<Hashes>>,
}

impl Hashing {
    /// Begins to hash the files of a system, and `others` that were read with it. To be called before an FMU is loaded,
    /// which may change the working directory.
    pub(crate) fn start(system: &SystemFile, others: &[Named<'_>]) -> Self {
        let others = others
            .iter()
            .map(|(what, path)| ((*what).to_owned(), path.to_path_buf()));
        let further = overwriting::further_files(system).into_iter();
        let further = further.map(|(what, path)| (what.to_owned(), path));
        let files: Vec<(String, PathBuf)> = further.chain(others).collect();
        let fmus = components(system).map(|component| component.fmu.value.clone());
        let further = files.iter().map(|(_, path)| path.clone());
        let paths = std::iter::once(system.source.path.clone()).chain(fmus);
        let mut absolute = BTreeMap::new();
        for path in paths.chain(further) {
            let place = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
            absolute.insert(path, place);
        }
        // Unpacked FMUs stay until they are hashed.
        let unpacked = system.unpacked.clone();
        let work = move || {
            let hash = |(path, place): (_, PathBuf)| (path, fingerprint(&place).ok().flatten());
            let hashes = absolute.into_iter().map(hash).collect();
            drop(unpacked);
            hashes
        };
        let thread = std::thread::Builder::new().name("hashes".to_owned());
        Self {
            files,
            thread: thread.spawn(work).ok(),
        }
    }

    /// Waits for the hashes.
    pub(crate) fn finish(self, system: &SystemFile) -> Provenance {
        let hashes = self.thread.and_then(|thread| thread.join().ok());
        let hashes = Files {
            hashes: hashes.unwrap_or_default(),
            unpacked: system.unpacked.folder(),
        };
        let fmu = |component: &Component| FmuFile {
            component: component.name.value.clone(),
            file: hashes.of(&component.fmu.value),
        };
        let fmus = components(system).map(fmu).collect();
        let other = |(what, path): (String, PathBuf)| OtherFile {
            what,
            file: hashes.of(&path),
        };
        Provenance {
            gyrator: env!("CARGO_PKG_VERSION"),
            arguments: arguments(),
            fmus: Some(fmus),
            files: Some(self.files.into_iter().map(other).collect()),
            system: hashes.of(&system.source.path),
            settings: Some(settings(system)),
        }
    }
}

struct Files<'a> {
    hashes: Hashes,
    /// Where the files of a package were unpacked to.
    unpacked: Option<&'a Path>,
}

impl Files<'_> {
    /// A file, by its place in the package if it comes from one.
    fn of(&self, path: &Path) -> HashedFile {
        let inside = self
            .unpacked
            .and_then(|folder| path.strip_prefix(folder).ok());
        HashedFile {
            file: inside.unwrap_or(path).to_owned(),
            sha256: self.hashes.get(path).cloned().flatten(),
        }
    }
}

fn arguments() -> Vec<String> {
    let arguments = std::env::args_os().skip(1);
    arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

fn components(system: &SystemFile) -> impl Iterator<Item = &Component> {
    let components = system.components.iter();
    components.filter(|component| component.block.is_none())
}

/// The settings in force, by the file's keys: the file's settings with the options of the command line.
fn settings(system: &SystemFile) -> serde_json::Value {
    let experiment = &system.experiment;
    let time = |time: &Option<Spanned<f64>>| time.as_ref().map(|time| time.value);
    let exchange = |asked: &Option<Spanned<String>>| asked.as_ref().map(|word| word.value.clone());
    let exchange_of_all = exchange(&experiment.exchange);
    let exchange_of_all = exchange_of_all.unwrap_or_else(|| Experiment::EXCHANGE.to_owned());
    let components = system.components.iter().map(|component| {
        let own = component.extrapolation.as_ref();
        json!({
            "name": component.name.value,
            "step_size": time(&component.step_size).or_else(|| time(&experiment.step_size)),
            "exchange": exchange(&component.exchange).unwrap_or_else(|| exchange_of_all.clone()),
            "extrapolation": choice(own.or(experiment.extrapolation.as_ref()), Experiment::EXTRAPOLATION),
        })
    });
    let bonds = system.bonds.iter().map(|bond| {
        let correction = choice(bond.correction.as_ref(), "off");
        json!({"name": bond.name.value, "correction": correction})
    });
    let tolerance = experiment.tolerance.as_ref();
    let tolerance = tolerance.map(|tolerance| match tolerance.value {
        Tolerance::Relative(number) => json!(number),
        Tolerance::Off => json!(Tolerance::NONE),
    });
    json!({
        "start_time": time(&experiment.start_time).unwrap_or(0.0),
        "stop_time": time(&experiment.stop_time),
        "step_size": time(&experiment.step_size),
        "tolerance": tolerance,
        "method": choice(experiment.method.as_ref(), Experiment::METHOD),
        "step_control": choice(experiment.step_control.as_ref(), Experiment::STEP_CONTROL),
        "components": components.collect::<Vec<_>>(),
        "bonds": bonds.collect::<Vec<_>>(),
    })
}

/// A word of a registry with its parameters, as `{"name": …}`.
fn choice(choice: Option<&Choice>, default: &str) -> serde_json::Value {
    let mut entry = Map::new();
    let name = choice.map_or(default, |choice| &*choice.name.value);
    entry.insert("name".to_owned(), name.into());
    for (name, value) in choice.iter().flat_map(|choice| &choice.parameters) {
        let value = match &value.value {
            Value::Real(number) => (*number).into(),
            Value::Integer(number) => (*number).into(),
            Value::Boolean(truth) => (*truth).into(),
            Value::String(text) => text.as_str().into(),
        };
        entry.insert(name.value.clone(), value);
    }
    entry.into()
}
