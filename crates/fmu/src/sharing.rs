//! What the instances of an FMU share with others in one process, as far as its files show.
//!
//! What can be kept apart in one process is kept apart there, because a process of its own costs 7 to 11 µs a step.
//! The state of `rand` and `drand48` is put into place before each call and taken back after it (90 ns a step with
//! three calls, one lock for all threads). Unique symbols of C++ are made ordinary ones in the bytes that are loaded.
//! Two things cannot be kept apart: a library that the dynamic loader has once by its name, and a table inside the C
//! library (`hsearch`). So the second component with such an FMU gets a process of its own. To isolate whatever an ELF
//! file shows would have taken 125 of 284 public FMUs out of the process. `dlmopen` would keep all of it apart, but it has
//! 16 namespaces, and each loads the C library again.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::c_library;
use crate::elf::Binary;

/// Functions by which a library loads others at run time.
const LOADING: &[&str] = &["dlopen", "dlmopen"];

/// What the instances of an FMU share with all others in one process. Each has its own copy of the library; that does not
/// keep everything apart. An FMU that [declares](crate::ModelDescription::declares_shared_library) it safe to share the library
/// shares nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sharing {
    /// Symbols that exist once in a process, for all libraries (`STB_GNU_UNIQUE`: static variables of C++ templates and
    /// inline functions). They are made local in what is loaded.
    pub unique_symbols: usize,
    /// Libraries with thread-local variables: an instance stays on the thread that made it.
    pub thread_local: Vec<String>,
    /// Functions of the C library with a state of the process. Each instance has a state of its own; the state of `strtok` is
    /// safe within a call.
    pub c_functions: Vec<&'static str>,
    /// Functions of the C library with a state that cannot be kept apart in one process.
    pub shared_c_functions: Vec<&'static str>,
    /// Other libraries in the archive that the FMU's library needs, or can load, or that an FMU for one instance per process
    /// brings: a process has one of each name.
    pub companions: Vec<String>,
}

/// Instances in this process, including those that are gone, whose FMU
/// [needs a process of its own](Sharing::needs_own_process) beside another one.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// Whether the place in this process for one such instance was claimed.
static CLAIMED: AtomicBool = AtomicBool::new(false);

/// Claims the place in this process for one instance that [needs a process of its own](Sharing::needs_own_process) beside
/// others. It is there once: false for everybody after the first.
#[must_use]
pub fn claim_process() -> bool {
    !CLAIMED.swap(true, Ordering::Relaxed)
}

impl Sharing {
    /// What the files show: the FMU's library for this machine, all files beside it, and the
    /// resources below `root`. An FMU for one instance per process (`only_once`) may load all of them.
    pub(crate) fn of(library: &Path, root: &Path, only_once: bool) -> Self {
        let mut sharing = Self::default();
        let Some(own) = Binary::read(library) else {
            return sharing;
        };
        let name = name_of(library);
        let uses_all = only_once || LOADING.iter().any(|name| own.undefined.contains(*name));
        // What is needed, and what that needs.
        let mut others = other_libraries(library, root);
        let mut needed = own.needed.clone();
        sharing.add(&name, &own);
        while let Some(at) = others
            .iter()
            .position(|(name, ..)| uses_all || needed.contains(&name_of(Path::new(name))))
        {
            let (name, binary) = others.swap_remove(at);
            sharing.add(&name, &binary);
            needed.extend(binary.needed);
            sharing.companions.push(name);
        }
        sharing.companions.sort();
        sharing
    }

    /// Counts an instance in this process.
    pub(crate) fn count_user(&self) {
        let is_user = self.needs_own_process();
        if is_user {
            CLAIMED.store(true, Ordering::Relaxed);
        }
        USERS.fetch_add(usize::from(is_user), Ordering::Relaxed);
    }

    /// Whether instances keep a state of the C library.
    #[must_use]
    pub fn uses_c_state(&self) -> bool {
        !self.c_functions.is_empty()
    }

    /// Whether an instance has to be called by the thread that made it: thread-local variables, or a state of the C
    /// library, for which several threads would wait.
    #[must_use]
    pub fn keeps_thread(&self) -> bool {
        self.uses_c_state() || !self.thread_local.is_empty()
    }

    /// Whether two instances with this need processes of their own: of this FMU or of another one.
    #[must_use]
    pub fn needs_own_process(&self) -> bool {
        !self.companions.is_empty() || !self.shared_c_functions.is_empty()
    }

    /// The reason, as the end of a sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        let mut reasons = Vec::new();
        if !self.companions.is_empty() {
            reasons.push(format!("it brings {}", self.companions.join(", ")));
        }
        if !self.shared_c_functions.is_empty() {
            reasons.push(format!("it calls {}", self.shared_c_functions.join(", ")));
        }
        reasons.join(", and ")
    }
}

/// How many instances this process has made, including those that are gone, whose FMU
/// [needs a process of its own](Sharing::needs_own_process) beside another one.
#[must_use]
pub fn process_users() -> usize {
    USERS.load(Ordering::Relaxed)
}

impl Sharing {
    /// Why an instance is called by one thread, as the end of a sentence.
    #[must_use]
    pub fn thread_reason(&self) -> String {
        let mut reasons = Vec::new();
        if !self.thread_local.is_empty() {
            reasons.push(format!(
                "has thread-local variables ({})",
                self.thread_local.join(", ")
            ));
        }
        if self.uses_c_state() {
            reasons.push(format!("calls {}", self.c_functions.join(", ")));
        }
        reasons.join(" and ")
    }

    /// Adds what a library shares.
    fn add(&mut self, name: &str, binary: &Binary) {
        self.unique_symbols += binary.unique;
        if binary.is_thread_local {
            self.thread_local.push(name.to_owned());
        }
        let add = |list: &mut Vec<&'static str>, found: Vec<&'static str>| {
            list.extend(found);
            list.sort_unstable();
            list.dedup();
        };
        add(
            &mut self.c_functions,
            c_library::kept_apart(&binary.undefined),
        );
        add(
            &mut self.shared_c_functions,
            c_library::shared(&binary.undefined),
        );
    }
}

/// The libraries beside the FMU's own one for this machine and among its resources, by their paths in the archive.
fn other_libraries(own: &Path, root: &Path) -> Vec<(String, Binary)> {
    let mut folders = vec![own.with_file_name(""), root.join("resources")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                folders.push(path);
            } else if path != own && is_library(&path) {
                let binary = Binary::read(&path).unwrap_or_default();
                let path = path.strip_prefix(root).unwrap_or(&path);
                found.push((path.to_string_lossy().into_owned(), binary));
            }
        }
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    found
}

/// By its name: `libgfortran.so.3` is one as well.
fn is_library(path: &Path) -> bool {
    let name = name_of(path);
    name.ends_with(".so") || name.contains(".so.")
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
