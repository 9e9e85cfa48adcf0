//! Which library an instance of an FMU has.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Fmu;
use crate::elf_head;
use crate::error::LoadError;
use crate::exchanged_variables::{Load, NewVariables};
use crate::library::{Library, Source, required_functions};
use crate::library_file::{LibraryFile, LoadFailure, Place, UnpackedBinary, first_that_works};
use crate::needs::Needs;
use crate::stateless::{self, MOST_EXCHANGED, Variables};
use crate::warning::Warning;

/// Whether the instances of an FMU share one load of its library, or each has a copy with data of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LibraryUse {
    /// They share it where the FMU [declares](crate::ModelDescription::declares_shared_library) it safe, or where
    /// the library proves to keep nothing outside of its instances.
    #[default]
    Auto,
    /// As `Auto`; and where the library proves to have few variables, which nothing but calls uses, instances beyond the
    /// first 23 share one load of it. The variables of an instance are put into their place before it is called, which is
    /// faster than many copies and gives the same results. For instances that are called by the thread that makes
    /// them: calls of several threads wait for each other.
    OneThread,
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
    /// Libraries whose instances are gone.
    pub(super) idle: Idle,
    /// Whether the library proves to keep nothing outside of its instances.
    keeps_nothing: OnceLock<bool>,
    /// Whether the library was found to be one that this machine can load.
    is_checked: AtomicBool,
    copies: AtomicUsize,
}

/// Loads of a library before instances have variables in turn. Few copies are faster than that (measured with the benchmark's FMU: with
/// 10 copies a step takes 10 ns, with 24 17 ns, with 100 51 ns; with variables in turn 20 to 25 ns).
const MOST_COPIES: usize = 24;

/// The variables of a library, if nothing but calls uses them.
enum KnownVariables {
    /// Not looked at.
    Unknown,
    Doubtful,
    Known(Variables),
}

/// Libraries that may serve several instances.
struct Loaded {
    /// The library of the first instance that did not ask for a copy.
    first: Option<Library>,
    /// The library of all instances that share one by declaration or wish.
    shared: Option<Library>,
    /// Libraries of instances that have variables in turn, one for each thread that makes some.
    in_turn: Vec<&'static Load>,
    variables: KnownVariables,
}

impl Default for Loaded {
    fn default() -> Self {
        Self {
            first: None,
            shared: None,
            in_turn: Vec::new(),
            variables: KnownVariables::Unknown,
        }
    }
}

impl KnownVariables {
    const fn known(&self) -> Option<&Variables> {
        match self {
            Self::Known(variables) => Some(variables),
            Self::Unknown | Self::Doubtful => None,
        }
    }
}

impl Loaded {
    /// The variables of the library of `fmu`, if nothing but calls uses them.
    fn known_variables(&mut self, fmu: &Fmu, model: &str) -> Option<&Variables> {
        if matches!(self.variables, KnownVariables::Unknown) {
            let variables = fmu.variables(model);
            self.variables = variables.map_or(KnownVariables::Doubtful, KnownVariables::Known);
        }
        self.variables.known()
    }
}

impl Fmu {
    /// How many copies of its library serve instances, or will again.
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
            LibraryUse::Auto | LibraryUse::OneThread => is_declared(),
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
            let shared = self.load(model, &mut loaded, warnings)?.0;
            loaded.shared = Some(shared.clone());
            return Ok((shared, false));
        }
        if let Some(idle) = self.idle(wish) {
            return Ok((self.renewed(idle, model, &mut loaded, warnings)?, true));
        }
        if wish == LibraryUse::OneThread
            && self.copies() + 1 >= MOST_COPIES
            && let Some(library) = self.in_turn(model, &mut loaded, warnings)?
        {
            return Ok((library, true));
        }
        let own = self.load(model, &mut loaded, warnings)?.0;
        if wish != LibraryUse::Copied {
            loaded.first.get_or_insert_with(|| own.clone());
        }
        Ok((own, true))
    }

    /// A library whose instance is gone, and that does for this wish.
    fn idle(&self, wish: LibraryUse) -> Option<Library> {
        let idle = self.0.libraries.idle.lock();
        let mut idle = idle.unwrap_or_else(PoisonError::into_inner);
        let does = |library: &Library| match library.variables {
            None => true,
            Some(variables) => wish == LibraryUse::OneThread && variables.are_of_this_thread(),
        };
        let index = idle.iter().rposition(does)?;
        Some(idle.remove(index))
    }

    /// A library whose instance is gone with the variables of a new one, where these can be known; else with those that the
    /// former instance has left, as FMI 2.0 allows.
    fn renewed(
        &self,
        idle: Library,
        model: &str,
        loaded: &mut Loaded,
        warnings: &mut Vec<Warning>,
    ) -> Result<Library, LoadError> {
        if idle.is_renewed_when_idle() || self.keeps_nothing(model) {
            return Ok(idle);
        }
        if loaded.known_variables(self, model).is_none() {
            return Ok(idle);
        }
        // It was loaded when nothing had been used again, and is left for good.
        let new = self.load(model, loaded, warnings)?.0;
        let copies = &self.0.libraries.copies;
        let _ = copies.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |copies| {
            copies.checked_sub(1)
        });
        Ok(new)
    }

    /// The library for an instance that has its variables in turn with others; a copy where they turn out to be others than
    /// the file says; `None` where they cannot be exchanged.
    fn in_turn(
        &self,
        model: &str,
        loaded: &mut Loaded,
        warnings: &mut Vec<Warning>,
    ) -> Result<Option<Library>, LoadError> {
        if let Some(load) = loaded.in_turn.iter().find(|load| load.is_of_this_thread()) {
            return Ok(Some(load.library()));
        }
        let variables = loaded.known_variables(self, model);
        if variables.is_none_or(|variables| variables.size() > MOST_EXCHANGED) {
            return Ok(None);
        }
        let (library, start) = self.load(model, loaded, warnings)?;
        // The load has looked whether the variables are those of the file.
        let load = loaded.variables.known().zip(start);
        let load = load.and_then(|(variables, start)| Load::new(library.clone(), variables, start));
        let Some(load) = load else {
            return Ok(Some(library));
        };
        loaded.in_turn.push(load);
        Ok(Some(load.library()))
    }

    /// The variables of the library, if nothing but calls uses them as far as its file shows.
    fn variables(&self, model: &str) -> Option<Variables> {
        let inner = &*self.0;
        let co_simulation = self.co_simulation(model).ok()?;
        // A thread of the FMU's own makes its steps.
        if co_simulation.can_run_asynchronuously {
            return None;
        }
        // Libraries that replace functions of the C library.
        let loading = inner.loading();
        if !loading.preload.is_empty() || !loading.library_path.is_empty() {
            return None;
        }
        let binary = self.binary(model, co_simulation, &mut Vec::new()).ok()?;
        if !binary.is_alone() {
            return None;
        }
        Variables::read(&std::fs::read(binary.path()).ok()?).ok()
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

    /// Loads the library from a file of its own; also the address that those in the file count from.
    fn load(
        &self,
        model: &str,
        loaded: &mut Loaded,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Library, Option<*mut c_void>), LoadError> {
        let (mut library, start) = self.load_unknown(model, warnings)?;
        if let Some(variables) = loaded.variables.known() {
            let new = start.and_then(|start| NewVariables::new(variables, start));
            match new {
                Some(new) => library.new_variables = Some(Box::leak(Box::new(new))),
                None => loaded.variables = KnownVariables::Doubtful,
            }
        }
        Ok((library, start))
    }

    fn load_unknown(
        &self,
        model: &str,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Library, Option<*mut c_void>), LoadError> {
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
                        needed: required_functions(&inner.peek.description),
                        loading: inner.loading(),
                    };
                    let loaded = Library::load(&source, Arc::clone(&inner.unpacked), warnings);
                    let loaded = loaded.map_err(LoadFailure::of_library(&file))?;
                    let copies = &inner.libraries.copies;
                    copies.fetch_add(usize::from(place != Place::Unpacked), Ordering::Relaxed);
                    let start = file.start(loaded.functions.do_step as *const c_void);
                    Ok((loaded, start))
                })
        })
    }

    /// Refuses libraries that would kill the process when they are loaded, also
    /// those that the FMU brings along.
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
        if let Err(reason) = elf_head::check_file(&path).map_err(io)? {
            return refuse(&binary.name, reason);
        }
        let broken = elf_head::broken_libraries(&binary.folder).map_err(io)?;
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
