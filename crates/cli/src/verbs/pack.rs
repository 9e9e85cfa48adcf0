//! `gyrator pack`: a coupled system as one FMU, with the master inside.

use std::borrow::Cow;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use gyrator::system::FmuCache;
use gyrator_packed_fmu::{PackError, PackOptions};

use crate::exit::Exit;
use crate::failure::{Failure, Message, is_named};
use crate::fmu_options::FmuOptions;
use crate::options::{CouplingOptions, ExperimentOptions, assignment, set_start_values};
use crate::system_input::{self, SystemOptions};
use crate::{overwriting, screen};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The system file
    #[arg(value_name = "SYSTEM")]
    system: PathBuf,
    /// Write the FMU
    #[arg(long, short = 'o', value_name = "FILE.fmu")]
    output_file: PathBuf,
    /// Name of the model [default: the name of the file]
    #[arg(long, value_name = "NAME", help_heading = "Variables")]
    model_name: Option<String>,
    /// Expose these variables, with * and ? in the names [repeatable] [default: all outputs, unconnected
    /// inputs and parameters, residual power, residual energy and verdict of bonds]
    #[arg(long, value_name = "PATTERN", help_heading = "Variables")]
    expose: Vec<String>,
    /// Expose a variable under another name [repeatable]
    #[arg(long, value_name = "COMPONENT.VARIABLE=NAME", value_parser = assignment)]
    #[arg(help_heading = "Variables")]
    rename: Vec<(String, String)>,
    #[command(flatten)]
    input: SystemOptions,
    #[command(flatten)]
    experiment: ExperimentOptions,
    #[command(flatten)]
    coupling: CouplingOptions,
    /// Start value of a variable, in place of the system file's [repeatable]
    #[arg(long, value_name = "COMPONENT.VARIABLE=VALUE", value_parser = assignment)]
    #[arg(help_heading = "Experiment")]
    start_value: Vec<(String, String)>,
    #[command(flatten)]
    fmus: FmuOptions,
    /// The library of packed FMUs [default: the one in this program]
    #[arg(long, value_name = "FILE", help_heading = "FMUs")]
    library: Option<PathBuf>,
}

/// Packs the system with this library.
pub(super) fn run(options: Options, packed_fmu: &[u8]) -> Result<Exit, Failure> {
    let target = &options.output_file;
    if !is_named(target, "fmu") {
        let text = format!(
            "--output-file {}: the name must end in .fmu",
            target.display()
        );
        return Err(Failure::usage(text));
    }
    let outputs = [("--output-file", &**target)];
    let mut inputs = vec![("the system file", &*options.system)];
    inputs.extend(options.input.input());
    overwriting::refuse(&outputs, &inputs)?;
    let limits = options.fmus.limits();
    let (mut system, warnings) =
        system_input::read_with(&options.system, &options.input, limits, |system| {
            options.coupling.apply(system);
            options.experiment.apply(&mut system.experiment)
        })?;
    overwriting::refuse_files_of(&system, &outputs)?;
    overwriting::refuse_foreign(target, "modelDescription.xml")?;
    set_start_values(&mut system, options.start_value)?;
    for problem in &warnings {
        warn(&problem.message);
    }
    let library = library(options.library.as_deref(), packed_fmu)?;
    let name = options.model_name.unwrap_or_else(|| {
        let stem = target.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    });
    let how = PackOptions {
        model_name: name,
        expose: options.expose,
        rename: options.rename,
        limits,
    };
    let cache = FmuCache::new(options.fmus.open_options());
    let packed = gyrator_packed_fmu::pack(&system, &cache, &library, &how)?;
    for warning in &packed.warnings {
        warn(warning);
    }
    write(target, &packed.archive)?;
    let [inputs, outputs, parameters] = packed.counts;
    screen::print(&format!(
        "{}: {inputs} inputs, {outputs} outputs, {parameters} parameters\n",
        target.display()
    ))?;
    Ok(Exit::Success)
}

fn warn(text: &str) {
    screen::message(&format!("warning: {text}\n"));
}

/// The library of packed FMUs: the one that is given, or the program's own.
fn library<'a>(given: Option<&Path>, own: &'a [u8]) -> Result<Cow<'a, [u8]>, Failure> {
    let not_loaded = |text: String| Failure::new(Exit::NotLoaded, Message::error(text));
    if let Some(path) = given {
        let read = std::fs::read(path).map(Cow::Owned);
        return read.map_err(|error| not_loaded(format!("--library {}: {error}", path.display())));
    }
    // The wheel for Python has zeros in its place, which the compiler does not know of.
    let own = std::hint::black_box(own);
    if !own.starts_with(b"\x7fELF") {
        let text = "this program is without the library of packed FMUs";
        let help = "name one with --library: a release build leaves it in target/release, and a program that is built with the feature \
                    `packed-fmu`, as it is by default, has its own";
        return Err(not_loaded(text.to_owned()).help(help));
    }
    Ok(Cow::Borrowed(own))
}

/// Writes the file; an earlier one stays until the new one is whole.
fn write(target: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error| Failure::not_written(target.display(), &error);
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let draft = target.with_file_name(name);
    let written = std::fs::File::create(&draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&draft, target)
    });
    if written.is_err() {
        // The error that matters is the first one.
        let _ = std::fs::remove_file(&draft);
    }
    written.map_err(failed)
}

impl From<PackError> for Failure {
    fn from(error: PackError) -> Self {
        let exit = match error {
            PackError::Start(error) => return error.into(),
            PackError::Names(text) => return Self::usage(text),
            PackError::StepControl(_) => {
                let help = "--step-control fixed packs it with the macro-step of its file, or that of --step-size";
                return Self::of(Exit::InvalidInput, &error).help(help);
            }
            PackError::Fmu { .. } => Exit::InvalidInput,
            PackError::Read { .. } => Exit::NotLoaded,
            _ => Exit::Failed,
        };
        Self::of(exit, &error)
    }
}
