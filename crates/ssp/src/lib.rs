//! Systems of the SSP standard: System Structure and Parameterization 1.0 and 2.0, of the Modelica
//! Association (<https://ssp-standard.org>).
//!
//! It also reads systems of other tools: of the Open Simulation Platform, MasterSim, and INTO-CPS.
//!
//! The engine and the command line call it. It loads no library, runs nothing, and trusts neither archives nor XML.
//!
//! [`read`] makes a [`SystemFile`](gyrator_system::SystemFile) of an `.ssp`, an `.ssd` or a folder;
//! [`write()`] makes an `.ssp` of any system. Section numbers in comments refer to SSP 2.0.

#![forbid(unsafe_code)]

mod annotations;
mod change;
mod connections;
mod conversion;
mod description;
mod given;
mod into_cps;
mod links;
mod mastersim;
mod models;
mod net;
mod osp;
mod package;
mod parameters;
mod read;
mod start_values;
mod structure;
mod transformation;
mod tree;
mod unit;
mod vectors;
mod write;

pub use into_cps::{is_into_cps, read_into_cps};
pub use mastersim::{is_mastersim, read_mastersim};
pub use osp::{PowerPort, is_osp, power_ports, read_osp};
pub use package::is_ssp;
pub use read::{Options, ReadError, read};
pub use write::{WriteError, write, write_with, xml};
