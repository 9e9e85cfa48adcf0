//! The command `gyrator`: couples FMUs and keeps the books of the energy between them.
//!
//! The only crate that prints, reads the command line and decides exit codes.

#![forbid(unsafe_code)]

mod aligned;
mod exit;
mod failure;
mod fmu_log;
mod fmu_options;
mod input_file;
mod interrupt;
mod numbers;
mod options;
mod progress;
mod recorder;
mod result_output;
mod screen;
mod session;
mod study_progress;
mod study_supervision;
mod summary;
mod supervision;
mod verbs;

use std::process::ExitCode;

use clap::Parser as _;

use crate::exit::Exit;

fn main() -> ExitCode {
    gyrator_worker::survive_file_size_limit();
    if let Err(error) = gyrator_worker::surroundings::remember() {
        screen::message(&format!(
            "warning: the working directory cannot be opened: {error}\n"
        ));
    }
    gyrator_worker::hook(|_| run().code());
    run().into()
}

fn run() -> Exit {
    let outcome = match verbs::Cli::try_parse() {
        Ok(cli) => cli.run(),
        Err(message) => verbs::usage(&message),
    };
    match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            failure.print();
            failure.exit
        }
    }
}
