//! Groups of variables: the `*_OspModelDescription.xml` of an FMU.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use gyrator_fmu::{ModelDescription, UnpackedArchive};
use gyrator_system::{Component, Spanned};

use crate::models::Models;
use crate::package::Reference;
use crate::tree::{Element, Reader};

/// End of the name of a description.
const SUFFIX: &str = "OspModelDescription.xml";
/// Its root element.
const ROOT: &str = "OspModelDescription";

/// Ports whose two variables have a power as their product: type, effort, flow.
const POWER_PORTS: [(&str, &str, &str); 4] = [
    ("LinearMechanicalPort", "Force", "LinearVelocity"),
    ("AngularMechanicalPort", "Torque", "AngularVelocity"),
    ("ElectromagneticPort", "Voltage", "Current"),
    ("HydraulicPort", "Pressure", "VolumeFlowRate"),
];

/// A group of variables, with the groups in it.
#[derive(Clone)]
pub(super) struct Group {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) variables: Vec<Spanned<String>>,
    pub(super) groups: Vec<Group>,
}

impl Group {
    /// Effort and flow of a port that carries a power.
    pub(super) fn power(&self) -> Option<(&Group, &Group)> {
        self.power_port().map(|(_, effort, flow)| (effort, flow))
    }

    /// Its variables, and the variables of the groups in it.
    pub(super) fn all_variables(&self) -> Vec<&Spanned<String>> {
        let inner = self.groups.iter().flat_map(Self::all_variables);
        self.variables.iter().chain(inner).collect()
    }

    /// This group and all groups in it.
    fn with_inner(&self) -> Vec<&Self> {
        let inner = self.groups.iter().flat_map(Self::with_inner);
        std::iter::once(self).chain(inner).collect()
    }

    /// Type, effort and flow of a port that carries a power.
    pub(super) fn power_port(&self) -> Option<(&'static str, &Group, &Group)> {
        let mut ports = POWER_PORTS.iter();
        let (port, effort, flow) = ports.find(|(port, ..)| *port == self.kind)?;
        let group = |kind: &str| self.groups.iter().find(|group| group.kind == *kind);
        Some((port, group(effort)?, group(flow)?))
    }
}

/// The groups of all simulators by their names.
pub(super) struct Groups(BTreeMap<String, BTreeMap<String, Group>>);

impl Groups {
    /// Reads the descriptions that lie beside the FMUs, beside the system or in the FMUs, or stand in vendor
    /// annotations.
    pub(super) fn new(simulators: &[Component], reader: &mut Reader<'_>) -> Self {
        let mut models = Models::new(reader.limits);
        let mut of_files = BTreeMap::new();
        let mut of_simulators = BTreeMap::new();
        for simulator in simulators {
            let Some(model) = models.of(&simulator.fmu.value) else {
                continue;
            };
            let name = format!("{}_{SUFFIX}", model.model_name);
            let file = file_of(simulator, &name, reader);
            let place = file
                .as_ref()
                .map_or(&simulator.fmu.value, |file| &file.path);
            let groups = of_files
                .entry(place.clone())
                .or_insert_with(|| match &file {
                    Some(file) => read(file, &simulator.fmu.span, reader),
                    None => in_fmu(simulator, &model, reader),
                });
            of_simulators.insert(simulator.name.value.clone(), groups.clone());
        }
        Self(of_simulators)
    }

    /// The groups of this name: the one that a simulator has, or else those in its groups.
    pub(super) fn named(&self, simulator: &str, group: &str) -> Vec<&Group> {
        if let Some(found) = self.0.get(simulator).and_then(|all| all.get(group)) {
            return vec![found];
        }
        let inner = self.all(simulator).flat_map(Group::with_inner);
        inner.filter(|inner| inner.name == group).collect()
    }

    /// All groups of a simulator.
    pub(super) fn all(&self, simulator: &str) -> impl Iterator<Item = &Group> {
        self.0.get(simulator).into_iter().flat_map(BTreeMap::values)
    }

    /// Names of the groups of a simulator, and of those in them.
    pub(super) fn names(&self, simulator: &str) -> Vec<&str> {
        let groups = self.all(simulator).flat_map(Group::with_inner);
        groups.map(|group| group.name.as_str()).collect()
    }
}

fn file_of(simulator: &Component, name: &str, reader: &Reader<'_>) -> Option<Reference> {
    // A model's name that leads to another folder names no file.
    if name.contains(['/', '\\']) {
        return None;
    }
    let beside: Option<PathBuf> = simulator.fmu.value.parent().map(|folder| folder.join(name));
    let beside = beside.filter(|path| path.is_file()).map(|path| Reference {
        shown: path.clone(),
        path,
    });
    let here = || reader.package.resolve(name).ok();
    beside.or_else(|| here().filter(|file| file.path.is_file()))
}

/// The groups of a description in an archive, or else in its vendor annotations.
fn in_fmu(
    simulator: &Component,
    model: &ModelDescription,
    reader: &mut Reader<'_>,
) -> BTreeMap<String, Group> {
    let fmu = &simulator.fmu.value;
    let is_description = |name: &str| {
        let file = name.rsplit('/').next().unwrap_or(name);
        !name.contains("..") && file.ends_with(SUFFIX)
    };
    let found = RefCell::new(None);
    let note = |name: &str| {
        let is_first = is_description(name) && found.borrow().is_none();
        if is_first {
            *found.borrow_mut() = Some(name.to_owned());
        }
        is_first
    };
    let archive = UnpackedArchive::new(fmu, reader.limits, note);
    if let (Ok((archive, _)), Some(name)) = (archive, found.into_inner()) {
        let file = Reference {
            path: archive.path().join(&name),
            shown: fmu.join(&name),
        };
        return read(&file, &simulator.fmu.span, reader);
    }
    for annotation in &model.vendor_annotations {
        if annotation.xml.contains(ROOT) {
            let shown = fmu.join("modelDescription.xml");
            let start = reader.append(&shown, &annotation.xml);
            return groups_of(&annotation.xml, start, reader);
        }
    }
    BTreeMap::new()
}

fn read(
    file: &Reference,
    place: &std::ops::Range<usize>,
    reader: &mut Reader<'_>,
) -> BTreeMap<String, Group> {
    let opened = reader.open(file, place);
    opened.map_or_else(BTreeMap::new, |(text, start)| {
        groups_of(&text, start, reader)
    })
}

/// The groups in the text of a description, which starts at this offset of the source.
fn groups_of(text: &str, start: usize, reader: &mut Reader<'_>) -> BTreeMap<String, Group> {
    let mut groups = BTreeMap::new();
    let Some(tree) = reader.tree(text, start) else {
        return groups;
    };
    let root = tree.root();
    if root.name() != ROOT {
        let message = format!(
            "the root element is `{}`, not `OspModelDescription`",
            root.name()
        );
        reader.error("wrong-root", message, &root.span());
        return groups;
    }
    for list in root.named("VariableGroups") {
        for element in list.children() {
            if let Some(group) = group(element, reader) {
                groups.insert(group.name.clone(), group);
            }
        }
    }
    groups
}

/// A group and all that it holds. The depth of a tree has a limit of its own.
fn group(element: Element<'_>, reader: &mut Reader<'_>) -> Option<Group> {
    let name = element.required("name", reader)?;
    let mut group = Group {
        kind: element.name().to_owned(),
        name: name.value,
        variables: Vec::new(),
        groups: Vec::new(),
    };
    for child in element.children() {
        if child.name() == "Variable" {
            group.variables.extend(child.required("ref", reader));
        } else {
            group.groups.extend(self::group(child, reader));
        }
    }
    Some(group)
}
