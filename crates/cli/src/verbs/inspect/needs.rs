//! Needs of the library of an FMU from this system.

use std::fmt::Write as _;
use std::path::PathBuf;

use gyrator_fmu::{NeededLibrary, Needs};
use serde::Serialize;

use crate::aligned::{Align, Aligned};

/// Undefined symbols that are shown; more are counted.
const SYMBOLS_SHOWN: usize = 10;

/// All that is shown.
#[derive(Serialize)]
pub(super) struct NeedsFacts {
    library: String,
    /// Whether nothing is missing.
    met: bool,
    refusal: Option<String>,
    libraries: Vec<LibraryFacts>,
    undefined_symbols: Vec<String>,
    missing_functions: Vec<&'static str>,
    /// The libpython that is loaded for it.
    python: Option<PathBuf>,
}

#[derive(Serialize)]
struct LibraryFacts {
    name: String,
    needed_by: String,
    found: Option<PathBuf>,
    package: Option<&'static str>,
}

impl NeedsFacts {
    pub(super) fn new(needs: &Needs) -> Self {
        let library = |needed: &NeededLibrary| LibraryFacts {
            name: needed.name.clone(),
            needed_by: needed.needed_by.clone(),
            found: needed.found.clone(),
            package: needed.package,
        };
        Self {
            library: needs.library.clone(),
            met: needs.are_met(),
            refusal: needs.refusal.clone(),
            libraries: needs.libraries.iter().map(library).collect(),
            undefined_symbols: needs.undefined_symbols.clone(),
            missing_functions: needs.missing_functions.clone(),
            python: needs.python.clone(),
        }
    }

    /// Why the library cannot be loaded, if it cannot.
    pub(super) fn complaint(&self) -> Option<String> {
        if self.met {
            return None;
        }
        let missing = self
            .libraries
            .iter()
            .filter(|needed| needed.found.is_none());
        let names: Vec<_> = missing.map(|needed| needed.name.as_str()).collect();
        let reasons = [
            self.refusal.clone(),
            reason_with_names("libraries are missing", &names),
            reason_with_names("symbols are in no library", &self.undefined_symbols),
            reason_with_names("functions are not exported", &self.missing_functions),
        ];
        let reasons: Vec<_> = reasons.into_iter().flatten().collect();
        Some(format!(
            "{} cannot be loaded: {}",
            self.library,
            reasons.join("; ")
        ))
    }

    /// The facts for people.
    pub(super) fn render(&self) -> String {
        let mut text = format!("\nneeds of {}\n", self.library);
        let mut table = Aligned::new(&[
            ("library", Align::Left),
            ("needed by", Align::Left),
            ("found", Align::Left),
        ]);
        for needed in &self.libraries {
            let found = match (&needed.found, needed.package) {
                (Some(path), _) => path.display().to_string(),
                (None, Some(package)) => format!("missing: {package}"),
                (None, None) => "missing".to_owned(),
            };
            table.row([needed.name.clone(), needed.needed_by.clone(), found]);
        }
        text += &table.render();
        if let Some(python) = &self.python {
            let _ = writeln!(text, "\n{} is loaded for it", python.display());
        }
        if self.met {
            let _ = writeln!(text, "\nnothing is missing");
        }
        text
    }
}

/// A reason with the names it is about, if there are some.
fn reason_with_names(reason: &str, names: &[impl AsRef<str>]) -> Option<String> {
    let shown: Vec<_> = names
        .iter()
        .take(SYMBOLS_SHOWN)
        .map(AsRef::as_ref)
        .collect();
    let more = match names.len().saturating_sub(SYMBOLS_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| format!("{reason}: {}{more}", shown.join(", ")))
}
