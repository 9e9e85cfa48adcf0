//! Files of states: the state of a run with all that it belongs to, so that it is taken by the same system only.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gyrator_system::{Scenario, Spanned, SystemFile, Value, toml_file};
use sha2::{Digest as _, Sha256};

use super::scenario;
use crate::block::block_files;
use crate::error::{RunError, StartError, StateFileError};
use crate::feed_forward::FeedForward;
use crate::run::{self, Run};
use crate::state_stream::{StateStream, Stored};

/// Beginning of every file: its kind, and its version.
const MAGIC: &[u8] = b"gyrator state 2\n";
/// Bytes of the hash at the end.
const HASH: usize = 32;
/// Most components, files and start values. A choice: more than any system has.
const MOST: usize = 1 << 20;

/// The state of a run at a communication point, with its system, the hashes of its files and the values that it was
/// started with.
///
/// As bytes it is a line with kind and version, the parts in the order of this type, and their SHA-256. Numbers are
/// little-endian, texts and lists begin with their length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StateFile {
    time: f64,
    /// The system as the text of a system file, without what another run may have otherwise.
    system: String,
    /// SHA-256 of the FMUs and tables, by component.
    files: Vec<(String, String)>,
    start_values: Vec<(String, String)>,
    /// SHA-256 of the scenario.
    scenario: Option<String>,
    feed_forward: Option<String>,
    state: Vec<u8>,
}

impl Stored for StateFile {
    fn transfer(&mut self, stream: &mut StateStream) {
        stream.keep(&mut self.time);
        stream.keep(&mut self.system);
        stream.list(&mut self.files, MOST);
        stream.list(&mut self.start_values, MOST);
        stream.keep(&mut self.scenario);
        stream.keep(&mut self.feed_forward);
        stream.raw(&mut self.state);
    }
}

/// Actions, and values that differ from the saved run's, which a run gets once it has its state.
#[derive(Debug)]
pub struct Resumption {
    state: Vec<u8>,
    scenario: Option<Scenario>,
    /// Names of the start values that differ.
    changed: Vec<String>,
}

impl StateFile {
    /// The file of a system, without a state.
    ///
    /// # Errors
    /// A file of the system that cannot be read.
    pub fn new(system: &SystemFile, feed_forward: Option<&FeedForward>) -> io::Result<Self> {
        let start_values = start_values(system).into_iter();
        let scenario = system.scenario_path().map(|path| digest(&path));
        Ok(Self {
            time: 0.0,
            system: fixed_text(system),
            files: files(system)?,
            start_values: start_values
                .map(|(name, value)| (name, toml_file::literal(value)))
                .collect(),
            scenario: scenario.transpose()?,
            feed_forward: feed_forward.map(|learned| hash(format!("{learned:?}").as_bytes())),
            state: Vec::new(),
        })
    }

    /// The file with a state that a run of its system has given at `time`, s ([`serialize`](run::serialize)).
    #[must_use]
    pub fn with(&self, time: f64, state: Vec<u8>) -> Self {
        Self {
            time,
            state,
            ..self.clone()
        }
    }

    /// Simulated time of the state, s.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut stream = StateStream::to_write();
        stream.keep(&mut self.clone());
        let body = stream.finish().unwrap_or_default();
        let mut bytes = [MAGIC, &body].concat();
        let hash = Sha256::digest(&bytes);
        bytes.extend_from_slice(&hash);
        bytes
    }

    /// Whether a file may be replaced by one of a state: it is empty, or one of any version.
    pub fn is_one(beginning: &[u8]) -> bool {
        const KIND: &[u8] = b"gyrator state ";
        beginning.is_empty() || beginning.starts_with(KIND)
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// Bytes that are none of such a file, or not all of it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StateFileError> {
        let again = "save it again with --save-state";
        if !Self::is_one(bytes) || bytes.is_empty() {
            let help = "`gyrator run --save-state FILE` writes one";
            return Err(StateFileError::new("this is not a saved state", help));
        }
        if !bytes.starts_with(MAGIC) {
            let message = "this saved state is of another version of gyrator";
            return Err(StateFileError::new(message, again));
        }
        let damaged = || StateFileError::new("this saved state is damaged or cut short", again);
        let (whole, hash) = bytes.split_last_chunk::<HASH>().ok_or_else(damaged)?;
        let body = whole.get(MAGIC.len()..).ok_or_else(damaged)?;
        if Sha256::digest(whole)[..] != hash[..] {
            return Err(damaged());
        }
        let mut file = Self::default();
        let mut stream = StateStream::to_read(body);
        stream.keep(&mut file);
        let is_read = stream.trouble().is_none() && stream.finish().is_some();
        if is_read && file.time.is_finite() {
            Ok(file)
        } else {
            Err(damaged())
        }
    }

    /// Compares the system that is to continue with the saved run's. They may differ in stop time, threads,
    /// processes of their own, and start values that can be set between steps. They may also differ in a scenario if
    /// the saved run has none: such a scenario is taken out of `system`, and acts from the state on.
    ///
    /// # Errors
    /// The first difference; a file of the system that cannot be read.
    pub fn resume(
        &self,
        system: &mut SystemFile,
        feed_forward: Option<&FeedForward>,
    ) -> Result<Resumption, StartError> {
        let unreadable = |error: io::Error| {
            let help = "the state is compared with the files of the system";
            StartError::State(StateFileError::new(error.to_string(), help))
        };
        let own = Self::new(system, feed_forward).map_err(unreadable)?;
        self.compare(&own).map_err(StartError::State)?;
        let scenario = match &self.scenario {
            Some(_) => None,
            None => scenario::read(system)?,
        };
        if scenario.is_some() {
            system.experiment.scenario = None;
        }
        Ok(Resumption {
            state: self.state.clone(),
            scenario,
            changed: self.changed_values(system).map_err(StartError::State)?,
        })
    }

    fn compare(&self, own: &Self) -> Result<(), StateFileError> {
        let names = |file: &Self| file.files.iter().map(|(name, _)| name.clone()).collect();
        let (theirs, here): (Vec<String>, Vec<String>) = (names(self), names(own));
        if theirs == here {
            let mut pairs = self.files.iter().zip(&own.files);
            if let Some(((name, _), _)) = pairs.find(|(theirs, own)| theirs != own) {
                let message = format!("the FMU or table of {name} is not that of the saved run");
                let help = "go on with the file of the saved run, or save the state again";
                return Err(StateFileError::new(message, help));
            }
        }
        if let Some(difference) = difference(&self.system, &own.system) {
            let message = format!("the saved run is of another system: {difference}");
            let help =
                "go on with the system and the options of the saved run, or save the state again";
            return Err(StateFileError::new(message, help));
        }
        if self.scenario.is_some() && self.scenario != own.scenario {
            let message = "the saved run had another scenario, whose actions are part of its state";
            let help = "go on with that scenario, or save the state of a run without one";
            return Err(StateFileError::new(message, help));
        }
        if self.feed_forward != own.feed_forward {
            let message = "the saved run had other learned feed-forward, or none";
            let help = "go on with the same --feed-forward";
            return Err(StateFileError::new(message, help));
        }
        Ok(())
    }

    fn changed_values(&self, system: &SystemFile) -> Result<Vec<String>, StateFileError> {
        let own: BTreeMap<_, _> = start_values(system).into_iter().collect();
        let theirs: BTreeMap<_, _> = self.start_values.iter().map(|(n, v)| (n, v)).collect();
        if let Some((name, value)) = theirs.iter().find(|(name, _)| !own.contains_key(**name)) {
            let message = format!("the saved run was started with {name} = {value}");
            let help = "give the start value here, too";
            return Err(StateFileError::new(message, help));
        }
        let is_changed = |(name, value): &(&String, &&Value)| {
            theirs
                .get(name)
                .is_none_or(|text| **text != toml_file::literal(value))
        };
        let changed = own.iter().filter(is_changed);
        Ok(changed.map(|(name, _)| name.clone()).collect())
    }
}

/// The first difference of two systems as text, in words.
fn difference(theirs: &str, own: &str) -> Option<String> {
    let lines = |text| str::lines(text).filter(|line| !line.is_empty());
    let [of_theirs, of_own]: [Vec<&str>; 2] = [theirs, own].map(|text| lines(text).collect());
    let differs = |at: &usize| of_theirs.get(*at) != of_own.get(*at);
    let at = (0..of_theirs.len().max(of_own.len())).find(differs)?;
    let theirs = of_theirs.get(at).copied().unwrap_or_default();
    let own = of_own.get(at).copied().unwrap_or_default();
    // A key stands in the section that has begun before it.
    let mut before = of_own[..at].iter().rev();
    let section = before.find(|line| line.starts_with('['));
    let words = |line: &str| match section {
        Some(section) if !line.starts_with('[') => format!("`{line}` in {section}"),
        _ => format!("`{line}`"),
    };
    let is_more = |line: &str, others: &[&str]| !line.is_empty() && !others.contains(&line);
    Some(match (is_more(theirs, &of_own), is_more(own, &of_theirs)) {
        (true, false) => format!("it has {}, which this one does not have", words(theirs)),
        (false, true) => format!("this one has {}, which it does not have", words(own)),
        (true, true) => format!("it has `{theirs}` where this one has {}", words(own)),
        (false, false) if own.is_empty() => format!("it has {} once more", words(theirs)),
        (false, false) => format!("this one has {} in another place", words(own)),
    })
}

impl Resumption {
    /// Has a run that was started from the compared system, and has made no step, go on from the state.
    ///
    /// # Errors
    /// A state that does not fit; a start value that differs from the saved run's and cannot be set between
    /// steps; all problems of the scenario.
    pub fn apply(self, run: &mut Run) -> Result<(), StartError> {
        run::deserialize(run, &self.state)?;
        if let Some(scenario) = &self.scenario {
            run.act(scenario)?;
        }
        let graph = Arc::clone(&run.state.graph);
        for (component, node) in graph.components.iter().enumerate() {
            for (variable, value) in &node.start_values {
                let name = graph.variable_name(component, *variable);
                if self.changed.contains(&name) {
                    set(run, &name, value)?;
                }
            }
        }
        Ok(())
    }
}

/// Sets a start value that differs from the saved run's.
fn set(run: &mut Run, name: &str, value: &crate::unit::Value) -> Result<(), StartError> {
    run.write(name, value).map_err(|error| match error {
        RunError::Variable(reason) => StartError::State(StateFileError::new(
            format!("the saved run had another start value of {name}: {reason}"),
            "only inputs that nothing feeds and tunable parameters change with a saved state",
        )),
        error => error.into(),
    })
}

/// The system without what another run of it may have otherwise, and without paths, whose files are hashed.
fn fixed_text(system: &SystemFile) -> String {
    let mut system = system.clone();
    system.experiment.stop_time = None;
    system.experiment.scenario = None;
    for component in &mut system.components {
        component.fmu = Spanned::unplaced(PathBuf::new());
        component.start_values.clear();
        component.library_path.clear();
        component.preload.clear();
        component.library = None;
        component.isolate = None;
        component.restart = None;
    }
    toml_file::to_toml(&system)
}

fn start_values(system: &SystemFile) -> Vec<(String, &Value)> {
    let components = system.components.iter();
    let values = components.flat_map(|component| {
        let name = &component.name.value;
        let values = component.start_values.iter();
        values.map(move |(variable, value)| (format!("{name}.{}", variable.value), &value.value))
    });
    values.collect()
}

/// The hashes of the FMUs and tables, by component. Equal files are read once.
fn files(system: &SystemFile) -> io::Result<Vec<(String, String)>> {
    let mut known: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut files = Vec::new();
    for component in &system.components {
        let mut paths: Vec<PathBuf> = Vec::new();
        if component.block.is_none() {
            paths.push(component.fmu.value.clone());
        }
        let tables = block_files(component, system).into_iter();
        paths.extend(tables.map(|(_, path)| path));
        for path in paths {
            let hash = match known.get(&path) {
                Some(hash) => hash.clone(),
                None => digest(&path)?,
            };
            known.insert(path, hash.clone());
            files.push((component.name.value.clone(), hash));
        }
    }
    Ok(files)
}

fn digest(path: &Path) -> io::Result<String> {
    let mut file = std::fs::File::open(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let mut hash = Hasher(Sha256::new());
    io::copy(&mut file, &mut hash)?;
    Ok(hexadecimal(&hash.0.finalize()))
}

struct Hasher(Sha256);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hash(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> StateFile {
        StateFile {
            time: 2.5,
            system: "[experiment]\nstep_size = 0.001\n".to_owned(),
            files: vec![("left".to_owned(), "aa".to_owned())],
            start_values: vec![("left.m".to_owned(), "2.0".to_owned())],
            scenario: Some("bb".to_owned()),
            feed_forward: None,
            state: vec![1, 2, 3],
        }
    }

    #[test]
    fn a_file_comes_back_from_its_bytes() {
        assert_eq!(StateFile::from_bytes(&file().to_bytes()), Ok(file()));
    }

    #[test]
    fn bytes_that_are_cut_short_or_changed_are_refused() {
        let bytes = file().to_bytes();
        for length in 0..bytes.len() {
            assert!(StateFile::from_bytes(&bytes[..length]).is_err(), "{length}");
        }
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert!(StateFile::from_bytes(&changed).is_err(), "{place}");
        }
        let later = [b"gyrator state 3\n", &bytes[MAGIC.len()..]].concat();
        let error = StateFile::from_bytes(&later).unwrap_err();
        assert!(error.message.contains("another version"), "{error}");
    }

    #[test]
    fn the_first_difference_is_named() {
        let saved = file();
        let found = |change: fn(&mut StateFile)| {
            let mut own = file();
            change(&mut own);
            saved.compare(&own).unwrap_err().message
        };
        assert_eq!(saved.compare(&saved), Ok(()));
        let other = found(|own| own.system = own.system.replace("0.001", "0.002"));
        assert!(other.contains("`step_size = 0.001` where this one has `step_size = 0.002`"));
        let other =
            found(|own| own.system = own.system.replace("step_size", "start_time = 1\nstep_size"));
        assert!(
            other
                .ends_with("this one has `start_time = 1` in [experiment], which it does not have"),
            "{other}"
        );
        let other = found(|own| own.system = own.system.replace("step_size = 0.001\n", ""));
        assert!(
            other.ends_with(
                "it has `step_size = 0.001` in [experiment], which this one does not have"
            ),
            "{other}"
        );
        let other = found(|own| own.system.push_str("\n[components.more]\n"));
        assert!(
            other.ends_with("this one has `[components.more]`, which it does not have"),
            "{other}"
        );
        assert!(found(|own| own.files[0].1 = "cc".to_owned()).contains("of left is not that"));
        assert!(found(|own| own.scenario = None).contains("scenario"));
        assert!(found(|own| own.feed_forward = Some(String::new())).contains("feed-forward"));
    }
}
