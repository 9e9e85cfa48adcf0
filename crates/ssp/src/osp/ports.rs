//! Ports of FMUs that carry a power.

use gyrator_fmu::Limits;
use gyrator_system::{Component, SystemFile};

use super::DESCRIPTION;
use super::groups::{Group, Groups};
use crate::package::Package;
use crate::tree::Reader;

/// A port of a component whose products of two variables are a power, as OSP describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerPort {
    /// Name of the component.
    pub component: String,
    /// The type of the port, such as `LinearMechanicalPort`.
    pub kind: &'static str,
    /// Variables of the efforts.
    pub efforts: Vec<String>,
    /// Variables of the flows, in the same order.
    pub flows: Vec<String>,
}

/// The ports of a system of any format that carry a power, and what is wrong with their descriptions. A
/// `*_OspModelDescription.xml` lies beside the FMU, beside the system, in the FMU, or stands in a vendor annotation
/// of its model description.
#[must_use]
pub fn power_ports(system: &SystemFile, limits: Limits) -> (Vec<PowerPort>, Vec<String>) {
    let package = Package::of_file(&system.source.path, DESCRIPTION);
    let mut reader = Reader::new(&package, limits);
    let is_fmu = |component: &&Component| !component.fmu.value.as_os_str().is_empty();
    let fmus: Vec<Component> = system.components.iter().filter(is_fmu).cloned().collect();
    let groups = Groups::new(&fmus, &mut reader);
    let mut ports = Vec::new();
    for component in &fmus {
        let component = &component.name.value;
        for group in groups.all(component) {
            add(component, group, &mut ports);
        }
    }
    let source = &reader.source;
    let problems = reader.problems.iter().map(|problem| {
        let start = problem.span.as_ref().map_or(0, |span| span.start);
        format!("{}: {}", source.file_at(start).0.display(), problem.message)
    });
    (ports, problems.collect())
}

/// Adds a group that is such a port, and those in it.
fn add(component: &str, group: &Group, ports: &mut Vec<PowerPort>) {
    let names = |group: &Group| {
        let names = group.variables.iter();
        names.map(|name| name.value.clone()).collect()
    };
    if let Some((kind, effort, flow)) = group.power_port() {
        ports.push(PowerPort {
            component: component.to_owned(),
            kind,
            efforts: names(effort),
            flows: names(flow),
        });
    }
    for inner in &group.groups {
        add(component, inner, ports);
    }
}
