//! Systems of the Open Simulation Platform (<https://open-simulation-platform.github.io>): an
//! `OspSystemStructure.xml` and the `*_OspModelDescription.xml` files beside it, as libcosim reads
//! them.

mod connections;
mod ends;
mod experiment;
mod functions;
mod groups;
mod ports;
mod simulators;

use std::path::Path;

use gyrator_fmu::Limits;
use gyrator_system::{Problem, SystemFile};

use crate::package::Package;
use crate::read::{ReadError, finish};
use crate::tree::Reader;
use ends::Ends;
use groups::Groups;
pub use ports::{PowerPort, power_ports};

/// The description that every folder of a system has.
const DESCRIPTION: &str = "OspSystemStructure.xml";

/// Whether a path is a system of the Open Simulation Platform: an `.xml` file, or a folder that holds
/// an `OspSystemStructure.xml`.
#[must_use]
pub fn is_osp(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("xml"))
        || path.join(DESCRIPTION).is_file()
}

/// Reads a system from an `OspSystemStructure.xml`, under any name, or from its folder. Warnings come
/// with the system.
///
/// Simulators and functions become components of their names. A `VectorSum` becomes a component for
/// each dimension, `NAME[0]`, `NAME[1]`, …. Ports whose two variables multiply to a power become bonds.
///
/// # Errors
///
/// All problems of all files, if one of them is an error.
pub fn read_osp(path: &Path, limits: Limits) -> Result<(SystemFile, Vec<Problem>), ReadError> {
    let package = Package::of_file(path, DESCRIPTION);
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
    let Some(tree) = reader.tree(&text, start) else {
        return system;
    };
    let root = tree.root();
    if root.name() != "OspSystemStructure" {
        let message = format!(
            "the root element is `{}`, not `OspSystemStructure`",
            root.name()
        );
        reader.error("wrong-root", message, &root.span());
        return system;
    }
    let known = [
        "StartTime",
        "EndTime",
        "BaseStepSize",
        "Algorithm",
        "Description",
        "Simulators",
        "Functions",
        "Connections",
        "EccoConfiguration",
    ];
    root.expect(&["version"], &known, reader);
    system.experiment = experiment::experiment(root, reader);
    let macro_step = system.experiment.step_size.clone();
    let simulators = simulators::simulators(root, macro_step.as_ref(), reader);
    let functions = functions::functions(root, reader);
    let groups = Groups::new(&simulators, reader);
    let ends = Ends::new(&simulators, &functions, &groups, reader.limits);
    connections::connect(&mut system, root, ends, reader);
    system.components = simulators;
    for function in functions {
        system.components.extend(function.components);
    }
    system
}
