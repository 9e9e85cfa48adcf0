//! A coupled system as one FMU of FMI 2.0 for co-simulation, with the master inside.
//!
//! The command line calls it to pack, an importer to run. It never loads a library at packing.
//!
//! The crate [packs](pack()) such FMUs: `gyrator pack`. [`PackedSystem`] is what runs in them: it reads the system, the FMUs in it and the
//! table of its variables from the FMU's resources, and runs them by `gyrator`. Its C functions come from the package
//! `gyrator-packed-fmu-library`.

#![forbid(unsafe_code)]

mod contents;
mod instance;
mod location;
mod pack;
mod slots;

pub use instance::PackedSystem;
pub use pack::{PackError, PackOptions, Packed, SYSTEM_FILE, pack};
