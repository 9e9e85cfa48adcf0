//! Options about FMUs: where their libraries are, what their archives may cost.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use gyrator_fmu::{Compiler, Limits, OpenOptions};
use gyrator_system::{Spanned, SystemFile};

// How FMUs are opened.
#[derive(Debug, Args)]
#[command(next_help_heading = "FMUs")]
pub(crate) struct FmuOptions {
    /// Directory that is searched first for shared libraries that FMUs need [repeatable]
    #[arg(long, value_name = "DIRECTORY", value_parser = PathBufValueParser::new().try_map(directory))]
    library_path: Vec<PathBuf>,
    /// Shared library to load before those of the FMUs, for use by all of them [repeatable]
    #[arg(long, value_name = "NAME")]
    preload: Vec<String>,
    /// Keep unpacked FMUs, so that later runs start faster, in DIRECTORY or the user's cache; FMUs cannot write to
    /// their resources there
    #[arg(long, value_name = "DIRECTORY", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "")]
    cache: Option<PathBuf>,
    /// Compile the sources of FMUs that have no library for this machine, with the compilers in the environment
    /// variables CC and CXX (else cc and c++) and the options in CFLAGS; implies --cache
    #[arg(long)]
    compile: bool,
    /// Change a limit for unpacking FMUs: entries, total-size, description-size, ratio, ratio-from, depth, free-space;
    /// sizes may end in KiB, MiB, GiB [repeatable]
    #[arg(long, value_name = "NAME=NUMBER", value_parser = limit)]
    unpack_limit: Vec<(LimitField, u64)>,
}

// How often steps are tried again.
#[derive(Debug, Args)]
#[command(next_help_heading = "Experiment")]
pub(crate) struct HalvingOptions {
    /// Most halvings of a step that an FMU discards, before the run ends; for FMUs that can save their state
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=16))]
    #[arg(allow_negative_numbers = true)]
    step_halvings: Option<u32>,
}

impl HalvingOptions {
    /// Sets the option for all components that do not say their own.
    pub(crate) fn apply(&self, system: &mut SystemFile) {
        for component in &mut system.components {
            if component.step_halvings.is_none() {
                component.step_halvings = self.step_halvings.map(Spanned::unplaced);
            }
        }
    }
}

impl FmuOptions {
    /// The options as the loader takes them.
    pub(crate) fn open_options(&self) -> OpenOptions {
        OpenOptions {
            preload: self.preload.clone(),
            library_path: self.library_path.clone(),
            limits: self.limits(),
            cache: match &self.cache {
                None if self.compile => usual_cache(),
                Some(cache) if cache.as_os_str().is_empty() => usual_cache(),
                cache => cache.clone(),
            },
            compiler: self.compile.then(compiler),
        }
    }

    /// The options, with `--compile`.
    pub(crate) fn compiling(self) -> Self {
        Self {
            compile: true,
            ..self
        }
    }

    /// Limits of an archive.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for (field, number) in &self.unpack_limit {
            *field(&mut limits) = *number;
        }
        limits
    }
}

fn directory(path: PathBuf) -> Result<PathBuf, &'static str> {
    match path.is_dir() {
        true => Ok(path),
        false => Err("there is no such directory"),
    }
}

/// The compiler of the user.
fn compiler() -> Compiler {
    let words = |name: &str| -> Vec<String> {
        let text = std::env::var(name).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    };
    let mut compiler = Compiler::default();
    let mut program = words("CC").into_iter();
    if let Some(word) = program.next() {
        compiler.program = word;
    }
    compiler.flags = program.chain(words("CFLAGS")).collect();
    if let Some(word) = words("CXX").into_iter().next() {
        compiler.cpp_program = word;
    }
    compiler
}

/// A field of [`Limits`].
type LimitField = fn(&mut Limits) -> &mut u64;

const LIMITS: [(&str, LimitField); 7] = [
    ("entries", |limits| &mut limits.entries),
    ("total-size", |limits| &mut limits.total_size),
    ("description-size", |limits| &mut limits.description_size),
    ("ratio", |limits| &mut limits.ratio),
    ("ratio-from", |limits| &mut limits.ratio_from),
    ("depth", |limits| &mut limits.depth),
    ("free-space", |limits| &mut limits.free_space),
];

/// Reads `total-size=20GiB`.
fn limit(text: &str) -> Result<(LimitField, u64), String> {
    let names = || LIMITS.map(|(name, _)| name).join(", ");
    let (name, number) = text
        .split_once('=')
        .ok_or_else(|| format!("write NAME=NUMBER with one of the names {}", names()))?;
    // Messages name the fields.
    let word = name.trim().replace('_', "-");
    let known = LIMITS.iter().find(|(known, _)| *known == word);
    let (_, field) = known.ok_or_else(|| format!("there is no limit {name}, only {}", names()))?;
    let number = number.trim();
    let endings = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let ending = endings
        .iter()
        .find_map(|(ending, power)| Some((number.strip_suffix(ending)?, *power)));
    let (digits, power) = ending.unwrap_or((number, 0));
    let digits: u64 = digits
        .trim()
        .parse()
        .map_err(|_| format!("{number} is not a whole number"))?;
    let number = digits
        .checked_mul(1 << power)
        .ok_or_else(|| format!("{number} is too large"))?;
    Ok((*field, number))
}

/// Where the user's programs keep what they can make again.
fn usual_cache() -> Option<PathBuf> {
    let variable = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let parent = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    parent.map(|parent| parent.join("gyrator/fmus"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_names_and_endings() {
        let read = |text| limit(text).map(|(_, number)| number);
        assert_eq!(read("entries=5"), Ok(5));
        assert_eq!(read("total_size = 20GiB"), Ok(20 << 30));
        assert!(read("entries").unwrap_err().contains("NAME=NUMBER"));
        assert!(read("size=1").unwrap_err().contains("total-size"));
        assert!(read("ratio=1e3").is_err());
        assert!(read("ratio=99999999999999GiB").is_err());
    }
}
