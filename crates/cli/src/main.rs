//! The program `gyrator`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    gyrator_cli::main()
}
