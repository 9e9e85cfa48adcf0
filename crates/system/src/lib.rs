//! What a system file says: components, connections, power bonds and the experiment, in names.

#![forbid(unsafe_code)]

mod problem;
mod system_file;

pub use problem::{Problem, Problems, Severity, Source, Spanned, closest};
pub use system_file::{Bond, Choice, Component, Connection, Experiment, Port, SystemFile, Value};
