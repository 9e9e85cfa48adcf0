//! An FMU: opened once, instantiated as often as needed.

mod libraries;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::archive::{Archive, Limits};
use crate::compiling::{self, Compiler};
use crate::contents::Contents;
use crate::description::{CoSimulation, ModelDescription};
use crate::elf::Binary;
use crate::error::{LoadError, OpenError};
use crate::flight_recorder::{Activity, SlotGuard};
use crate::float_control::FloatControl;
use crate::functions::required_functions;
use crate::instance::{Instance, InstanceOptions};
use crate::library_file::UnpackedBinary;
use crate::needs::{Loading, Needs};
use crate::platform;
use crate::python;
use crate::unpacked::Unpacked;
use crate::warning::Warning;
use libraries::Libraries;
pub use libraries::loaded_copies;

/// The library of the Java machine.
const JAVA: &str = "libjvm.so";

/// How to open an FMU.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Libraries that are loaded before the FMU's own, for all of the process to use, such as
    /// `libpython3.11.so.1.0`: names as the dynamic loader takes them.
    pub preload: Vec<String>,
    /// Directories that are searched first for libraries that the FMU or its libraries need. They
    /// have to be named by absolute paths, or paths relative to the working directory.
    pub library_path: Vec<PathBuf>,
    /// When to refuse an archive.
    pub limits: Limits,
    /// A directory that keeps unpacked FMUs for later, and finds them again by their content. The
    /// files in it are shared by all runs, and read-only. `None` unpacks into a directory of the
    /// FMU's own that is removed after use.
    pub cache: Option<PathBuf>,
    /// The compiler for FMUs that have sources and no library for this machine. `None` compiles
    /// nothing. With a [cache](Self::cache) each FMU is compiled once.
    pub compiler: Option<Compiler>,
}

/// Description of an FMU, with its warnings and platforms.
#[derive(Debug, Clone)]
pub struct Peek {
    /// The model.
    pub description: Arc<ModelDescription>,
    /// Warnings about the archive and the description.
    pub warnings: Vec<Warning>,
    /// Folders of platforms that have files in the archive.
    pub platforms: Vec<String>,
    /// Whether the archive carries sources.
    pub has_sources: bool,
}

impl Peek {
    /// The folder with libraries for this machine, if the archive has one.
    #[must_use]
    pub fn own_platform(&self) -> Option<&'static str> {
        let is_there = |folder: &&&str| self.platforms.iter().any(|found| found == **folder);
        platform::FOLDERS.iter().find(is_there).copied()
    }
}

/// An opened FMU. Clones share everything.
///
/// Its files lie unpacked in a directory of their own that is removed when the last clone and the
/// last instance are gone, unless they are [kept](OpenOptions::cache).
#[derive(Clone)]
pub struct Fmu(Arc<Inner>);

impl fmt::Debug for Fmu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fmu")
            .field("path", &self.0.path)
            .finish_non_exhaustive()
    }
}

struct Inner {
    path: PathBuf,
    peek: Peek,
    options: OpenOptions,
    unpacked: Arc<Unpacked>,
    fatal: Arc<AtomicBool>,
    libraries: Libraries,
}

impl Fmu {
    /// Opens an FMU with the default options: checks the archive, reads the description, unpacks
    /// resources and binaries. No code of the FMU runs.
    ///
    /// # Errors
    /// If the file cannot be read, is not to be trusted, is not an FMU of version 2.0, or has sources
    /// that were to be compiled and do not compile.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens an FMU.
    ///
    /// # Errors
    /// As [`Fmu::open`].
    pub fn open_with(path: &Path, options: &OpenOptions) -> Result<Self, OpenError> {
        let guard = SlotGuard::new(&file_name(path));
        let reading = || read(path, options.limits);
        let (archive, mut peek) = guard.slot().during(Activity::Open, reading)?;
        let compiling = to_compile(options, &peek);
        let is_compiled = compiling.is_some();
        let contents = Contents { archive, compiling };
        let unpacking = || Unpacked::new(contents, options.cache.as_deref());
        let activity = match is_compiled {
            true => Activity::Compile,
            false => Activity::Unpack,
        };
        let unpacked = Arc::new(guard.slot().during(activity, unpacking)?);
        if is_compiled {
            peek.warnings.extend(unpacked.compiling_notes());
            peek.platforms.push(platform::usual_folder().to_owned());
        }
        Ok(Self(Arc::new(Inner {
            path: absolute(path),
            peek,
            options: OpenOptions {
                library_path: options.library_path.iter().map(|p| absolute(p)).collect(),
                cache: options.cache.as_deref().map(absolute),
                ..options.clone()
            },
            unpacked,
            fatal: Arc::default(),
            libraries: Libraries::default(),
        })))
    }

    /// The same FMU with its own libraries: after a fatal error of an instance of one of the two, instances of the
    /// other can still be used. The unpacked files and the description are shared.
    #[must_use]
    pub fn with_own_libraries(&self) -> Self {
        let inner = &*self.0;
        Self(Arc::new(Inner {
            path: inner.path.clone(),
            peek: inner.peek.clone(),
            options: inner.options.clone(),
            unpacked: Arc::clone(&inner.unpacked),
            fatal: Arc::default(),
            libraries: Libraries::default(),
        }))
    }

    /// The same FMU with its own libraries and unpacked files: instances of the two do not change each other's files.
    /// Both still share files in a [cache](OpenOptions::cache) that the FMU cannot change, and all files of an FMU that was compiled without a cache.
    ///
    /// # Errors
    /// As [`Fmu::open`].
    pub fn with_own_files(&self) -> Result<Self, OpenError> {
        let inner = &*self.0;
        if inner.unpacked.are_for_all() {
            return Ok(self.with_own_libraries());
        }
        Self::open_with(&inner.path, &inner.options)
    }

    /// The names of unpacked files that code of the FMU has changed, and of files that it has written beside them, with `/`
    /// between their parts.
    ///
    /// # Errors
    /// If the files cannot be looked at.
    pub fn changed_files(&self) -> Result<Vec<String>, OpenError> {
        self.0.unpacked.changed()
    }

    /// Restores unpacked files that code of the FMU has changed. Removes files that it has written beside them, and the library files of
    /// instances that are gone. To be called while it has no instances. Returns the names of changed and written files, with
    /// `/` between their parts.
    ///
    /// # Errors
    /// If they cannot be put back.
    pub fn restore_files(&self) -> Result<Vec<String>, OpenError> {
        if !self.0.libraries.is_shared() {
            self.0.unpacked.remove_private_directories();
        }
        let (path, limits) = (&self.0.path, self.0.options.limits);
        let open = || Archive::open(path, limits, &mut Vec::new());
        self.0.unpacked.restore(open)
    }

    /// Reads the description only; writes nothing to disk.
    ///
    /// # Errors
    /// As [`Fmu::open`].
    pub fn peek(path: &Path) -> Result<Peek, OpenError> {
        Self::peek_with(path, Limits::default())
    }

    /// As [`Fmu::peek`], with other limits.
    ///
    /// # Errors
    /// As [`Fmu::open`].
    pub fn peek_with(path: &Path, limits: Limits) -> Result<Peek, OpenError> {
        let guard = SlotGuard::new(&file_name(path));
        let reading = || read(path, limits);
        guard
            .slot()
            .during(Activity::Open, reading)
            .map(|(_, peek)| peek)
    }

    /// The model.
    #[must_use]
    pub fn description(&self) -> &Arc<ModelDescription> {
        &self.0.peek.description
    }

    /// Warnings about the archive and the description.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.0.peek.warnings
    }

    /// Folders of platforms that have files in the archive.
    #[must_use]
    pub fn platforms(&self) -> &[String] {
        &self.0.peek.platforms
    }

    /// The file that was opened, by its absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Requirements of the FMU's library on this system, found without loading it.
    ///
    /// # Errors
    /// If the FMU has no library for this machine, or it cannot be read.
    pub fn needs(&self) -> Result<Needs, LoadError> {
        let file = self.library_file()?;
        let mut needs = Needs::of(&file, &self.0.loading()).map_err(LoadError::io(&file))?;
        let required = required_functions(self.description());
        needs
            .missing_functions
            .retain(|name| required.contains(name));
        Ok(needs)
    }

    /// The FMU's library for this machine, as unpacked or compiled.
    ///
    /// # Errors
    /// If it has none.
    pub fn library_file(&self) -> Result<PathBuf, LoadError> {
        let model = model_name(&self.0.peek.description);
        let binary = self.binary(&model, self.co_simulation(&model)?, &mut Vec::new())?;
        Ok(binary.path())
    }

    /// Writes a copy of the FMU with the [library](Self::library_file) that was compiled for it.
    ///
    /// # Errors
    /// If it has no library, or the file cannot be written.
    pub fn write_with_library(&self, target: &Path) -> Result<(), LoadError> {
        let library = self.library_file()?;
        compiling::write_with(&self.0.path, target, &library).map_err(LoadError::io(target))
    }

    fn co_simulation(&self, model: &str) -> Result<&CoSimulation, LoadError> {
        let claims = self.0.peek.description.co_simulation.as_ref();
        claims.ok_or_else(|| LoadError::NoCoSimulation {
            model: model.to_owned(),
        })
    }

    /// How it was opened.
    #[must_use]
    pub fn options(&self) -> &OpenOptions {
        &self.0.options
    }

    /// Whether a library of the FMU uses a Python interpreter: a process has one for all
    /// instances of all FMUs.
    #[must_use]
    pub fn uses_python(&self) -> bool {
        self.0.unpacked.uses_python(|| {
            let Ok(library) = self.library_file() else {
                return false;
            };
            let folder = std::fs::read_dir(library.with_file_name(""))
                .into_iter()
                .flatten();
            let mut files = folder.filter_map(|entry| Some(entry.ok()?.path()));
            files.any(|file| {
                Binary::read(&file).is_some_and(|library| python::is_called_by(&library))
            })
        })
    }

    /// Makes an instance for co-simulation.
    ///
    /// Each instance has a copy of the library, unless the FMU says that sharing is safe or you [ask](crate::LibraryUse) for it.
    /// So instances do not share global data, and an FMU that says `canBeInstantiatedOnlyOncePerProcess` can have several.
    /// A copy serves one instance and stays loaded. What copies share nonetheless: [`sharing`](Self::sharing).
    ///
    /// # Errors
    /// If the FMU has no binary for this machine, it does not load, lacks functions, or refuses.
    pub fn instantiate(
        &self,
        instance_name: &str,
        options: &InstanceOptions,
    ) -> Result<Instance, LoadError> {
        let inner = &*self.0;
        let model = model_name(&inner.peek.description);
        if inner.fatal.load(Ordering::Acquire) {
            return Err(LoadError::AfterFatal { model });
        }
        let mut warnings = Vec::new();
        let float_control = FloatControl::current();
        let guard = SlotGuard::new(instance_name);
        let loading = || self.library(&model, options.library, options.is_alone, &mut warnings);
        let library = guard.slot().during(Activity::LoadLibrary, loading)?;
        self.sharing().count_user();
        drop(guard);
        warnings.extend(restored(float_control));
        let resources = inner.unpacked.resource_uri();
        let made = crate::instance::Making {
            library,
            description: Arc::clone(&inner.peek.description),
            fatal: Arc::clone(&inner.fatal),
            warnings,
            float_control,
            keeps_thread: self.sharing().keeps_thread(),
            known_change: Arc::clone(inner.unpacked.known_change()),
        };
        made.instantiate(instance_name, &resources, options, self.starts_java())
    }

    /// Whether the library, which is loaded, starts a Java machine.
    fn starts_java(&self) -> bool {
        crate::library::is_loaded(JAVA)
            && self.needs().is_ok_and(|needs| {
                let mut names = needs.libraries.iter().map(|library| library.name.as_str());
                names.any(|name| name == JAVA)
            })
    }

    /// The library of this platform, among the unpacked files.
    fn binary(
        &self,
        model: &str,
        co_simulation: &CoSimulation,
        warnings: &mut Vec<Warning>,
    ) -> Result<UnpackedBinary, LoadError> {
        let inner = &*self.0;
        let Some(platform) = inner.peek.own_platform() else {
            return Err(LoadError::NoPlatform {
                model: model.to_owned(),
                wanted: platform::FOLDERS.iter().map(ToString::to_string).collect(),
                available: inner.peek.platforms.clone(),
                has_sources: inner.peek.has_sources,
            });
        };
        let folder = inner.unpacked.binaries(platform);
        let name = platform::library_name(&folder, model, platform, co_simulation, warnings)?;
        Ok(UnpackedBinary {
            platform,
            folder,
            name,
        })
    }
}

impl Inner {
    fn loading(&self) -> Loading<'_> {
        Loading {
            preload: &self.options.preload,
            library_path: &self.options.library_path,
        }
    }
}

/// The compiler for the FMU, and what it compiles: only if it has sources and no library for this
/// machine.
fn to_compile(options: &OpenOptions, peek: &Peek) -> Option<(Compiler, Arc<ModelDescription>)> {
    let is_missing = peek.has_sources && peek.own_platform().is_none();
    let compiler = options.compiler.clone().filter(|_| is_missing)?;
    peek.description.co_simulation.as_ref()?;
    Some((compiler, Arc::clone(&peek.description)))
}

/// Takes back what loading a library has done to the floating-point unit (C-77).
fn restored(float_control: FloatControl) -> Option<Warning> {
    let found = FloatControl::current();
    if found == float_control {
        return None;
    }
    float_control.restore();
    let changes = float_control.changes_to(found);
    Some(Warning::new(format!(
        "loading the library has changed {changes}, as libraries linked with -ffast-math do; \
         it was put back"
    )))
}

fn read(path: &Path, limits: Limits) -> Result<(Archive, Peek), OpenError> {
    let mut warnings = Vec::new();
    let mut archive = Archive::open(path, limits, &mut warnings)?;
    let bytes = archive.description()?;
    let (description, more) =
        ModelDescription::parse(&bytes).map_err(|source| OpenError::Description {
            path: path.to_owned(),
            source,
        })?;
    warnings.extend(more);
    warnings.extend(needed_tool(&description));
    let platforms = archive.platforms();
    let has_sources = archive.has_file(compiling::is_source_file);
    Ok((
        archive,
        Peek {
            description: Arc::new(description),
            warnings,
            platforms,
            has_sources,
        },
    ))
}

/// Says which tool an FMU needs that does not run by itself (C-15).
fn needed_tool(description: &ModelDescription) -> Option<Warning> {
    let claims = description.co_simulation.as_ref()?;
    let tool = description.generation_tool.as_deref();
    let tool = tool.unwrap_or("the tool that made it");
    claims.needs_execution_tool.then(|| {
        Warning::new(format!(
            "its description says that it needs {tool} on this machine"
        ))
    })
}

/// The path as it will be understood if an FMU changes the working directory meanwhile.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The name of a file without its folder, for the flight recorder.
fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Name of the model for messages.
fn model_name(description: &ModelDescription) -> String {
    let identifier = description
        .co_simulation
        .as_ref()
        .map(|c| c.model_identifier.as_str());
    let name = description.model_name.as_str();
    if name.is_empty() {
        identifier.unwrap_or("the FMU").to_owned()
    } else {
        name.to_owned()
    }
}
