//! The C interface of FMI 2.0 for co-simulation, as plain data.
//!
//! Both sides of the interface use this crate: the loader, which calls the functions of an FMU,
//! and the exporter, which implements them. It holds no code that runs, but [scalar types and
//! structures](c_data), [function signatures](signature) and the [table](call_state) of functions
//! that may be called in each state. It also has the [causality](Causality), [variability](Variability)
//! and [initial](Initial) value of variables.
//!
//! Source: Functional Mock-up Interface for Model Exchange and Co-Simulation, version 2.0.5,
//! sections 2.1 (common) and 4.2 (co-simulation), headers `fmi2TypesPlatform.h` and
//! `fmi2FunctionTypes.h`.
//!
//! It never calls a function of an FMU, and has no dependencies.

#![forbid(unsafe_code)]

pub mod c_data;
pub mod call_state;
mod named;
pub mod signature;
mod variable;

pub use c_data::*;
pub use call_state::{Function, SlaveState, States};
pub use variable::{Causality, Initial, Variability};
