//! The parts of a system that the standard cannot express, as the text of a system file.

use gyrator_system::{Component, Connection, Experiment, Spanned, SystemFile, toml_file};

use super::has_fmu;
use crate::change::Change;

/// The tables of a system file that a description cannot express; `None` if it expresses all.
pub(super) fn text(system: &SystemFile) -> Option<String> {
    let mut rest = SystemFile::new(system.source.path.clone());
    let nothing = toml_file::to_toml(&rest);
    rest.experiment = Experiment {
        start_time: None,
        stop_time: None,
        step_size: None,
        ..system.experiment.clone()
    };
    rest.components = system.components.iter().filter_map(unsaid).collect();
    let connections = system.connections.iter();
    let connections = connections.filter(|connection| has_more(system, connection));
    rest.connections = connections.cloned().collect();
    rest.bonds.clone_from(&system.bonds);
    rest.interface_models.clone_from(&system.interface_models);
    // The end of a CDATA section can stand in a string only.
    let text = toml_file::to_toml(&rest).replace("]]>", "]]\\u003e");
    (text != nothing).then_some(text)
}

/// Whether there is more to a connection than an element of the description says.
fn has_more(system: &SystemFile, connection: &Connection) -> bool {
    let (from, to) = (&connection.from.value, &connection.to.value);
    let mut said = Connection::new(from.clone(), to.clone());
    let change = Change::of(connection);
    // Not every table has a mapping in the standard.
    let is_table = change.table.is_some();
    change.apply(&mut said, &(0..0));
    is_table || toml_text(&said) != toml_text(connection) || !joins_fmus(system, connection)
}

/// A connection as the text of a system file.
fn toml_text(connection: &Connection) -> String {
    let mut system = SystemFile::new("");
    system.connections.push(connection.clone());
    toml_file::to_toml(&system)
}

/// Whether both ends are components that the standard can describe.
pub(super) fn joins_fmus(system: &SystemFile, connection: &Connection) -> bool {
    let is_fmu = |port: &Spanned<gyrator_system::Port>| {
        system.component(&port.value.component).is_some_and(has_fmu)
    };
    is_fmu(&connection.from) && is_fmu(&connection.to)
}

/// A component with what is said of it nowhere else; `None` if there is nothing.
fn unsaid(component: &Component) -> Option<Component> {
    if !has_fmu(component) {
        return Some(component.clone());
    }
    let mut rest = component.clone();
    rest.fmu = Spanned::unplaced("".into());
    rest.step_size = None;
    rest.start_values.clear();
    for path in &mut rest.library_path {
        // The folder of the description is another one.
        path.value = std::path::absolute(&path.value).unwrap_or(path.value.clone());
    }
    let mut nothing = Component::new("", "");
    nothing.name = rest.name.clone();
    nothing.fmu = rest.fmu.clone();
    (rest != nothing).then_some(rest)
}
