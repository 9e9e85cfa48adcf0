//! Which library an instance of an FMU has.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Fmu;
use crate::error::LoadError;
use crate::library::{Library, Source};
use crate::library_file::{LibraryFile, LoadFailure, Place, UnpackedBinary, first_that_works};
use crate::needs::Needs;
use crate::warning::Warning;
use crate::{elf_head, stateless};

/// Whether the instances of an FMU share one load of its library, or each has a copy with data of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LibraryUse {
    /// They share it where the FMU [declares](crate::ModelDescription::declares_shared_library) it safe, or where
    /// the library proves to keep nothing outside of its instances.
    #[default]
    Auto,
    /// They share it. Instances of a library that does keep something give wrong results, crash or hang.
    Shared,
    /// Each has a copy.
    Copied,
}

/// Libraries that no instance uses.
pub(crate) type Idle = Arc<Mutex<Vec<Library>>>;

/// The loaded libraries of an FMU.
#[derive(Default)]
pub(super) struct Libraries {
    loaded: Mutex<Loaded>,
    /// Copies whose instances are gone.
    pub(super) idle: Idle,
    /// Whether the library proves to keep nothing outside of its instances.
    keeps_nothing: OnceLock<bool>,
    /// Whether the library was found to be one that this machine can load.
    is_checked: AtomicBool,
    copies: AtomicUsize,
}

/// Libraries that may serve several instances.
#[derive(Default)]
struct Loaded {
    /// The library of the first instance that did not ask for a copy.
    first: Option<Library>,
    /// The library of all instances that share one by declaration or wish.
    shared: Option<Library>,
}

impl Fmu {
    /// How many copies of its library were loaded.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.0.libraries.copies.load(Ordering::Relaxed)
    }

    /// The library for a new instance, and whether it is its own.
    pub(super) fn library(
        &self,
        model: &str,
        wish: LibraryUse,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Library, bool), LoadError> {
        let inner = &*self.0;
        let only_once = self
            .co_simulation(model)?
            .can_be_instantiated_only_once_per_process;
        let wish = if only_once { LibraryUse::Copied } else { wish };
        let is_declared = || inner.peek.description.declares_shared_library();
        let loaded = inner.libraries.loaded.lock();
        let mut loaded = loaded.unwrap_or_else(PoisonError::into_inner);
        let may_share = match wish {
            LibraryUse::Copied => false,
            LibraryUse::Auto => is_declared(),
            LibraryUse::Shared => true,
        };
        if wish != LibraryUse::Copied {
            // A single instance needs no proof.
            let proved = loaded.first.clone().filter(|_| self.keeps_nothing(model));
            if let Some(library) = loaded.shared.clone().filter(|_| may_share).or(proved) {
                return Ok((library, false));
            }
        }
        if may_share {
            let shared = self.load(model, warnings)?;
            loaded.shared = Some(shared.clone());
            return Ok((shared, false));
        }
        let idle = inner.libraries.idle.lock();
        let idle = idle.unwrap_or_else(PoisonError::into_inner).pop();
        let own = match idle {
            Some(idle) => idle,
            None => self.load(model, warnings)?,
        };
        if wish == LibraryUse::Auto {
            loaded.first.get_or_insert_with(|| own.clone());
        }
        Ok((own, true))
    }

    /// Whether one load of the library serves all instances, as far as that can be proved.
    fn keeps_nothing(&self, model: &str) -> bool {
        let examine = || {
            let co_simulation = self.co_simulation(model).ok()?;
            let binary = self.binary(model, co_simulation, &mut Vec::new()).ok()?;
            // Each copy has companions of its own, which it may load by their paths.
            if !binary.is_alone() {
                return None;
            }
            let bytes = std::fs::read(binary.path()).ok()?;
            Some(stateless::doubt(&bytes).is_none())
        };
        let keeps_nothing = &self.0.libraries.keeps_nothing;
        *keeps_nothing.get_or_init(|| examine().unwrap_or(false))
    }

    /// Loads the library from a file of its own.
    fn load(&self, model: &str, warnings: &mut Vec<Warning>) -> Result<Library, LoadError> {
        let inner = &*self.0;
        let binary = self.binary(model, self.co_simulation(model)?, warnings)?;
        let is_checked = &inner.libraries.is_checked;
        if cfg!(target_os = "linux") && !is_checked.load(Ordering::Relaxed) {
            self.check(model, &binary)?;
            is_checked.store(true, Ordering::Relaxed);
        }
        first_that_works(Place::of(&binary, &inner.unpacked), |place| {
            let file = LibraryFile::new(place, &binary, &inner.unpacked);
            file.map_err(LoadFailure::of_file(&binary))
                .and_then(|file| {
                    let source = Source {
                        model,
                        file: &file,
                        loading: inner.loading(),
                    };
                    let loaded = Library::load(&source, Arc::clone(&inner.unpacked), warnings);
                    let loaded = loaded.map_err(LoadFailure::of_library(&file))?;
                    let copies = &inner.libraries.copies;
                    copies.fetch_add(usize::from(place != Place::Unpacked), Ordering::Relaxed);
                    Ok(loaded)
                })
        })
    }

    /// Refuses libraries that would kill the process when they are loaded, also
    /// those that the FMU brings along.
    fn check(&self, model: &str, binary: &UnpackedBinary) -> Result<(), LoadError> {
        let io = |source| LoadError::Io {
            path: binary.path(),
            source,
        };
        let refuse = |file: &str, reason| {
            Err(LoadError::WrongBinary {
                model: model.to_owned(),
                file: file.to_owned(),
                reason,
            })
        };
        if let Err(reason) = elf_head::check_file(&binary.path()).map_err(io)? {
            return refuse(&binary.name, reason);
        }
        let broken = elf_head::broken_libraries(&binary.folder).map_err(io)?;
        if broken.is_empty() {
            return Ok(());
        }
        let needs = Needs::of(&binary.path(), &self.0.loading()).map_err(io)?;
        let is_needed = |file: &str| needs.libraries.iter().any(|needed| needed.name == file);
        match broken.into_iter().find(|(file, _)| is_needed(file)) {
            Some((file, reason)) => refuse(&file, reason),
            None => Ok(()),
        }
    }
}
