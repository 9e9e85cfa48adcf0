//! `cargo xtask VERB`
//!
//! The alias in `.cargo/config.toml` calls it; all work is in the library beside it.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure a step against a C loop over the same FMU
    Bench(xtask::bench::Options),
    /// Couple two FMUs three ways and show what happens to their energy
    Demo,
    /// Make the files that people install, of the commit that is checked out: target/dist/files
    Dist,
    /// Build all FMUs into target/fmus
    Fmus,
    /// Check the rules that neither rustc nor clippy checks
    Tidy,
}

fn show(folder: &Path) {
    println!("{}", folder.display());
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::Bench(options) => xtask::bench::run(&xtask::root(), &xtask::target(), &options),
        Verb::Demo => xtask::demo::run(&xtask::root(), &xtask::target()),
        Verb::Dist => {
            xtask::dist::run(&xtask::root(), &xtask::target()).map(|folder| show(&folder))
        }
        Verb::Fmus => xtask::fmus::build_all()
            .map(|folder| show(&folder))
            .map_err(|error| error.to_string()),
        Verb::Tidy => match xtask::tidy::run(&xtask::root()) {
            Ok(true) => Ok(()),
            Ok(false) => return ExitCode::FAILURE,
            Err(error) => Err(error.to_string()),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("cargo xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
