//! Project files of MasterSim (<https://github.com/ghorwin/MasterSim>), `.msim`, as its `MSIM_Project.cpp` reads them.

mod algorithm;
mod graph;
mod lines;
mod simulators;

use std::path::Path;

use gyrator_fmu::Limits;
use gyrator_system::{Problem, SystemFile};

use crate::models::Models;
use crate::package::Package;
use crate::read::{ReadError, finish};
use crate::tree::Reader;
use lines::{Settings, lines};

/// Whether a path is a project of MasterSim, by its file extension.
#[must_use]
pub fn is_mastersim(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("msim"))
}

/// Reads a project of MasterSim. Warnings come with the system.
///
/// Simulators become components of their names, also CSV and TSV files: those are blocks. Method, exchange and
/// extrapolation are the ones that MasterSim's master mode has.
///
/// # Errors
///
/// All problems of the file, if one of them is an error.
pub fn read_mastersim(
    path: &Path,
    limits: Limits,
) -> Result<(SystemFile, Vec<Problem>), ReadError> {
    let package = Package::of_file(path, "");
    let mut reader = Reader::new(&package, limits);
    let system = system(&mut reader);
    finish(system, Some(&[]), reader)
}

fn system(reader: &mut Reader<'_>) -> SystemFile {
    let mut system = SystemFile::new("");
    let package = reader.package;
    let Some((text, start)) = reader.open(&package.description(), &(0..0)) else {
        return system;
    };
    let all = lines(&text, start);
    let of = |key: &'static str| all.iter().filter(move |line| line.key.value == key);
    let mut models = Models::new(reader.limits);
    let (components, cycles) = simulators::simulators(of("simulator"), reader);
    system.components = components;
    graph::parameters(of("parameter"), &mut system.components, &mut models, reader);
    graph::connections(of("graph"), &mut system, &mut models, reader);
    let held = graph::hold(&mut system, reader);
    let settings = Settings::new(&all, reader);
    let order = simulators::in_order(&system.components, &cycles, &held);
    system.experiment = algorithm::experiment(&settings, order, reader);
    algorithm::outputs(&settings, &system.components, &mut models, reader);
    system.components.extend(held);
    system
}
