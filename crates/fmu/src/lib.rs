//! Loads FMI 2.0 co-simulation FMUs.
//!
//! The engine, the validator, replays, SSP packages and workers call it. It never decides when an FMU steps, and
//! never unloads a library.
//!
//! ```no_run
//! use gyrator_fmu::{Fmu, InstanceOptions, StepOutcome};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let fmu = Fmu::open("BouncingBall.fmu".as_ref())?;
//! let height = fmu.description().variable("h").ok_or("no h")?.value_reference;
//! let mut ball = fmu.instantiate("ball", &InstanceOptions::default())?;
//! ball.setup_experiment(None, 0.0, None)?;
//! ball.enter_initialization_mode()?;
//! ball.exit_initialization_mode()?;
//! let mut value = [0.0];
//! for step in 0..100 {
//!     let outcome = ball.do_step(f64::from(step) * 0.01, 0.01, true)?;
//!     assert_eq!(outcome, StepOutcome::Done);
//!     ball.get_real(&[height], &mut value)?;
//! }
//! ball.terminate()?;
//! # Ok(())
//! # }
//! ```
//!
//! Real FMUs break many rules. A tolerable violation is a [`Warning`]; any other is an error
//! that names the file, the line, the library, the symbol or the variable. Nothing that an FMU
//! returns, logs or describes makes this crate panic. An FMU runs in this process, though: one
//! that crashes takes the process with it.
//!
//! The [threads](thread_team) that step FMUs are also here.
//!
//! Numbers such as C-26 and R-18 in comments and tests name points of the project's lists of FMI
//! conformance (C) and of faults to survive (R).

mod archive;
mod c_library;
mod compiling;
mod contents;
mod description;
mod elf;
mod encoding;
mod error;
mod file_marks;
pub mod flight_recorder;
mod float_control;
mod fmu;
mod functions;
mod instance;
mod kept_files;
pub mod leftovers;
mod library;
mod library_file;
mod limited_command;
mod logger;
pub mod memory;
mod memory_directory;
#[cfg(target_os = "linux")]
mod memory_file;
mod needs;
mod packages;
mod plain_path;
mod platform;
mod process_directory;
mod python;
mod search_path;
mod sharing;
mod surroundings;
pub mod thread_team;
mod unpacked;
mod warning;
pub mod xml;

pub use archive::{Limits, why_unreadable};
pub use compiling::Compiler;
pub use description::*;
pub use elf::{exported_symbols, needed_libraries};
pub use encoding::{decode as decode_description, decode_file as decode_xml};
pub use error::{CallError, LoadError, OpenError, Refusal, Status};
pub use fmi2_abi::{Function, SlaveState};
pub use fmu::{Fmu, OpenOptions, Peek, loaded_copies};
pub use functions::{REQUIRED_FUNCTIONS, required_functions};
pub use instance::{
    CallResult, FmuState, Held, Instance, InstanceOptions, Interruption, LONGEST_STATE, Lane,
    Ports, StepOutcome, Violations,
};
pub use library::LibraryUse;
pub use needs::{NeededLibrary, Needs};
pub use sharing::{Sharing, claim_process, process_users};
pub use surroundings::Change;
pub use unpacked::UnpackedArchive;
pub use warning::{Position, Warning};
