//! The command `gyrator`: couples FMUs and accounts for the energy exchanged between them.
//!
//! Users call it. It decides what is done and words the outcome; it never steps, judges or draws by itself.
//!
//! The only crate that prints, reads the command line and decides exit codes. A library, because two
//! programs write messages and end alike: `gyrator`, and `gyrator-benchmark` beside it.

#![forbid(unsafe_code)]

pub mod aligned;
pub mod benchmark_options;
mod call_recording;
mod checks;
mod companions;
mod drawing;
mod error_bars;
pub mod exit;
mod failed_run;
pub mod failure;
mod feature;
mod features;
mod fmu_log;
mod fmu_options;
mod folded_notes;
mod hosts;
mod initial_values;
mod input_file;
mod input_kind;
mod interrupt;
mod junit;
mod live;
mod markdown;
mod next_step;
pub mod numbers;
mod options;
mod overwriting;
mod picture;
mod profile;
pub mod progress;
mod provenance;
mod real_time;
mod recorder;
mod report_page;
mod result_output;
pub mod screen;
mod session;
mod session_warnings;
mod state_options;
mod study_directories;
mod study_journals;
mod study_progress;
mod study_summary;
mod study_supervision;
mod summary;
mod summary_file;
pub mod supervision;
mod system_input;
mod table_options;
mod verbs;
mod verification;
pub mod version;

use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use gyrator_worker::signals;

use crate::exit::Exit;

/// Runs `gyrator`, from its command line to its exit code, with the library that it puts into packed FMUs.
#[must_use]
pub fn main(packed_fmu: &[u8]) -> ExitCode {
    program(|| run(packed_fmu))
}

/// Does the work of a program, which may be a worker, and ends what FMUs have left.
#[must_use]
pub fn program(run: impl Fn() -> Exit + std::panic::RefUnwindSafe) -> ExitCode {
    signals::survive_file_size_limit();
    signals::hear_of_children();
    gyrator_worker::raise_descriptor_limit();
    if let Err(error) = gyrator_worker::surroundings::remember() {
        screen::message(&format!(
            "warning: the working directory cannot be opened: {error}\n"
        ));
    }
    gyrator_worker::tell_panics_apart();
    gyrator_worker::hook(|_| run().code());
    if let Err(error) = gyrator_worker::adopt_orphans() {
        screen::message(&format!(
            "warning: processes that FMUs start may outlive the run: {error}\n"
        ));
    }
    // The end of a program that has panicked is not an FMU's.
    let end = std::panic::catch_unwind(|| gyrator_worker::end_if_worker(|| run().code()));
    let code = end.unwrap_or_else(|_| supervision::panicked().code());
    gyrator_worker::program_ends();
    gyrator_worker::end_orphans();
    code.into()
}

fn run(packed_fmu: &[u8]) -> Exit {
    let outcome = match verbs::Cli::from_process() {
        Ok(cli) => cli.run(packed_fmu),
        Err(message) => Ok(usage(&advise(message))),
    };
    match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            failure.print();
            failure.exit
        }
    }
}

/// Adds advice to a message about an argument that is not known.
fn advise(mut message: clap::Error) -> clap::Error {
    let advice = match message.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) if message.kind() == ErrorKind::UnknownArgument => {
            advice(argument)
        }
        _ => None,
    };
    if let Some(advice) = advice {
        let advice = ContextValue::StyledStrs(vec![advice.into()]);
        message.insert(ContextKind::Suggested, advice);
    }
    message
}

/// Names the option that an argument without one may be meant for.
fn advice(argument: &str) -> Option<String> {
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let arguments: Vec<String> = arguments.collect();
    let verb = verbs::command_of(arguments.get(1)?)?;
    let has = |is_it: &dyn Fn(&clap::Arg) -> bool| verb.get_arguments().any(is_it);
    // An option whose value may be left out takes one after `=` only.
    let takes_joined = |option: &str| {
        let name = option.strip_prefix("--");
        has(&|arg| arg.is_require_equals_set() && arg.get_long() == name)
    };
    let is_apart =
        |value: &str| value == argument || !value.starts_with('-') && !Path::new(value).exists();
    let mut pairs = arguments.windows(2);
    if let Some([option, value]) = pairs.find(|pair| takes_joined(&pair[0]) && is_apart(&pair[1])) {
        return Some(format!(
            "a value of {option} follows '=': '{option}={value}'"
        ));
    }
    let takes_start_values = has(&|arg| arg.get_id() == "start_value");
    let is_one =
        takes_start_values && !argument.starts_with('-') && options::assignment(argument).is_ok();
    is_one.then(|| format!("a start value is set with '--start-value {argument}'"))
}

/// Prints help and version that were asked for, or what is wrong with the command line.
#[must_use]
pub fn usage(message: &clap::Error) -> Exit {
    // A reader that has gone away needs no help.
    let _ = message.print();
    if message.use_stderr() {
        Exit::Usage
    } else {
        Exit::Success
    }
}
