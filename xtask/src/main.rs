//! `cargo xtask VERB`
#![forbid(unsafe_code)]

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
    /// Build all FMUs into target/fmus
    Fmus,
    /// Check the rules that neither rustc nor clippy checks
    Tidy,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::Bench(options) => xtask::bench::run(&xtask::root(), &xtask::target(), &options),
        Verb::Demo => xtask::demo::run(&xtask::root(), &xtask::target()),
        Verb::Fmus => match xtask::fmus::build_all() {
            Ok(folder) => {
                println!("{}", folder.display());
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        },
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
