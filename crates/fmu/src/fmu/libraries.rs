//! Which library an instance of an FMU has.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Fmu;
use crate::c_library::CState;
use crate::elf;
use crate::error::LoadError;
use crate::functions::required_functions;
use crate::library::{Library, LibraryUse, Source};
use crate::library_file::{LibraryFile, LoadFailure, Place, UnpackedBinary, first_that_works};
use crate::needs::Needs;
use crate::sharing::Sharing;
use crate::warning::Warning;

/// The loaded libraries of an FMU.
#[derive(Default)]
pub(super) struct Libraries {
    /// The library of all instances that share one.
    shared: Mutex<Option<Library>>,
    /// Whether the library was found to be one that this machine can load.
    is_checked: AtomicBool,
    copies: AtomicUsize,
}

/// Copies of libraries that this process has loaded. They stay: libraries are never unloaded.
static COPIES: AtomicUsize = AtomicUsize::new(0);

/// How many copies of the libraries of FMUs this process has loaded, also for instances that are gone.
#[must_use]
pub fn loaded_copies() -> usize {
    COPIES.load(Ordering::Relaxed)
}

impl Libraries {
    /// Whether a library is loaded for all instances, those to come as well.
    pub(super) fn is_shared(&self) -> bool {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.is_some()
    }
}

impl Fmu {
    /// What its instances share with all others in one process, found in its files before they are loaded.
    #[must_use]
    pub fn sharing(&self) -> &Sharing {
        self.0.unpacked.sharing(|| self.look_at_sharing())
    }

    fn look_at_sharing(&self) -> Sharing {
        let claims = self.description().co_simulation.as_ref();
        let only_once =
            claims.is_some_and(|claims| claims.can_be_instantiated_only_once_per_process);
        if self.description().declares_shared_library() && !only_once {
            return Sharing::default();
        }
        match self.library_file() {
            Ok(library) => Sharing::of(&library, self.0.unpacked.files(), only_once),
            Err(_) => Sharing::default(),
        }
    }

    /// What an instance was seen to change of the process, on which the FMU may depend, in words: such as the locale.
    #[must_use]
    pub fn process_change(&self) -> Option<&str> {
        self.0.unpacked.known_change().get().map(String::as_str)
    }

    /// How many copies of its library were loaded, also for instances that are gone.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.0.libraries.copies.load(Ordering::Relaxed)
    }

    /// The library for a new instance.
    pub(super) fn library(
        &self,
        model: &str,
        wish: LibraryUse,
        is_alone: bool,
        warnings: &mut Vec<Warning>,
    ) -> Result<Library, LoadError> {
        let inner = &*self.0;
        let claims = self.co_simulation(model)?;
        let is_shared = match wish {
            LibraryUse::Copied => false,
            LibraryUse::Auto => inner.peek.description.declares_shared_library(),
            LibraryUse::Shared => true,
        };
        // What the C library keeps is the instance's own from the library's first function on. One that is alone has the state of
        // the process, which threads of the FMU's own find in place also between calls.
        let has_own_state = self.sharing().uses_c_state() && !is_alone;
        let own_state = || has_own_state.then(CState::new);
        let with_own = |library: Library, state: Option<CState>| match state {
            Some(state) => library.with_own_state(state),
            None => library,
        };
        if !is_shared || claims.can_be_instantiated_only_once_per_process {
            let state = own_state();
            let library = self.load(model, state.as_ref(), warnings)?;
            return Ok(with_own(library, state));
        }
        let shared = inner.libraries.shared.lock();
        let mut shared = shared.unwrap_or_else(PoisonError::into_inner);
        let library = match &*shared {
            Some(library) => library.clone(),
            None => shared.insert(self.load(model, None, warnings)?).clone(),
        };
        Ok(with_own(library, own_state()))
    }

    /// Loads the library from a file of its own.
    fn load(
        &self,
        model: &str,
        state: Option<&CState>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Library, LoadError> {
        let inner = &*self.0;
        let binary = self.binary(model, self.co_simulation(model)?, warnings)?;
        let is_checked = &inner.libraries.is_checked;
        if cfg!(target_os = "linux") && !is_checked.load(Ordering::Relaxed) {
            self.check(model, &binary)?;
            is_checked.store(true, Ordering::Relaxed);
        }
        let has_unique_symbols = self.sharing().unique_symbols > 0;
        first_that_works(Place::of(&binary, &inner.unpacked), |place| {
            let file = LibraryFile::new(place, &binary, &inner.unpacked, has_unique_symbols)
                .map_err(LoadFailure::of_file(&binary))?;
            let source = Source {
                model,
                file: &file,
                needed: required_functions(&inner.peek.description),
                loading: inner.loading(),
            };
            let mut load = || Library::load(&source, Arc::clone(&inner.unpacked), warnings);
            let loaded = match state {
                Some(state) => state.during(load),
                None => load(),
            };
            let loaded = loaded.map_err(LoadFailure::of_library(&file))?;
            let copies = usize::from(place != Place::Unpacked);
            inner.libraries.copies.fetch_add(copies, Ordering::Relaxed);
            COPIES.fetch_add(copies, Ordering::Relaxed);
            Ok(loaded)
        })
    }

    /// Refuses libraries that would kill the process when they are loaded, also
    /// libraries that the FMU brings along.
    fn check(&self, model: &str, binary: &UnpackedBinary) -> Result<(), LoadError> {
        let path = binary.path();
        let io = LoadError::io(&path);
        let refuse = |file: &str, reason| {
            Err(LoadError::WrongBinary {
                model: model.to_owned(),
                file: file.to_owned(),
                reason,
            })
        };
        if let Err(reason) = elf::check_file(&path).map_err(io)? {
            return refuse(&binary.name, reason);
        }
        let broken = elf::broken_libraries(&binary.folder).map_err(io)?;
        if broken.is_empty() {
            return Ok(());
        }
        let needs = Needs::of(&path, &self.0.loading()).map_err(io)?;
        let is_needed = |file: &str| needs.libraries.iter().any(|needed| needed.name == file);
        match broken.into_iter().find(|(file, _)| is_needed(file)) {
            Some((file, reason)) => refuse(&file, reason),
            None => Ok(()),
        }
    }
}
