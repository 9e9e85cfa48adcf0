//! Reads descriptions (SSP 5).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use gyrator_system::{Problem, Spanned};

use crate::annotations;
use crate::links::{connections, connector_kind};
use crate::package::Reference;
use crate::parameters::{self, bindings, resolve, root};
use crate::structure::{
    ComponentNode, Connector, ConnectorKind, Description, Dictionary, ElementNode, ReferenceNode,
    SystemNode, Unit,
};
use crate::tree::{Element, ORIGIN, Reader};
use crate::unit::{Enumerations, Units, enumerations, units};
use crate::vectors::scalars;

/// Descriptions within descriptions.
const MAX_NESTING: usize = 16;

/// The facts that the elements of one description share.
struct Context {
    units: Units,
    enumerations: Enumerations,
    /// The files that are being read, each by one in the file before.
    open: Vec<PathBuf>,
    known: parameters::Known,
    supplements: Vec<Range<usize>>,
    macro_step: Option<Spanned<f64>>,
}

/// Reads the description of the package.
pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Description> {
    let file = reader.package.description();
    if let Some(found) = reader.package.misplaced() {
        let message = format!(
            "there is no {} but {}: move what is in that folder up, or pack it without the folder",
            file.shown.display(),
            found.display()
        );
        reader.error("misplaced-description", message, &(0..0));
        return None;
    }
    let mut known = parameters::Known::default();
    read_file(&file, &(0..0), &mut Vec::new(), &mut known, reader)
}

fn read_file(
    file: &Reference,
    place: &Range<usize>,
    open: &mut Vec<PathBuf>,
    known: &mut parameters::Known,
    reader: &mut Reader<'_>,
) -> Option<Description> {
    if open.contains(&file.path) || open.len() >= MAX_NESTING {
        let message = format!(
            "{} is part of itself, or nested too deeply",
            file.shown.display()
        );
        reader.error("nested-too-deeply", message, place);
        return None;
    }
    let (text, start) = reader.open(file, place)?;
    let tree = reader.tree(&text, start)?;
    let root = root("SystemStructureDescription", tree.root(), reader)?;
    root.expect(
        ORIGIN,
        &["System", "Enumerations", "Units", "DefaultExperiment"],
        reader,
    );
    open.push(file.path.clone());
    let mut context = Context {
        units: units(root, reader),
        enumerations: enumerations(root, reader),
        open: std::mem::take(open),
        known: std::mem::take(known),
        supplements: Vec::new(),
        macro_step: None,
    };
    let system = root.child("System");
    if system.is_none() {
        let message = "`SystemStructureDescription` needs the element `System`".to_owned();
        reader.error("missing-element", message, &root.span());
    }
    let experiment = root.child("DefaultExperiment");
    let (mut start_time, mut stop_time) = (None, None);
    if let Some(experiment) = experiment {
        experiment.expect(&["startTime", "stopTime"], &[], reader);
        start_time = experiment.number("startTime", reader);
        stop_time = experiment.number("stopTime", reader);
        let found = annotations::read(experiment, reader);
        context.macro_step = found.macro_step;
        context.supplements.extend(found.supplements);
    }
    let system = system.and_then(|system| context.system(system, reader));
    context.open.pop();
    *open = context.open;
    *known = context.known;
    Some(Description {
        system: system?,
        start_time,
        stop_time,
        macro_step: context.macro_step,
        supplements: context.supplements,
        units: context.units,
        enumerations: context.enumerations,
    })
}

/// Children of any element of a system.
const OF_ELEMENTS: [&str; 2] = ["Connectors", "ParameterBindings"];

impl Context {
    fn system(&mut self, element: Element<'_>, reader: &mut Reader<'_>) -> Option<SystemNode> {
        let children = [
            &OF_ELEMENTS[..],
            &["Elements", "Connections", "SignalDictionaries"],
        ]
        .concat();
        element.expect(&["name"], &children, reader);
        let found = annotations::read(element, reader);
        // Annotations of the outermost system come first, and count.
        self.macro_step = self.macro_step.take().or(found.macro_step);
        self.supplements.extend(found.supplements);
        let mut elements: Vec<ElementNode> = Vec::new();
        let mut names = BTreeSet::new();
        for list in element.named("Elements") {
            list.expect(
                &[],
                &["Component", "System", "SignalDictionaryReference"],
                reader,
            );
            for child in list.children() {
                let Some(node) = self.element(child, reader) else {
                    continue;
                };
                let name = node.name();
                if !names.insert(name.value.clone()) {
                    let message = format!("there are two elements `{}`", name.value);
                    reader.error("duplicate-name", message, &name.span);
                }
                elements.push(node);
            }
        }
        let dictionaries = element.listed("SignalDictionaries", "SignalDictionary");
        let dictionaries = dictionaries
            .into_iter()
            .filter_map(|dictionary| self.dictionary(dictionary, reader));
        Some(SystemNode {
            dictionaries: dictionaries.collect(),
            name: name_of(element, reader)?,
            connectors: self.connectors(element, reader),
            bindings: bindings(element, &mut self.known, reader),
            elements,
            connections: connections(element, reader),
        })
    }

    fn element(&mut self, element: Element<'_>, reader: &mut Reader<'_>) -> Option<ElementNode> {
        match element.name() {
            "System" => self.system(element, reader).map(ElementNode::System),
            "Component" => self.component(element, reader),
            "SignalDictionaryReference" => {
                element.expect(&["name", "dictionary"], &OF_ELEMENTS, reader);
                let name = name_of(element, reader);
                let dictionary = element.required("dictionary", reader);
                Some(ElementNode::Reference(ReferenceNode {
                    name: name?,
                    dictionary: dictionary?,
                    connectors: self.connectors(element, reader),
                }))
            }
            _ => None,
        }
    }

    /// A component that cannot be read keeps its place, so that connections to it are not reported as well.
    fn component(&mut self, element: Element<'_>, reader: &mut Reader<'_>) -> Option<ElementNode> {
        let name = name_of(element, reader)?;
        let node = self.described_component(element, &name, reader);
        Some(node.unwrap_or_else(|| {
            ElementNode::Component(ComponentNode {
                name,
                fmu: Spanned::unplaced(PathBuf::new()),
                is_proxy: false,
                connectors: BTreeMap::new(),
                bindings: Vec::new(),
                step_size: None,
            })
        }))
    }

    fn described_component(
        &mut self,
        element: Element<'_>,
        name: &Spanned<String>,
        reader: &mut Reader<'_>,
    ) -> Option<ElementNode> {
        element.expect(
            &["name", "type", "source", "implementation"],
            &OF_ELEMENTS,
            reader,
        );
        let kind = element.text("type");
        let implementation = element.text("implementation");
        let others = |how: &&Spanned<String>| !matches!(&*how.value, "any" | "CoSimulation");
        if let Some(how) = implementation.as_ref().filter(others) {
            let thing = format!(
                "`implementation=\"{}\"`; the FMU runs as co-simulation",
                how.value
            );
            reader.unsupported(&thing, &how.span);
        }
        // Without a type, and with the one of FMUs, it is an FMU.
        let is_system = match kind.as_ref().map(|kind| (&*kind.value, &kind.span)) {
            None | Some(("application/x-fmu-sharedlibrary", _)) => false,
            Some(("application/x-ssp-definition", _)) => true,
            Some((other, span)) => {
                let message = format!("components of the type {other} are not supported");
                reader.problems.push(
                    Problem::error("not-supported", message)
                        .at(span)
                        .help("supported are FMUs and `.ssd` files"),
                );
                return None;
            }
        };
        let Some(source) = element.text("source").filter(|uri| !uri.value.is_empty()) else {
            let message = format!("`{}` has no `source`: there is no FMU to run", name.value);
            let help = "SSP 2.0 allows components without a source in templates; give it the path of an FMU";
            let problem = Problem::error("no-source", message).at(&element.span());
            reader.problems.push(problem.help(help));
            return None;
        };
        let (file, is_proxy) = match reader.package.fmu(&source.value) {
            Ok(found) => found,
            Err(message) => {
                reader.error("bad-source", message, &source.span);
                return None;
            }
        };
        if is_system {
            return self
                .inner_system(element, name, &file, &source.span, reader)
                .map(ElementNode::System);
        }
        let annotations = annotations::read(element, reader);
        Some(ElementNode::Component(ComponentNode {
            name: name.clone(),
            fmu: Spanned::new(file.path, source.span),
            is_proxy,
            connectors: self.connectors(element, reader),
            bindings: bindings(element, &mut self.known, reader),
            step_size: annotations.step_size,
        }))
    }

    /// A description that is a component of this one.
    fn inner_system(
        &mut self,
        element: Element<'_>,
        name: &Spanned<String>,
        file: &Reference,
        place: &Range<usize>,
        reader: &mut Reader<'_>,
    ) -> Option<SystemNode> {
        let inner = read_file(file, place, &mut self.open, &mut self.known, reader)?;
        // Parameter sets in it refer to its definitions.
        inner.units.into_iter().for_each(|(name, unit)| {
            self.units.entry(name).or_insert(unit);
        });
        inner.enumerations.into_iter().for_each(|(name, items)| {
            self.enumerations.entry(name).or_insert(items);
        });
        let mut system = inner.system;
        system.name = name.clone();
        // As if they came last in the system itself (SSP 5.2.2).
        system
            .bindings
            .extend(bindings(element, &mut self.known, reader));
        Some(system)
    }

    fn connectors(
        &self,
        element: Element<'_>,
        reader: &mut Reader<'_>,
    ) -> BTreeMap<String, Connector> {
        let mut connectors = BTreeMap::new();
        for connector in element.listed("Connectors", "Connector") {
            let Some(name) = connector.required("name", reader) else {
                continue;
            };
            if let Some(dimension) = connector.child("Dimension") {
                let message = format!("the array connector `{}`", name.value);
                reader.unsupported(&message, &dimension.span());
            }
            let kind = connector.required("kind", reader);
            let kind = kind.map_or(ConnectorKind::Open, |kind| connector_kind(&kind, reader));
            for (variable, default) in scalars(connector, &name.value, reader) {
                let described = Connector {
                    kind,
                    unit: self.unit(connector),
                    default,
                    span: name.span.clone(),
                };
                if connectors.insert(variable, described).is_some() {
                    let message = "there are two connectors of this name".to_owned();
                    reader.error("duplicate-name", message, &name.span);
                }
            }
        }
        connectors
    }

    /// The unit of the type of a connector or dictionary entry.
    fn unit(&self, element: Element<'_>) -> Option<Unit> {
        let name = element.children().find_map(|child| child.text("unit"))?;
        // Tools write an empty text if they know no unit.
        let name = Some(name).filter(|name| !name.value.trim().is_empty())?;
        Some(Unit {
            base: self.units.get(&name.value).copied(),
            name: name.value,
        })
    }

    fn dictionary(&self, element: Element<'_>, reader: &mut Reader<'_>) -> Option<Dictionary> {
        element.expect(&["name", "type", "source"], &["SignalDictionary"], reader);
        let name = name_of(element, reader)?;
        let source = element.text("source").filter(|uri| !uri.value.is_empty());
        let entries = match source {
            None => element
                .child("SignalDictionary")
                .map(|inline| self.entries(inline, reader)),
            Some(uri) => {
                let file = resolve(&uri, reader)?;
                let (text, start) = reader.open(&file, &uri.span)?;
                let tree = reader.tree(&text, start)?;
                let root = root("SignalDictionary", tree.root(), reader)?;
                Some(self.entries(root, reader))
            }
        };
        Some(Dictionary {
            name,
            entries: entries.unwrap_or_default(),
        })
    }

    fn entries(
        &self,
        element: Element<'_>,
        reader: &mut Reader<'_>,
    ) -> Vec<(String, Option<Unit>)> {
        element.expect(
            ORIGIN,
            &["DictionaryEntry", "Enumerations", "Units"],
            reader,
        );
        let own = units(element, reader);
        let mut entries = Vec::new();
        for entry in element.named("DictionaryEntry") {
            let mut unit = self.unit(entry);
            if let Some(unit) = &mut unit {
                unit.base = own.get(&unit.name).copied().or(unit.base.take());
            }
            if let Some(name) = entry.required("name", reader) {
                entries.push((name.value, unit));
            }
        }
        entries
    }
}

/// The name of an element, which must not be empty (SSP 5.2).
fn name_of(element: Element<'_>, reader: &mut Reader<'_>) -> Option<Spanned<String>> {
    let name = element.required("name", reader)?;
    if name.value.is_empty() {
        let message = format!("the name of a `{}` is empty", element.name());
        reader.error("empty-name", message, &name.span);
    }
    Some(name)
}

/// The names of all parameter sets of a system and of the systems in it.
pub(crate) fn parameter_sets(system: &SystemNode) -> BTreeSet<String> {
    let names = |bindings: &[parameters::Binding]| {
        let names = bindings
            .iter()
            .map(|binding| binding.set.name.value.clone());
        names.collect::<Vec<_>>()
    };
    let mut found: BTreeSet<_> = names(&system.bindings).into_iter().collect();
    for element in &system.elements {
        match element {
            ElementNode::Component(component) => found.extend(names(&component.bindings)),
            ElementNode::System(system) => found.extend(parameter_sets(system)),
            ElementNode::Reference(_) => {}
        }
    }
    found
}
