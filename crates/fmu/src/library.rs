//! The library of an FMU, loaded (FMI 2.0.5 section 2.1.1 and 4.2).
//!
//! - libm, libpthread and libdl are loaded globally first: many FMUs use them without saying so.
//! - All symbols are bound at once, so that a missing one is an error here and not the end of the
//!   process at some later call; and locally, so that FMUs with equal names do not meet.
//! - Libraries that an FMU brings along are found by their names. If two FMUs bring different
//!   ones of one name, the system gives both the first: such FMUs need processes of their own.
//! - A library is never unloaded: threads and destructors of thread-local data may outlive it.

#![expect(unsafe_code, reason = "loads libraries and looks up their functions")]

use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fmi2_abi::signature as f;

use crate::c_library::{CState, OwnState};
use crate::elf::Binary;
use crate::error::LoadError;
use crate::functions::{Functions, Handle, symbol};
use crate::library_file::LibraryFile;
use crate::needs::{GLOBAL, Loading, Needs};
use crate::packages;
use crate::python;
use crate::unpacked::Unpacked;
use crate::warning::Warning;

/// Whether the instances of an FMU share one load of its library, or each has a copy with data of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LibraryUse {
    /// They share it if the FMU [declares](crate::ModelDescription::declares_shared_library) it safe.
    #[default]
    Auto,
    /// They share it. Instances of a library that does keep something give wrong results, crash or hang.
    Shared,
    /// Each has a copy.
    Copied,
}

/// A loaded library; keeps the files it came with.
#[derive(Clone)]
pub(crate) struct Library {
    /// Valid for ever: the library is never unloaded.
    pub(crate) functions: &'static Functions,
    /// The instance's own state of the C library, if the library uses one.
    pub(crate) own_state: Option<std::sync::Arc<OwnState>>,
    /// Resources have to outlive every instance.
    _unpacked: std::sync::Arc<Unpacked>,
}

/// Library to be loaded.
pub(crate) struct Source<'a> {
    pub(crate) model: &'a str,
    pub(crate) file: &'a LibraryFile,
    /// Functions that it has to have.
    pub(crate) needed: Vec<&'static str>,
    pub(crate) loading: Loading<'a>,
}

impl Library {
    pub(crate) fn load(
        source: &Source<'_>,
        unpacked: std::sync::Arc<Unpacked>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, LoadError> {
        preload(source)?;
        let opened = open_with_needed(source).or_else(|reason| {
            load_python(&reason).ok_or(reason)?;
            open_with_needed(source)
        });
        let handle = opened.map_err(|reason| source.error(reason))?;
        let handle = ManuallyDrop::new(handle);
        check_version(&handle, warnings);
        let functions = Functions::look_up(&handle, &source.needed).map_err(|functions| {
            let (model, file) = source.names();
            LoadError::MissingFunctions {
                model,
                file,
                functions,
            }
        })?;
        Ok(Self {
            functions: Box::leak(Box::new(functions)),
            own_state: None,
            _unpacked: unpacked,
        })
    }

    /// The library for one more instance, with a state of the C library of its own.
    pub(crate) fn with_own_state(&self, state: CState) -> Self {
        Self {
            functions: Box::leak(Box::new(self.functions.guarded())),
            own_state: Some(std::sync::Arc::new(OwnState::new(self.functions, state))),
            _unpacked: std::sync::Arc::clone(&self._unpacked),
        }
    }
}

impl Source<'_> {
    fn error(&self, reason: String) -> LoadError {
        let (model, file) = self.names();
        let hint = self.hint(&reason);
        LoadError::Library {
            model,
            file,
            reason,
            hint,
        }
    }

    /// Advice on a message of the dynamic loader.
    fn hint(&self, reason: &str) -> String {
        let needs = Needs::of(self.file.path(), &self.loading);
        match needs.map(|needs| needs.advice()) {
            Ok(advice) if !advice.is_empty() => advice,
            _ => hint(reason),
        }
    }

    fn names(&self) -> (String, String) {
        let file = self
            .file
            .path()
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        (self.model.to_owned(), file)
    }
}

/// `fmi2GetTypesPlatform` and `fmi2GetVersion` have to return fixed texts; a deviation is worth a
/// warning only (C-07).
fn check_version(handle: &Handle, warnings: &mut Vec<Warning>) {
    let expected = [
        ("fmi2GetTypesPlatform", fmi2_abi::TYPES_PLATFORM),
        ("fmi2GetVersion", fmi2_abi::VERSION),
    ];
    for (name, expected) in expected {
        // SAFETY: the signature is the one that FMI 2.0 gives to these names.
        let Some(function) = (unsafe { symbol::<f::GetText>(handle, name) }) else {
            continue;
        };
        // SAFETY: the functions take nothing and may be called at any time.
        let answer = unsafe { function() };
        // SAFETY: NULL or a C string that the library keeps.
        let answer = unsafe { crate::logger::text(answer) };
        if answer.as_bytes() != expected.to_bytes() {
            let message = format!("{name} returns {answer:?}, expected {expected:?}");
            warnings.push(Warning::new(message));
        }
    }
}

/// Libraries that were loaded globally for good, by name.
static PRELOADED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn preload(source: &Source<'_>) -> Result<(), LoadError> {
    let mut loaded = PRELOADED.lock().unwrap_or_else(PoisonError::into_inner);
    for name in GLOBAL {
        if !loaded.iter().any(|known| known == name) {
            loaded.push((*name).to_owned());
            if let Ok(handle) = open(Path::new(name), true) {
                let _ = ManuallyDrop::new(handle);
            }
        }
    }
    for name in source.loading.preload {
        if loaded.iter().any(|known| known == name) {
            continue;
        }
        let file = source.loading.library_file(name);
        let handle = open(file.as_deref().unwrap_or(Path::new(name)), true).map_err(|reason| {
            let (model, name) = (source.model.to_owned(), name.clone());
            LoadError::Preload {
                model,
                name,
                reason,
            }
        })?;
        let _ = ManuallyDrop::new(handle);
        loaded.push(name.clone());
    }
    Ok(())
}

/// Loads libpython for all of the process to use, if a library has not loaded because it lacks one of
/// Python's functions.
fn load_python(reason: &str) -> Option<()> {
    if !undefined_symbol(reason).is_some_and(python::has_symbol) {
        return None;
    }
    let file = python::library()?;
    let name = file.to_string_lossy().into_owned();
    let mut loaded = PRELOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if !loaded.contains(&name) {
        let _ = ManuallyDrop::new(open(file, true).ok()?);
        loaded.push(name.clone());
    }
    Some(())
}

/// The symbol that the dynamic loader has not found.
fn undefined_symbol(reason: &str) -> Option<&str> {
    let (_, symbol) = reason.split_once("undefined symbol: ")?;
    symbol.split([' ', ',']).next()
}

/// Loads a library, binding all its symbols now.
#[cfg(unix)]
fn open(file: &Path, global: bool) -> Result<Handle, String> {
    use libloading::os::unix::{RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
    let scope = if global { RTLD_GLOBAL } else { RTLD_LOCAL };
    // SAFETY: running the initialisers of the library is what the user asks for by running the
    // FMU; nothing in this process can vouch for them.
    unsafe { Handle::open(Some(file), RTLD_NOW | scope) }.map_err(|error| system_message(&error))
}

#[cfg(not(unix))]
fn open(file: &Path, _global: bool) -> Result<Handle, String> {
    // SAFETY: as for unix.
    unsafe { Handle::new(file) }.map_err(|error| system_message(&error))
}

/// Whether the process has loaded a library of this file name already, for whomever. `RTLD_NOLOAD` would search all folders of the
/// system for one that is not.
#[cfg(target_os = "linux")]
pub(crate) fn is_loaded(name: &str) -> bool {
    use std::ffi::{CStr, OsStr, c_int, c_void};
    use std::os::unix::ffi::OsStrExt as _;

    /// Ends with 1 at the object that has the name.
    ///
    /// # Safety
    /// `object` is valid, and `wanted` points to a `&str`.
    unsafe extern "C" fn visit(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        wanted: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes an object that is valid during this call.
        let path = unsafe { (*object).dlpi_name };
        if path.is_null() {
            return 0;
        }
        // SAFETY: the name of an object is text that ends with a zero byte.
        let path = Path::new(OsStr::from_bytes(
            unsafe { CStr::from_ptr(path) }.to_bytes(),
        ));
        // SAFETY: it is the `name` below.
        let wanted = unsafe { *wanted.cast::<&str>() };
        c_int::from(path.file_name() == Some(OsStr::new(wanted)))
    }

    let mut wanted = name;
    // SAFETY: `visit` reads what it is passed, and does not unwind.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut wanted).cast()) != 0 }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_loaded(_name: &str) -> bool {
    false
}

/// Loads the library of an FMU, and before it what it needs and the user has named a directory of.
fn open_with_needed(source: &Source<'_>) -> Result<Handle, String> {
    let mut loaded = Vec::new();
    if !source.loading.library_path.is_empty() {
        open_from_library_path(source.file.path(), &source.loading, &mut loaded)?;
    }
    open_with_siblings(source.file.path(), &mut loaded)
}

/// Loads what `file` needs and the library path has; the innermost first.
fn open_from_library_path(
    file: &Path,
    loading: &Loading<'_>,
    loaded: &mut Vec<String>,
) -> Result<(), String> {
    for name in Binary::read(file).unwrap_or_default().needed {
        if loaded.contains(&name) {
            continue;
        }
        if let Some(found) = loading.library_file(&name) {
            loaded.push(name);
            open_from_library_path(&found, loading, loaded)?;
            let _ = ManuallyDrop::new(open_with_siblings(&found, loaded)?);
        }
    }
    Ok(())
}

/// Loads a library of an FMU, after those it needs that lie in its own folder: not every exporter
/// makes the system look there (`$ORIGIN`), because on Windows it does so anyway.
fn open_with_siblings(file: &Path, loaded: &mut Vec<String>) -> Result<Handle, String> {
    loop {
        let reason = match open(file, false) {
            Ok(handle) => return Ok(handle),
            Err(reason) => reason,
        };
        let Some(name) = missing_library(&reason) else {
            return Err(reason);
        };
        let sibling = file.with_file_name(name);
        if name.contains('/') || loaded.iter().any(|known| known == name) || !sibling.is_file() {
            return Err(reason);
        }
        loaded.push(name.to_owned());
        let _ = ManuallyDrop::new(open_with_siblings(&sibling, loaded)?);
    }
}

/// The library that the dynamic loader has not found.
fn missing_library(reason: &str) -> Option<&str> {
    reason
        .split_once(": cannot open shared object file")
        .map(|(name, _)| name)
}

/// The message of the system, which names the missing library or symbol; the error itself
/// says only that loading failed.
fn system_message(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

/// Advice on a message of the dynamic loader, from the message alone.
fn hint(reason: &str) -> String {
    if let Some(symbol) = undefined_symbol(reason) {
        let library = packages::library_with(symbol);
        return format!(
            "; {symbol} is in no library that the FMU names: load {library} (--preload)"
        );
    }
    if reason.contains("Too many open files") {
        return "; this process may open too few files: raise the limit (ulimit -n)".to_owned();
    }
    if let Some(library) = missing_library(reason) {
        return format!("; install {library}, or name its directory with library_path");
    }
    if reason.contains("failed to map segment") {
        return "; the directory of unpacked FMUs may forbid programs (mount option noexec): set TMPDIR \
                to another one"
            .to_owned();
    }
    if reason.contains("GLIBC") && reason.contains("not found") {
        return "; the FMU was built for a newer C library than this system has".to_owned();
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the words of the GNU C library.
    #[test]
    fn r67_what_the_system_forbids_is_not_blamed_on_the_fmu() {
        let of = |reason: &str| hint(&format!("/tmp/x/Wheel.so: {reason}"));
        assert!(of("failed to map segment from shared object").contains("noexec"));
        let files = of("cannot open shared object file: Too many open files");
        assert!(files.contains("ulimit -n"), "{files}");
        assert_eq!(of("invalid ELF header"), "");
    }
}
