//! `gyrator compile`: a library for this machine from the sources of an FMU.

use std::path::PathBuf;

use clap::Args;
use gyrator_fmu::{Fmu, OpenError};

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::fmu_options::FmuOptions;
use crate::input_kind::{self, Wanted};
use crate::{overwriting, screen};

use super::simulate::not_opened;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The FMU, which stays as it is
    #[arg(value_name = "FMU")]
    fmu: PathBuf,
    /// Write a copy of the FMU with the library in it
    #[arg(long, short = 'o', value_name = "NEW.fmu")]
    output_file: Option<PathBuf>,
    #[command(flatten)]
    fmus: FmuOptions,
}

/// Compiles the FMU, and says where the library is.
pub(super) fn run(options: Options) -> Result<Exit, Failure> {
    let output = options.output_file.as_deref();
    let outputs: Vec<_> = output
        .map(|path| ("--output-file", path))
        .into_iter()
        .collect();
    overwriting::refuse(&outputs, &[("the FMU", &options.fmu)])?;
    input_kind::expect(&options.fmu, Wanted::Fmu)?;
    let peek = Fmu::peek_with(&options.fmu, options.fmus.limits());
    let peek = peek.map_err(|error| not_opened(&error))?;
    let fmu = Fmu::open_with(&options.fmu, &options.fmus.compiling().open_options());
    let fmu = fmu.map_err(|error| not_compiled(&error))?;
    if fmu.platforms() == peek.platforms && fmu.library_file().is_ok() {
        let text = format!("{} has a library for this machine", options.fmu.display());
        return Err(Failure::usage(text).help("it runs without being compiled"));
    }
    let library = fmu.library_file().map_err(|error| {
        let text = match peek.has_sources {
            true => error.to_string(),
            false => format!("{error}, and it has no sources in C or C++"),
        };
        Failure::new(Exit::NotLoaded, Message::error(text))
    })?;
    let Some(output) = output else {
        screen::print(&format!("{}\n", library.display()))?;
        return Ok(Exit::Success);
    };
    fmu.write_with_library(output)
        .map_err(|error| Failure::of(Exit::Failed, &error))?;
    screen::print(&format!("{}\n", output.display()))?;
    Ok(Exit::Success)
}

fn not_compiled(error: &OpenError) -> Failure {
    match error {
        OpenError::Compile { .. } => Failure::of(Exit::NotLoaded, &error),
        error => not_opened(error),
    }
}
