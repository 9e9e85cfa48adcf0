//! `gyrator benchmark`: a program of its own, which stands beside this one.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;

use clap::Args;

use crate::benchmark_options::BenchmarkExecution;
use crate::exit::Exit;
use crate::failure::{Failure, Message};

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(super) struct Options {
    /// As `gyrator benchmark --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs the benchmarks.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let mut command = program()?;
    command.args(&options.arguments);
    // In place of this process, so that signals to it end the benchmarks.
    #[cfg(unix)]
    let outcome = {
        let error = std::os::unix::process::CommandExt::exec(&mut command);
        Err(failure(Path::new(command.get_program()), &error))
    };
    #[cfg(not(unix))]
    let outcome = end_as(&mut command);
    outcome
}

/// Runs a benchmark with this FMU in a role: `BENCHMARK:ROLE[,OURS=THEIRS…]`. A call may take `timeout` s.
pub(super) fn against(
    benchmark: &str,
    fmu: &Path,
    execution: &BenchmarkExecution,
    timeout: f64,
) -> Result<Exit, Failure> {
    let mut command = program()?;
    command.arg("--against").arg(benchmark).arg(fmu);
    command.arg("--timeout").arg(timeout.to_string());
    execution.hand_on(&mut command);
    end_as(&mut command)
}

/// The program of the benchmarks, which is installed and built with this one.
fn program() -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| failure(Path::new("gyrator"), &error))?;
    let program = program.with_file_name(format!("gyrator-benchmark{EXE_SUFFIX}"));
    if program.is_file() {
        Ok(Command::new(program))
    } else {
        Err(failure(&program, &io::ErrorKind::NotFound.into()))
    }
}

fn end_as(command: &mut Command) -> Result<Exit, Failure> {
    let status = command
        .status()
        .map_err(|error| failure(Path::new(command.get_program()), &error))?;
    match status.code().map(u8::try_from) {
        Some(Ok(code)) => Ok(Exit::of(code)),
        Some(Err(_)) => Ok(Exit::Failed),
        None => {
            let text = format!("{}: {status}", Path::new(command.get_program()).display());
            Err(Failure::new(Exit::Crashed, Message::error(text)))
        }
    }
}

fn failure(program: &Path, error: &io::Error) -> Failure {
    let text = format!("cannot run {}: {error}", program.display());
    Failure::new(Exit::Failed, Message::error(text))
        .help(
        "cargo builds and installs it together with gyrator, by the default feature `benchmark`; the Python package is without it",
    )
}
