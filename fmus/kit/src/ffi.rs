//! The C functions, generic over the model; [`export!`](crate::export) gives them their names.
//!
//! Each function checks its pointers, turns them into slices, and calls the state machine behind
//! `catch_unwind`: a panic becomes `fmi2Fatal` and a log line.

mod arguments;
mod instance;
mod states;
mod values;

/// The types of the C functions.
pub use fmi2_abi as abi;
pub use instance::*;
pub use states::*;
pub use values::*;

#[cfg(test)]
mod tests;
