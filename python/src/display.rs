//! Systems as Jupyter shows them.

use gyrator::system_file::{Component, Connection, SystemFile};
use gyrator_system::toml_file::to_toml;
use pyo3::prelude::*;

/// In place of an FMU's file, for units in Python.
const IN_CODE: &str = "in code";

/// The parts of a system as HTML, by the Python part of the package.
pub(crate) fn html(py: Python<'_>, system: &SystemFile) -> PyResult<String> {
    let components: Vec<_> = system.components.iter().map(component).collect();
    let connections: Vec<_> = system.connections.iter().map(connection).collect();
    let bonds: Vec<_> = system
        .bonds
        .iter()
        .map(|bond| {
            let correction = bond.correction.as_ref();
            let correction = correction.map(|choice| choice.name.value.clone());
            let name = bond.name.value.clone();
            (name, axes(&bond.effort), axes(&bond.flow), correction)
        })
        .collect();
    let module = py.import("gyrator._display")?;
    let made = module.getattr("of_system")?;
    let parts = (components, connections, bonds, file(system));
    made.call1(parts)?.extract()
}

/// The text of a file of the system, for its graph.
pub(crate) fn file(system: &SystemFile) -> String {
    let mut system = system.clone();
    for component in &mut system.components {
        if component.block.is_none() && component.fmu.value.file_name().is_none() {
            component.fmu.value = IN_CODE.into();
        }
    }
    to_toml(&system)
}

/// The numbers of components, connections and bonds.
pub(crate) fn text(system: &SystemFile) -> String {
    let count = |number: usize, noun: &str| match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    };
    let components = count(system.components.len(), "component");
    let connections = count(system.connections.len(), "connection");
    let bonds = count(system.bonds.len(), "bond");
    format!("<gyrator.System: {components}, {connections}, {bonds}>")
}

/// Name, FMU or block, communication step.
fn component(component: &Component) -> (String, String, Option<f64>) {
    let unit = match &component.block {
        Some(block) => block.name.value.clone(),
        None => {
            let file = component.fmu.value.file_name();
            file.map_or(IN_CODE.to_owned(), |name| {
                name.to_string_lossy().into_owned()
            })
        }
    };
    let step = component.step_size.as_ref().map(|step| step.value);
    (component.name.value.clone(), unit, step)
}

/// Output, input, gain, offset.
fn connection(connection: &Connection) -> (String, String, Option<f64>, Option<f64>) {
    let gain = connection.gain.as_ref().map(|gain| gain.value);
    let offset = connection.offset.as_ref().map(|offset| offset.value);
    let (from, to) = ends(connection);
    (from, to, gain, offset)
}

fn ends(connection: &Connection) -> (String, String) {
    let (from, to) = (&connection.from.value, &connection.to.value);
    (from.to_string(), to.to_string())
}

/// The axes of one side of a bond.
fn axes(connections: &[Connection]) -> String {
    let axes = connections.iter().map(ends);
    let axes = axes.map(|(from, to)| format!("{from} \u{2192} {to}"));
    axes.collect::<Vec<_>>().join(", ")
}
