//! Makes an FMI 2.0 co-simulation FMU from a model of about sixty lines of Rust.

mod crash;
mod description;
mod export;
#[doc(hidden)]
pub mod ffi;
mod in_process;
mod input_curve;
mod integrator;
mod model;
mod slave;
mod table;
pub mod unit;
mod variable;

pub use crash::segmentation_fault;
pub use description::{Description, describe};
pub use in_process::{InProcess, Saved};
pub use integrator::Integrator;
pub use model::{Fault, Model};
pub use table::{Scalar, ValueReference};
pub use variable::{Access, Causality, Enumeration, Settings, Variability, Variable};
