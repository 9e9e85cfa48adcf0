//! Requirements of an FMU's library on the system, found without loading it.
//!
//! The dynamic loader stops at the first thing that is missing, and its message does not list the
//! directories. This reads the same tables as the loader and names everything at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::elf::{self, Binary, RunPaths};
use crate::functions::REQUIRED_FUNCTIONS;
use crate::packages;
use crate::python;
use crate::search_path::SearchPath;

/// Libraries that FMUs use without naming them. One that a system lacks is not needed there.
pub(crate) const GLOBAL: &[&str] = if cfg!(target_os = "linux") {
    &["libm.so.6", "libpthread.so.0", "libdl.so.2"]
} else {
    &[]
};

/// Requirements of an FMU's library, and which of them are met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// File name of the FMU's library.
    pub library: String,
    /// Why this machine cannot run the library at all, if it cannot: built for another one, say.
    pub refusal: Option<String>,
    /// The libraries that it needs, and the libraries that they need.
    pub libraries: Vec<NeededLibrary>,
    /// Functions and data that no library has. Empty as long as a library is missing: it may have
    /// them.
    pub undefined_symbols: Vec<String>,
    /// Functions of FMI that no run can do without and that the library does not export.
    pub missing_functions: Vec<&'static str>,
    /// The libpython that is loaded for the library, if it uses an interpreter and names no library
    /// that has it.
    pub python: Option<PathBuf>,
    /// Directories that were searched for libraries, in this order, before the system's own list.
    pub searched: Vec<PathBuf>,
}

/// A library that another one needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededLibrary {
    /// Name by which it is needed, such as `libgfortran.so.3`.
    pub name: String,
    /// File name of the first library that needs it.
    pub needed_by: String,
    /// Its path; `None` if it is missing.
    pub found: Option<PathBuf>,
    /// How to get it if it is missing, as far as that is known: a package, or a product.
    pub package: Option<&'static str>,
}

impl Needs {
    /// Whether nothing is missing, as far as that can be seen without loading the library.
    #[must_use]
    pub fn are_met(&self) -> bool {
        self.refusal.is_none()
            && self.missing().next().is_none()
            && self.undefined_symbols.is_empty()
            && self.missing_functions.is_empty()
    }

    /// The libraries that are missing.
    pub fn missing(&self) -> impl Iterator<Item = &NeededLibrary> {
        self.libraries
            .iter()
            .filter(|needed| needed.found.is_none())
    }

    /// Looks at the library `file` of an FMU, beside which it may bring others.
    pub(crate) fn of(file: &Path, options: &Loading<'_>) -> std::io::Result<Self> {
        let refusal = elf::check_file(file)?.err();
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut survey = Survey {
            search: SearchPath::new(options.library_path, folder),
            libraries: BTreeMap::new(),
            order: Vec::new(),
            provided: BTreeSet::new(),
            wanted: BTreeSet::new(),
        };
        let (mut missing_functions, mut python) = (Vec::new(), None);
        if refusal.is_none() {
            let own = Binary::read(file).unwrap_or_default();
            missing_functions = REQUIRED_FUNCTIONS
                .iter()
                .copied()
                .filter(|name| !own.defined.contains(*name))
                .collect();
            survey.visit(file, own);
            survey.visit_global(options.preload);
            if survey.lacks_python() {
                python = python::library().map(Path::to_owned);
            }
            let name = python.as_deref().and_then(Path::to_str);
            survey.visit_global(&name.map(str::to_owned).into_iter().collect::<Vec<_>>());
        }
        let searched = survey.search.directories();
        let (libraries, undefined_symbols) = survey.conclude();
        Ok(Self {
            library: file_name(file),
            refusal,
            libraries,
            undefined_symbols,
            missing_functions,
            python,
            searched,
        })
    }

    /// Missing libraries with advice, as the end of a sentence; empty if nothing is missing.
    pub(crate) fn advice(&self) -> String {
        let mut text = String::new();
        for needed in self.missing() {
            text += &format!(
                "; {} needs {}, which was not found",
                needed.needed_by, needed.name
            );
            if let Some(package) = needed.package {
                text += &format!(" ({package})");
            }
        }
        if !text.is_empty() {
            let searched: Vec<_> = self
                .searched
                .iter()
                .map(|dir| dir.display().to_string())
                .collect();
            let looked = match searched.join(", ") {
                none if none.is_empty() => "the system's directories".to_owned(),
                some => format!("{some} and the system's directories"),
            };
            text += &format!(
                "; looked in {looked}: install it, or name its directory with library_path \
                 (--library-path)"
            );
        }
        match self.undefined_symbols.as_slice() {
            [] => {}
            [first, rest @ ..] => {
                let more = match rest.len() {
                    0 => String::new(),
                    more => format!(" and {more} more symbols"),
                };
                let library = packages::library_with(first);
                text += &format!(
                    "; {first}{more}: not in any library that the FMU names, load {library} \
                     (--preload)"
                );
            }
        }
        text
    }
}

/// How a library is to be loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loading<'a> {
    pub(crate) preload: &'a [String],
    pub(crate) library_path: &'a [PathBuf],
}

impl Loading<'_> {
    /// The library `name` in the first directory of the library path that has it.
    pub(crate) fn library_file(&self, name: &str) -> Option<PathBuf> {
        let mut files = self
            .library_path
            .iter()
            .map(|directory| directory.join(name));
        files.find(|file| !name.contains('/') && file.is_file())
    }
}

/// A walk over all that a library needs.
struct Survey {
    search: SearchPath,
    libraries: BTreeMap<String, NeededLibrary>,
    /// Their names, nearest first.
    order: Vec<String>,
    provided: BTreeSet<String>,
    /// Symbols that the FMU's own libraries need.
    wanted: BTreeSet<String>,
}

impl Survey {
    fn visit(&mut self, file: &Path, binary: Binary) {
        let mut queue = VecDeque::from([(file.to_owned(), binary)]);
        while let Some((file, binary)) = queue.pop_front() {
            // The system's own libraries are taken to be whole.
            if self.search.is_own(&file) {
                self.wanted.extend(binary.undefined);
            }
            self.provided.extend(binary.defined);
            for name in binary.needed {
                if self.libraries.contains_key(&name) {
                    continue;
                }
                let found = self.search.find(&name, &file, &binary.run_paths);
                if let Some(found) = &found
                    && let Some(next) = Binary::read(found)
                {
                    queue.push_back((found.clone(), next));
                }
                self.add(name, &file, found);
            }
        }
    }

    /// Whether the FMU's own libraries use an interpreter that none of the others has.
    fn lacks_python(&self) -> bool {
        let mut missing = self.wanted.difference(&self.provided);
        missing.any(|name| python::has_symbol(name))
    }

    fn add(&mut self, name: String, needed_by: &Path, found: Option<PathBuf>) {
        let package = match found {
            Some(_) => None,
            None => packages::package_of(&name),
        };
        let needed = NeededLibrary {
            name: name.clone(),
            needed_by: file_name(needed_by),
            found,
            package,
        };
        self.order.push(name.clone());
        self.libraries.insert(name, needed);
    }

    /// Libraries that are loaded before any FMU lend their symbols to all.
    fn visit_global(&mut self, preload: &[String]) {
        let nowhere = (PathBuf::new(), RunPaths::default());
        let names = GLOBAL
            .iter()
            .copied()
            .chain(preload.iter().map(String::as_str));
        for name in names {
            let found = self.search.find(name, &nowhere.0, &nowhere.1);
            let found = found.or_else(|| Some(PathBuf::from(name)).filter(|path| path.is_file()));
            if let Some((path, binary)) =
                found.and_then(|path| Some((path.clone(), Binary::read(&path)?)))
            {
                let before = self.order.len();
                self.visit(&path, binary);
                // Libraries needed by these are not the FMU's business.
                for name in self.order.drain(before..) {
                    self.libraries.remove(&name);
                }
            }
        }
    }

    fn conclude(mut self) -> (Vec<NeededLibrary>, Vec<String>) {
        let libraries: Vec<_> = self
            .order
            .iter()
            .filter_map(|name| self.libraries.remove(name))
            .collect();
        let is_complete = libraries.iter().all(|needed| needed.found.is_some());
        let undefined = if is_complete {
            self.wanted.difference(&self.provided).cloned().collect()
        } else {
            Vec::new()
        };
        (libraries, undefined)
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
