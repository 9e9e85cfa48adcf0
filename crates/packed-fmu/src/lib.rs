//! A coupled system as one FMU of FMI 2.0 for co-simulation, with the master inside.
//!
//! The crate is two things. As a `cdylib` it is the library of every packed FMU: it reads the system, the FMUs in it and the
//! table of its variables from the FMU's resources, and runs them by `gyrator`. As a crate it [packs](pack())
//! such FMUs: `gyrator pack`.

#![forbid(unsafe_code)]

mod contents;
mod instance;
mod location;
mod pack;
mod slots;

pub use pack::{PackError, PackOptions, Packed, SYSTEM_FILE, pack};

fmu_kit::export!(simulation instance::PackedSystem);
