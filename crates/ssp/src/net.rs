//! The systems in systems as one net: nodes are connectors, and each has one connection at most
//! that brings values.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use gyrator_fmu::ModelDescription;
use gyrator_system::{Problem, Spanned, did_you_mean};

use crate::conversion::are_alike;
use crate::models::{Models, kind_of, unit_of};
use crate::structure::{
    ComponentNode, ConnectionNode, Connector, ConnectorKind, Description, ElementNode, End,
    ReferenceNode, SystemNode, Unit,
};
use crate::transformation::Transformation;
use crate::tree::Reader;

/// A connector: of a component, of a system, or an entry of a dictionary.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Node {
    /// Number of the component, name of the variable.
    Component(usize, String),
    /// Number of the system, name of the connector.
    System(usize, String),
    /// Number of the dictionary, name of the entry.
    Dictionary(usize, String),
}

/// A connection in the direction of its values.
pub(crate) struct Edge {
    pub(crate) from: Node,
    pub(crate) transformation: Option<Spanned<Transformation>>,
    pub(crate) keeps_unit: bool,
    /// Places of the two ends, source first.
    pub(crate) from_span: Range<usize>,
    pub(crate) to_span: Range<usize>,
    pub(crate) span: Range<usize>,
}

/// An FMU anywhere in the system.
pub(crate) struct FlatComponent<'d> {
    /// Names of the systems around it, without the outermost, and its own, with dots between them.
    pub(crate) name: Spanned<String>,
    pub(crate) node: &'d ComponentNode,
    pub(crate) model: Option<Arc<ModelDescription>>,
}

/// All systems of a description in one.
pub(crate) struct Net<'d> {
    pub(crate) components: Vec<FlatComponent<'d>>,
    /// Every system, the outermost first.
    pub(crate) systems: Vec<&'d SystemNode>,
    /// The elements of each system, by their name.
    pub(crate) inside: Vec<BTreeMap<&'d str, Inside>>,
    /// The connection that brings the values of a connector.
    pub(crate) edges: BTreeMap<Node, Edge>,
    references: Vec<&'d ReferenceNode>,
    units: BTreeMap<Node, Unit>,
}

/// The counterpart of an element of a system.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Inside {
    Component(usize),
    System(usize),
    /// A reference in [`Net::references`] to a dictionary, if there is such a dictionary.
    Dictionary(usize, Option<usize>),
}

impl<'d> Net<'d> {
    pub(crate) fn new(
        description: &'d Description,
        models: &mut Models,
        reader: &mut Reader<'_>,
    ) -> Self {
        let mut net = Self {
            components: Vec::new(),
            systems: Vec::new(),
            inside: Vec::new(),
            edges: BTreeMap::new(),
            references: Vec::new(),
            units: BTreeMap::new(),
        };
        let mut dictionaries = Dictionaries::default();
        net.add(&description.system, "", models, &mut dictionaries, reader);
        net.compare_units(reader);
        for system in 0..net.systems.len() {
            for connection in &net.systems[system].connections {
                net.connect(system, connection, reader);
            }
        }
        net.note_missing_variables(reader);
        net
    }

    /// The unit of a connector: the FMU's, if values can be converted to it, or else the description's.
    /// On the way between components a unit without a definition says nothing.
    pub(crate) fn unit(&self, node: &Node) -> Option<Unit> {
        let described = self.units.get(node).cloned();
        match node {
            Node::Component(..) => Unit::usable(self.unit_in_fmu(node), described),
            _ => described.filter(|unit| unit.base.is_some()),
        }
    }

    /// The unit that the FMU itself gives a connector.
    pub(crate) fn unit_in_fmu(&self, node: &Node) -> Option<Unit> {
        let Node::Component(component, variable) = node else {
            return None;
        };
        let model = self.components[*component].model.as_ref()?;
        unit_of(model, model.variable(variable)?)
    }

    /// A note for each component with connectors that are not variables of its FMU. Connections to them are errors.
    fn note_missing_variables(&self, reader: &mut Reader<'_>) {
        /// More are not read at a glance.
        const LISTED: usize = 5;
        let sources: BTreeSet<&Node> = self.edges.values().map(|edge| &edge.from).collect();
        for (index, flat) in self.components.iter().enumerate() {
            let Some(model) = &flat.model else {
                continue;
            };
            let is_missing = |name: &str| {
                let node = Node::Component(index, name.to_owned());
                let is_connected = self.edges.contains_key(&node) || sources.contains(&node);
                model.variable(name).is_none() && !is_connected
            };
            let connectors = flat.node.connectors.iter();
            let missing: Vec<_> = connectors.filter(|(name, _)| is_missing(name)).collect();
            let Some((_, first)) = missing.first() else {
                continue;
            };
            let names: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
            let more = match names.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown = names[..names.len().min(LISTED)].join(", ");
            let message = format!(
                "the FMU of `{}` has no variables for these connectors, which are ignored: {shown}{more}",
                flat.name.value
            );
            let problem = Problem::warning("unknown-connector", message);
            reader.problems.push(problem.at(&first.span));
        }
    }

    /// A note for each pair of units that an FMU and the description give one connector.
    fn compare_units(&self, reader: &mut Reader<'_>) {
        type Places<'n> = Vec<(&'n Node, &'n Range<usize>)>;
        let mut pairs: BTreeMap<(String, String), Places<'_>> = BTreeMap::new();
        for (node, described) in &self.units {
            let Node::Component(component, name) = node else {
                continue;
            };
            let Some(in_fmu) = self.unit_in_fmu(node) else {
                continue;
            };
            let bases = in_fmu.base.zip(described.base);
            if bases.is_some_and(|(one, other)| !are_alike(&one, &other)) {
                let connector = &self.components[*component].node.connectors[name];
                let pair = (in_fmu.name, described.name.clone());
                pairs.entry(pair).or_default().push((node, &connector.span));
            }
        }
        for ((in_fmu, described), connectors) in pairs {
            let (first, span) = connectors[0];
            let first = self.describe(first);
            let others = match connectors.len() - 1 {
                0 => String::new(),
                1 => " and another connector".to_owned(),
                count => format!(" and {count} other connectors"),
            };
            let message = if in_fmu == described {
                format!(
                    "the FMU and the description define the unit {in_fmu} of `{first}`{others} differently; the FMU's definition counts"
                )
            } else {
                format!(
                    "`{first}`{others}: the unit is {in_fmu} in the FMU and {described} in the description; the FMU's unit counts"
                )
            };
            let problem = Problem::warning("different-unit", message).at(span);
            reader
                .problems
                .push(problem.help("correct the unit of the connector, or leave it out"));
        }
    }

    fn add(
        &mut self,
        system: &'d SystemNode,
        prefix: &str,
        models: &mut Models,
        dictionaries: &mut Dictionaries<'d>,
        reader: &mut Reader<'_>,
    ) -> usize {
        let number = self.systems.len();
        self.systems.push(system);
        self.inside.push(BTreeMap::new());
        self.add_units(&system.connectors, |name| Node::System(number, name));
        dictionaries.enter(system, &mut self.units);
        for element in &system.elements {
            let name = format!("{prefix}{}", element.name().value);
            let inside = match element {
                ElementNode::Component(component) => {
                    let index = self.components.len();
                    self.add_units(&component.connectors, |name| Node::Component(index, name));
                    self.components.push(FlatComponent {
                        name: Spanned::new(name, component.name.span.clone()),
                        model: models.of(&component.fmu.value),
                        node: component,
                    });
                    Inside::Component(index)
                }
                ElementNode::System(inner) => {
                    let prefix = format!("{name}.");
                    Inside::System(self.add(inner, &prefix, models, dictionaries, reader))
                }
                ElementNode::Reference(reference) => {
                    let found = dictionaries.find(&reference.dictionary.value);
                    if found.is_none() {
                        let name = &reference.dictionary;
                        let message = format!("there is no signal dictionary `{}`", name.value);
                        reader.error("unknown-dictionary", message, &name.span);
                    }
                    self.references.push(reference);
                    Inside::Dictionary(self.references.len() - 1, found)
                }
            };
            self.inside[number].insert(&element.name().value, inside);
        }
        dictionaries.leave();
        number
    }

    fn add_units(
        &mut self,
        connectors: &BTreeMap<String, Connector>,
        node: impl Fn(String) -> Node,
    ) {
        for (name, connector) in connectors {
            if let Some(unit) = &connector.unit {
                self.units.insert(node(name.clone()), unit.clone());
            }
        }
    }

    /// Adds a connection in the direction that follows from the kinds of its connectors (SSP 5.4.3,
    /// allowed connections).
    fn connect(&mut self, system: usize, connection: &ConnectionNode, reader: &mut Reader<'_>) {
        let start = self.end(system, &connection.start, reader);
        let end = self.end(system, &connection.end, reader);
        let Some(((start, gives), (end, takes))) = start.zip(end) else {
            return;
        };
        use Flow::{Either, Gives, Takes};
        let is_reversed = match (gives, takes) {
            (Gives, Takes | Either) | (Either, Takes | Either) => false,
            (Takes, Gives | Either) | (Either, Gives) => true,
            (Gives, Gives) | (Takes, Takes) => {
                let verb = match gives {
                    Gives => "give values",
                    _ => "take values",
                };
                let message = format!("the connection has no direction: both ends {verb}");
                reader.error("no-direction", message, &connection.span);
                return;
            }
        };
        let spans = |end: &End| end.connector.span.clone();
        let (mut from, mut to) = (start, end);
        let (mut from_span, mut to_span) = (spans(&connection.start), spans(&connection.end));
        if is_reversed {
            std::mem::swap(&mut from, &mut to);
            std::mem::swap(&mut from_span, &mut to_span);
        }
        let edge = Edge {
            from,
            transformation: connection.transformation.clone(),
            keeps_unit: connection.keeps_unit,
            from_span,
            to_span,
            span: connection.span.clone(),
        };
        let name = self.describe(&to);
        if let Some(first) = self.edges.get(&to) {
            let (line, _) = reader.source.position(first.span.start);
            let message = format!(
                "two connections bring values to `{name}`; the other one stands in line {line}"
            );
            let problem = Problem::error("input-fed-twice", message).at(&edge.to_span);
            reader.problems.push(problem.help("keep one of the two"));
            return;
        }
        self.edges.insert(to, edge);
    }

    /// The node of an end, and whether values leave or enter it as seen from inside the system.
    fn end(&self, system: usize, end: &End, reader: &mut Reader<'_>) -> Option<(Node, Flow)> {
        let node = self.systems[system];
        let name = &end.connector;
        let Some(element) = &end.element else {
            let whole = format!("the system `{}`", node.name.value);
            let flow = match kind_in(&node.connectors, name, &whole, reader)? {
                ConnectorKind::Inward => Flow::Gives,
                ConnectorKind::Outward => Flow::Takes,
                ConnectorKind::Open => Flow::Either,
            };
            return Some((Node::System(system, name.value.clone()), flow));
        };
        let Some(inside) = self.inside[system].get(&*element.value) else {
            let known = self.inside[system].keys().copied();
            let whole = format!("the system `{}`", node.name.value);
            unknown("element", &whole, element, known, reader);
            return None;
        };
        let whole = format!("`{}`", element.value);
        let (node, kind) = match *inside {
            Inside::Component(index) => (
                Node::Component(index, name.value.clone()),
                self.kind(index, name, &whole, reader)?,
            ),
            Inside::System(index) => (
                Node::System(index, name.value.clone()),
                kind_in(&self.systems[index].connectors, name, &whole, reader)?,
            ),
            Inside::Dictionary(reference, dictionary) => {
                let known = self.references[reference].connectors.get(&name.value);
                (
                    Node::Dictionary(dictionary?, name.value.clone()),
                    known.map_or(ConnectorKind::Open, |connector| connector.kind),
                )
            }
        };
        let flow = match kind {
            ConnectorKind::Inward => Flow::Takes,
            ConnectorKind::Outward => Flow::Gives,
            ConnectorKind::Open => Flow::Either,
        };
        Some((node, flow))
    }

    /// The kind of a component's connector, which may be missing if the FMU has the variable.
    fn kind(
        &self,
        index: usize,
        name: &Spanned<String>,
        whole: &str,
        reader: &mut Reader<'_>,
    ) -> Option<ConnectorKind> {
        let component = &self.components[index];
        if let Some(connector) = component.node.connectors.get(&name.value) {
            return Some(connector.kind);
        }
        let Some(model) = &component.model else {
            // The FMU that cannot be read is reported later; names cannot be judged without it.
            return Some(ConnectorKind::Open);
        };
        let variable = model.variable(&name.value);
        if variable.is_none() {
            let known = model.variables.iter().map(|variable| &*variable.name);
            unknown("connector", whole, name, known, reader);
        }
        variable.map(kind_of)
    }

    fn describe(&self, node: &Node) -> String {
        match node {
            Node::Component(component, variable) => {
                format!("{}.{variable}", self.components[*component].name.value)
            }
            Node::System(system, connector) => {
                format!("{}.{connector}", self.systems[*system].name.value)
            }
            Node::Dictionary(_, entry) => entry.clone(),
        }
    }
}

/// The direction of values at an end, as seen from the system of the connection.
#[derive(Clone, Copy)]
enum Flow {
    Gives,
    Takes,
    Either,
}

/// The kind of one of these connectors.
fn kind_in(
    connectors: &BTreeMap<String, Connector>,
    name: &Spanned<String>,
    whole: &str,
    reader: &mut Reader<'_>,
) -> Option<ConnectorKind> {
    let connector = connectors.get(&name.value);
    if connector.is_none() {
        let known = connectors.keys().map(String::as_str);
        unknown("connector", whole, name, known, reader);
    }
    connector.map(|connector| connector.kind)
}

fn unknown<'k>(
    what: &str,
    whole: &str,
    name: &Spanned<String>,
    known: impl Iterator<Item = &'k str>,
    reader: &mut Reader<'_>,
) {
    /// A large system with many such problems is not searched for each of them.
    const SEARCHED: usize = 1000;
    let message = format!("{whole} has no {what} `{}`", name.value);
    let rule = match what {
        "element" => "unknown-element",
        _ => "unknown-connector",
    };
    let problem = Problem::error(rule, message).at(&name.span);
    let help = did_you_mean(&name.value, known.take(SEARCHED));
    reader.problems.push(problem.advised(help));
}

/// The dictionaries that can be seen from a system: its own, and those in the systems around it.
#[derive(Default)]
struct Dictionaries<'d> {
    levels: Vec<Vec<(&'d str, usize)>>,
    count: usize,
}

impl<'d> Dictionaries<'d> {
    fn enter(&mut self, system: &'d SystemNode, units: &mut BTreeMap<Node, Unit>) {
        let mut level = Vec::new();
        for dictionary in &system.dictionaries {
            level.push((&*dictionary.name.value, self.count));
            for (entry, unit) in &dictionary.entries {
                if let Some(unit) = unit {
                    let node = Node::Dictionary(self.count, entry.clone());
                    units.insert(node, unit.clone());
                }
            }
            self.count += 1;
        }
        self.levels.push(level);
    }

    fn leave(&mut self) {
        self.levels.pop();
    }

    fn find(&self, name: &str) -> Option<usize> {
        let mut visible = self.levels.iter().rev().flatten();
        visible
            .find(|(known, _)| *known == name)
            .map(|(_, number)| *number)
    }
}
