//! The program `gyrator`.
//!
//! It hands the library of packed FMUs to `gyrator_cli::main`, and does nothing else.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// The library of packed FMUs, which Cargo has compiled before this file: programs wait for libraries among their dependencies.
#[cfg(feature = "packed-fmu")]
static PACKED_FMU: &[u8] = include_bytes!(env!("GYRATOR_PACKED_FMU"));
#[cfg(not(feature = "packed-fmu"))]
static PACKED_FMU: &[u8] = &[];

fn main() -> ExitCode {
    gyrator_cli::main(PACKED_FMU)
}
