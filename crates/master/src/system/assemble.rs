//! From a system file to a system: its FMUs are opened; no library is loaded yet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use gyrator_fmu::{Fmu, OpenError, OpenOptions};
use gyrator_system::{Component, LibraryUse, Problem, Problems, Spanned, SystemFile};

use super::{System, UnitSource, rest, scenario};
use crate::block;
use crate::start_error::{LoadError, LoadErrorKind, StartError};
use crate::unit::UnitDescription;
use crate::unit::describe;

/// FMUs that were opened, for systems that share them: each archive is unpacked and each
/// description read once. An FMU is identified by its path and the libraries it is loaded with.
#[derive(Default)]
pub struct FmuCache {
    /// Shared with all caches that stand [apart](FmuCache::apart).
    files: Arc<Mutex<BTreeMap<Key, Opened>>>,
    /// The FMUs of another cache, of which this one has copies.
    originals: Option<Arc<Mutex<BTreeMap<Key, Opened>>>>,
    fmus: Mutex<BTreeMap<Key, Opened>>,
    options: OpenOptions,
}

/// Identity of an opened FMU.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    fmu: PathBuf,
    preload: Vec<String>,
    library_path: Vec<PathBuf>,
}

impl Key {
    fn of(component: &Component) -> Self {
        let preload = component.preload.iter();
        let library_path = component.library_path.iter();
        Self {
            fmu: component.fmu.value.clone(),
            preload: preload.map(|name| name.value.clone()).collect(),
            library_path: library_path.map(|path| path.value.clone()).collect(),
        }
    }
}

#[derive(Clone)]
struct Opened {
    fmu: Fmu,
    description: Arc<UnitDescription>,
}

impl Opened {
    fn open(component: &Component, key: &Key, options: &OpenOptions) -> Result<Self, LoadError> {
        let mut options = options.clone();
        options.preload.extend_from_slice(&key.preload);
        options.library_path.extend_from_slice(&key.library_path);
        let fmu = Fmu::open_with(&key.fmu, &options);
        let fmu = fmu.map_err(|error| not_opened(component, &error))?;
        let description = Arc::new(describe(fmu.description()));
        Ok(Self { fmu, description })
    }

    fn with_own_files(&self, component: &Component) -> Result<Self, LoadError> {
        let fmu = self.fmu.with_own_files();
        Ok(Self {
            fmu: fmu.map_err(|error| not_opened(component, &error))?,
            description: Arc::clone(&self.description),
        })
    }
}

fn not_opened(component: &Component, error: &OpenError) -> LoadError {
    LoadError {
        component: component.name.value.clone(),
        message: error.to_string(),
        kind: match error {
            _ if error.is_shortage() => LoadErrorKind::HostLost,
            OpenError::Io { .. } | OpenError::Compile { .. } => LoadErrorKind::NotLoaded,
            _ => LoadErrorKind::Invalid,
        },
    }
}

impl FmuCache {
    /// An empty cache that opens FMUs with these options; libraries that a system file names come
    /// after the options' libraries.
    #[must_use]
    pub fn new(options: OpenOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// A cache of the same files whose FMUs have libraries of their own ([`Fmu::with_own_libraries`]): for
    /// another thread, which a fatal error of this one's FMUs does not concern.
    #[must_use]
    pub fn with_own_libraries(&self) -> Self {
        Self {
            files: Arc::clone(&self.files),
            originals: self.originals.clone(),
            fmus: Mutex::default(),
            options: self.options.clone(),
        }
    }

    /// As [`with_own_libraries`](Self::with_own_libraries), and what FMUs write among their unpacked files does not concern
    /// this cache ([`Fmu::with_own_files`]).
    #[must_use]
    pub fn with_own_files(&self) -> Self {
        Self {
            originals: Some(Arc::clone(&self.files)),
            options: self.options.clone(),
            ..Self::default()
        }
    }

    /// Puts the unpacked files of all FMUs back where code has changed them, while no instance exists. Returns the
    /// FMUs with the names of these files.
    ///
    /// # Errors
    /// If they cannot be put back.
    pub fn restore_files(&self) -> Result<Vec<(PathBuf, Vec<String>)>, OpenError> {
        let fmus = self.fmus.lock().unwrap_or_else(PoisonError::into_inner);
        let restored = fmus.values().map(|Opened { fmu, .. }| {
            let names = fmu.restore_files()?;
            Ok((fmu.path().to_owned(), names))
        });
        let is_changed = |(_, names): &(PathBuf, Vec<String>)| !names.is_empty();
        let restored = restored.filter(|found| found.as_ref().map_or(true, is_changed));
        restored.collect()
    }

    /// Loads the libraries again from now on, as an FMU needs it after a fatal error.
    pub fn renew(&self) {
        self.fmus
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Opens the FMUs of `file` before their systems are made: paths and rights may mean something
    /// else once code of FMUs has run. [`system`](Self::system) reports those that fail to open.
    pub fn open_all(&self, file: &SystemFile) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let with_fmu = |component: &&Component| component.block.is_none();
        for component in file.components.iter().filter(with_fmu) {
            let key = Key::of(component);
            if files.contains_key(&key) {
                continue;
            }
            if let Ok(opened) = Opened::open(component, &key, &self.options) {
                files.insert(key, opened);
            }
        }
    }

    fn open(&self, component: &Component, key: Key) -> Result<Opened, LoadError> {
        let mut fmus = self.fmus.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = fmus.get(&key) {
            return Ok(found.clone());
        }
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let new = match files.get(&key) {
            Some(Opened { fmu, description }) => Opened {
                fmu: fmu.with_own_libraries(),
                description: Arc::clone(description),
            },
            None => {
                let new = match self.original(&key) {
                    Some(original) => original.with_own_files(component)?,
                    None => Opened::open(component, &key, &self.options)?,
                };
                files.insert(key.clone(), new.clone());
                new
            }
        };
        fmus.insert(key, new.clone());
        Ok(new)
    }

    /// The FMU of the cache that this one has copies of.
    fn original(&self, key: &Key) -> Option<Opened> {
        let originals = self.originals.as_ref()?.lock();
        let originals = originals.unwrap_or_else(PoisonError::into_inner);
        originals.get(key).cloned()
    }

    /// As [`System::from_file`], with FMUs that were opened before.
    ///
    /// # Errors
    /// As [`System::from_file`].
    pub fn system(&self, file: SystemFile) -> Result<System, StartError> {
        let opened = OpenedParts::open(&file, self);
        if opened.errors.is_empty() && opened.problems.is_empty() {
            let parts = opened.parts.into_iter().flatten().collect();
            let warnings = opened.warnings.into_iter();
            let warnings = warnings.map(|warning| warning.problem(&file)).collect();
            let scenario = scenario::read(&file)?;
            return Ok(System {
                parts,
                warnings,
                scenario,
                ..super::described(file)
            });
        }
        let (errors, list) = opened.all_problems(&file);
        let is_valid = list.is_empty();
        let source = file.source;
        let problems = Problems { source, list };
        Err(match (errors.is_empty(), is_valid) {
            (true, _) => StartError::Invalid(problems),
            (false, true) => StartError::Load(errors),
            (false, false) => StartError::Several(errors, problems),
        })
    }

    /// The FMU of a component that is added in code, with its warnings.
    pub(super) fn source(
        &self,
        component: &Component,
    ) -> Result<(UnitSource, Vec<Problem>), StartError> {
        let opened = self.open(component, Key::of(component));
        let Opened { fmu, description } = opened.map_err(|error| StartError::Load(vec![error]))?;
        let path = component.fmu.value.display();
        let warning =
            |text: &dyn std::fmt::Display| Problem::warning("fmu", format!("{path}: {text}"));
        let warnings = fmu.warnings().iter().map(|text| warning(text)).collect();
        Ok((UnitSource::Fmu(fmu, description), warnings))
    }
}

impl System {
    /// Opens the FMUs of `file`, in each its description, the tables of its blocks, and its scenario. No code of
    /// FMUs runs before [`start`](System::start).
    ///
    /// # Errors
    /// All FMUs that cannot be opened, or all blocks that cannot be made; a scenario file that cannot be read.
    pub fn from_file(file: SystemFile) -> Result<Self, StartError> {
        FmuCache::default().system(file)
    }
}

/// FMUs whose library was copied for instances, with the numbers of copies, in the order of the components.
pub fn copied_libraries(system: &System) -> Vec<(PathBuf, usize)> {
    let mut found: Vec<(PathBuf, usize)> = Vec::new();
    for part in &system.parts {
        if let UnitSource::Fmu(fmu, _) = part
            && fmu.copies() > 0
            && !found.iter().any(|(path, _)| path == fmu.path())
        {
            found.push((fmu.path().to_owned(), fmu.copies()));
        }
    }
    found
}

/// FMUs that several components use, with the names of these: their instances in one process have the same unpacked files.
pub fn shared_fmus(system: &System) -> Vec<(Fmu, Vec<String>)> {
    let mut found: Vec<(Fmu, Vec<String>)> = Vec::new();
    for (component, part) in system.file.components.iter().zip(&system.parts) {
        let UnitSource::Fmu(fmu, _) = part else {
            continue;
        };
        let name = component.name.value.clone();
        match found
            .iter_mut()
            .find(|(known, _)| known.path() == fmu.path())
        {
            Some((_, names)) => names.push(name),
            None => found.push((fmu.clone(), vec![name])),
        }
    }
    found.retain(|(_, names)| names.len() > 1);
    found
}

/// A message with the path of the archive instead of the folder into which it is unpacked.
fn with_archive(message: String, file: &SystemFile) -> String {
    match (file.unpacked.folder(), file.source.path.parent()) {
        (Some(folder), Some(archive)) => {
            let [folder, archive] = [folder, archive].map(|path| path.display().to_string());
            message.replace(&folder, &archive)
        }
        _ => message,
    }
}

/// Opens the FMUs of a file that has problems already, for all others to be found with them: FMUs that
/// cannot be opened, and problems of what does not depend on these. Problems that are known are not
/// repeated.
pub fn further_problems(
    file: &SystemFile,
    known: &[Problem],
    cache: &FmuCache,
) -> (Vec<LoadError>, Vec<Problem>) {
    let (errors, mut problems) = OpenedParts::open(file, cache).all_problems(file);
    let is_known = |problem: &Problem| known.iter().any(|known| known.span == problem.span);
    problems.retain(|problem| !is_known(problem));
    (errors, problems)
}

/// The FMUs and blocks of a file.
struct OpenedParts {
    /// By component; `None` for those that could not be opened.
    parts: Vec<Option<UnitSource>>,
    warnings: Vec<FmuWarning>,
    errors: Vec<LoadError>,
    problems: Vec<Problem>,
}

impl OpenedParts {
    fn open(file: &SystemFile, cache: &FmuCache) -> Self {
        let mut opened = Self {
            parts: Vec::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
            problems: Vec::new(),
        };
        let mut met: BTreeSet<Key> = BTreeSet::new();
        for component in &file.components {
            let part = if component.block.is_some() {
                let unit = block::make(component, file).map(UnitSource::of_unit);
                unit.map_err(|found| opened.problems.extend(found)).ok()
            } else {
                opened.fmu(component, file, cache, &mut met)
            };
            opened.parts.push(part);
        }
        opened
    }

    fn fmu(
        &mut self,
        component: &Component,
        file: &SystemFile,
        cache: &FmuCache,
        met: &mut BTreeSet<Key>,
    ) -> Option<UnitSource> {
        let key = Key::of(component);
        match cache.open(component, key.clone()) {
            Ok(Opened { fmu, description }) => {
                if met.insert(key) {
                    warn(component, &fmu, &mut self.warnings);
                }
                self.problems.extend(unshared_library(component, &fmu));
                Some(UnitSource::Fmu(fmu, description))
            }
            Err(error) => {
                self.errors.push(LoadError {
                    message: with_archive(error.message, file),
                    ..error
                });
                None
            }
        }
    }

    /// With the problems of the system that the parts make which could be opened.
    fn all_problems(self, file: &SystemFile) -> (Vec<LoadError>, Vec<Problem>) {
        let mut problems = self.problems;
        let parts = file.components.iter().zip(&self.parts);
        let described = parts.filter_map(|(component, part)| {
            let description = part.as_ref()?.description();
            Some((component, Arc::clone(description)))
        });
        problems.extend(rest::problems(file, described.collect()));
        (self.errors, problems)
    }
}

/// The wish for a shared library, of an FMU that bears one instance per process.
fn unshared_library(component: &Component, fmu: &Fmu) -> Option<Problem> {
    let library = component.library.as_ref()?;
    let claims = fmu.description().co_simulation.as_ref()?;
    let is_refused =
        library.value == LibraryUse::Shared && claims.can_be_instantiated_only_once_per_process;
    let message = format!(
        "the library of `{}` cannot be shared: the FMU says that it can be instantiated only once per process \
         (canBeInstantiatedOnlyOncePerProcess)",
        component.name.value
    );
    is_refused.then(|| {
        Problem::error("library-for-one-instance", message)
            .at(&library.span)
            .help("remove `library = \"shared\"`: each instance then has a copy")
    })
}

/// Adds the warnings of an FMU. One that another FMU has given is not repeated, but counted.
fn warn(component: &Component, fmu: &Fmu, warnings: &mut Vec<FmuWarning>) {
    for warning in fmu.warnings() {
        let text = warning.to_string();
        match warnings.iter_mut().find(|known| known.text == text) {
            Some(known) => known.others += 1,
            None => warnings.push(FmuWarning {
                text,
                fmu: component.fmu.clone(),
                others: 0,
            }),
        }
    }
}

/// A warning about the archive or the description of FMUs.
struct FmuWarning {
    text: String,
    /// The first FMU that gives it.
    fmu: Spanned<PathBuf>,
    /// How many others do.
    others: usize,
}

impl FmuWarning {
    fn problem(self, file: &SystemFile) -> Problem {
        let others = match self.others {
            0 => String::new(),
            1 => "; the same of another FMU".to_owned(),
            number => format!("; the same of {number} other FMUs"),
        };
        let message = format!("{}: {}{others}", self.fmu.value.display(), self.text);
        Problem::warning("fmu", with_archive(message, file)).at(&self.fmu.span)
    }
}
