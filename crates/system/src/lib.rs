//! Contents of a system file: components, connections, power bonds and the experiment, by name.
//!
//! All that reads, writes, draws or runs a system calls it. It resolves no name, opens no FMU and loads no library.
//!
//! [`toml_file`] reads and writes the native format. Every reader yields a [`SystemFile`], which
//! can be edited and built in code, and [`check`] holds the rules that do not depend on the format.

#![forbid(unsafe_code)]

pub mod toml_file;

mod check;
mod edit;
mod host;
mod problem;
mod scenario;
mod short;
mod system_file;

pub use check::{EXCHANGES, check};
pub use edit::MissingTime;
pub use host::HostUrl;
pub use problem::{Problem, Problems, Severity, Source, Spanned, closest, did_you_mean};
pub use scenario::{Scenario, TimedAction};
pub use short::{figure, short};
pub use system_file::{
    Bond, Choice, Component, Connection, Experiment, InterfaceModel, LibraryUse, NumberConversion,
    OuterEnd, OuterSignal, Port, RemoteHost, Restart, SystemFile, Tolerance, TypeConversion,
    Unpacked, Value,
};
