//! The command `gyrator`: couples FMUs and keeps the books of the energy between them.
//!
//! The only crate that prints, reads the command line and decides exit codes.

#![forbid(unsafe_code)]

mod aligned;
mod exit;
mod failure;
mod fmu_log;
mod input_file;
mod interrupt;
mod numbers;
mod options;
mod progress;
mod recorder;
mod screen;
mod session;
mod summary;
mod verbs;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let outcome = match verbs::Cli::try_parse() {
        Ok(cli) => cli.run(),
        Err(message) => verbs::usage(&message),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            failure.exit.into()
        }
    }
}
