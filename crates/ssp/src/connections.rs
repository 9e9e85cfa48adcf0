//! Connections from component to component, through the connectors of all systems on the way.

use std::collections::{BTreeMap, BTreeSet};

use gyrator_fmu::{Causality, ModelDescription, ScalarVariable, TypeAttributes};
use gyrator_system::{Connection, OuterEnd, OuterSignal, Port, Problem, Spanned, Value};

use crate::change::{Change, Table};
use crate::conversion::{Linear, between};
use crate::given::note_undefined;
use crate::models::{is_relative, items};
use crate::net::{Edge, Net, Node};
use crate::structure::Unit;
use crate::transformation::Transformation;
use crate::tree::Reader;

/// The way of values to an input: its connections from source to input, and its first node.
pub(crate) struct Way<'n> {
    pub(crate) origin: &'n Node,
    pub(crate) edges: Vec<&'n Edge>,
    /// The nodes that the edges lead to.
    pub(crate) nodes: Vec<&'n Node>,
}

/// The ways to all connected variables of components, in the order of the file.
pub(crate) fn ways<'n>(net: &'n Net<'_>, reader: &mut Reader<'_>) -> Vec<Way<'n>> {
    let is_component = |node: &&Node| matches!(node, Node::Component(..));
    let ends = net.edges.keys().filter(is_component);
    let mut ways: Vec<_> = ends.filter_map(|end| way(net, end, reader)).collect();
    ways.sort_by_key(|way| way.edges.last().map(|edge| edge.span.start));
    ways
}

fn way<'n>(net: &'n Net<'_>, end: &'n Node, reader: &mut Reader<'_>) -> Option<Way<'n>> {
    let mut way = Way {
        origin: end,
        edges: Vec::new(),
        nodes: Vec::new(),
    };
    let mut seen = BTreeSet::new();
    while let Some(edge) = net.edges.get(way.origin) {
        if !seen.insert(way.origin) {
            let message = "the connections lead in a circle, without an output".to_owned();
            reader.error("circle-of-connections", message, &edge.span);
            return None;
        }
        way.nodes.push(way.origin);
        way.edges.push(edge);
        way.origin = &edge.from;
        if matches!(way.origin, Node::Component(..)) {
            break;
        }
    }
    way.nodes.reverse();
    way.edges.reverse();
    Some(way)
}

/// The connection that a way makes; `None` if it does not begin at a component.
pub(crate) fn connection(
    net: &Net<'_>,
    way: &Way<'_>,
    reader: &mut Reader<'_>,
) -> Option<Connection> {
    let Node::Component(source, output) = way.origin else {
        return None;
    };
    let Some(Node::Component(target, input)) = way.nodes.last() else {
        return None;
    };
    let (first, last) = (way.edges.first()?, way.edges.last()?);
    let variable = |component: usize, name: &str| {
        let model = net.components[component].model.as_deref()?;
        Some((model, model.variable(name)?))
    };
    let ends = (variable(*source, output), variable(*target, input));
    if let Some((_, parameter)) = ends.1
        && parameter.causality == Causality::Parameter
    {
        let message = "a connection from a component to a parameter of another";
        reader.unsupported(message, &last.span);
        return None;
    }
    let name = |component: &usize| net.components[*component].name.value.clone();
    let mut connection = Connection::new(
        Port::new(name(source), output.clone()),
        Port::new(name(target), input.clone()),
    );
    connection.from.span = first.from_span.clone();
    connection.to.span = last.to_span.clone();
    let passage = Passage::of(net, way, ends, reader)?;
    let place = &passage.span;
    let entries = passage.mapping;
    let change = Change {
        linear: passage.linear,
        table: entries.map(|entries| table(entries, ends, reader, place)),
        converts_units: passage.converts_units,
    };
    change.apply(&mut connection, place);
    Some(connection)
}

/// The connectors of the outermost system that lead to inputs, or come from outputs, without mappings.
pub(crate) fn outer_signals(
    net: &Net<'_>,
    ways: &[Way<'_>],
    reader: &mut Reader<'_>,
) -> Vec<OuterSignal> {
    let outermost = net.systems[0];
    let mut fed: BTreeMap<&Node, Vec<&Way<'_>>> = BTreeMap::new();
    for way in ways {
        fed.entry(way.origin).or_default().push(way);
    }
    let components = net.components.iter();
    let components: BTreeSet<&str> = components.map(|flat| &*flat.name.value).collect();
    // Columns of results have these names: of variables, of bonds, of the time.
    let is_taken = |name: &str| {
        let mut dots = name.match_indices('.').map(|(dot, _)| &name[..dot]);
        name == "time" || dots.any(|start| start == "bond" || components.contains(start))
    };
    let mut signals = Vec::new();
    for (name, connector) in &outermost.connectors {
        let node = Node::System(0, name.clone());
        let inputs = fed.get(&node).into_iter().flatten();
        let mut ends: Vec<OuterEnd> = inputs
            .filter_map(|way| outer_end(net, way, way.nodes.last()?, Causality::Input, reader))
            .collect();
        let is_input = !ends.is_empty();
        if let Some((node, _)) = net.edges.get_key_value(&node)
            && let Some(way) = way(net, node, reader)
        {
            ends.extend(outer_end(net, &way, way.origin, Causality::Output, reader));
        }
        if ends.is_empty() {
            continue;
        }
        let name = match is_taken(name) {
            true => format!("{}.{name}", outermost.name.value),
            false => name.clone(),
        };
        signals.push(OuterSignal {
            name: Spanned::new(name, connector.span.clone()),
            unit: connector.unit.as_ref().map(|unit| unit.name.clone()),
            is_input,
            ends,
        });
    }
    signals
}

/// The variable at an end of a way, if it has this causality.
fn outer_end(
    net: &Net<'_>,
    way: &Way<'_>,
    end: &Node,
    causality: Causality,
    reader: &mut Reader<'_>,
) -> Option<OuterEnd> {
    let Node::Component(component, name) = end else {
        return None;
    };
    let flat = &net.components[*component];
    let model = flat.model.as_deref()?;
    let variable = model.variable(name)?;
    let described = Some((model, variable));
    let passage = Passage::of(net, way, (described, described), reader)?;
    let is_whole = variable.causality == causality && passage.mapping.is_none();
    is_whole.then(|| OuterEnd {
        port: Port::new(flat.name.value.clone(), name.clone()),
        factor: passage.linear.factor,
        offset: passage.linear.offset,
    })
}

/// A variable with the description it stands in.
type Described<'m> = Option<(&'m ModelDescription, &'m ScalarVariable)>;

/// The changes that values go through.
struct Passage<'n> {
    /// After the conversion of units that the engine makes by the units of the FMUs.
    linear: Linear,
    mapping: Option<&'n [(Value, Value)]>,
    converts_units: bool,
    /// The transformation, or the last connection.
    span: std::ops::Range<usize>,
}

impl<'n> Passage<'n> {
    /// Units are converted on every connection, before its transformation (SSP 4.3), as far as they
    /// are known; the engine itself converts if both FMUs say their units.
    fn of(
        net: &Net<'_>,
        way: &Way<'n>,
        (output, input): (Described<'_>, Described<'_>),
        reader: &mut Reader<'_>,
    ) -> Option<Self> {
        let relative = |end: Described<'_>| end.is_some_and(|(_, variable)| is_relative(variable));
        let is_relative = relative(output) && relative(input);
        let mut unit = net.unit(way.origin);
        let mut passage = Self {
            linear: Linear::IDENTITY,
            mapping: None,
            converts_units: true,
            span: way.edges.last()?.span.clone(),
        };
        let mut units = Linear::IDENTITY;
        let mut transformations = Linear::IDENTITY;
        // Whether all conversions come before all transformations, as the engine makes them.
        let mut in_order = true;
        for (edge, node) in way.edges.iter().zip(&way.nodes) {
            let next = net.unit(node);
            let conversion = conversion(unit.as_ref(), next.as_ref(), is_relative, edge, reader)?;
            if conversion != Linear::IDENTITY {
                in_order &= !edge.keeps_unit && transformations == Linear::IDENTITY;
                if !edge.keeps_unit {
                    passage.linear = passage.linear.then(conversion);
                    units = units.then(conversion);
                }
            }
            unit = Unit::usable(next, unit);
            let Some(transformation) = &edge.transformation else {
                continue;
            };
            passage.span = transformation.span.clone();
            match &transformation.value {
                Transformation::Linear(linear) => {
                    passage.linear = passage.linear.then(*linear);
                    transformations = transformations.then(*linear);
                }
                Transformation::Mapping(entries) => {
                    if passage.mapping.replace(entries).is_some() {
                        let message = "two mappings one after the other";
                        reader.unsupported(message, &transformation.span);
                    }
                }
            }
        }
        let in_fmus = net.unit_in_fmu(way.origin);
        let in_fmus = in_fmus.zip(net.unit_in_fmu(way.nodes.last()?));
        let by_engine = in_fmus.map(|(from, to)| from.base.is_some() && to.base.is_some());
        match by_engine {
            // Nothing is left to convert, and nothing must be.
            _ if units == Linear::IDENTITY && !in_order => passage.converts_units = false,
            Some(true) if in_order => passage.linear = transformations,
            // It is converted here, as far as it can be.
            Some(_) => passage.converts_units = false,
            None => {}
        }
        Some(passage)
    }
}

/// The conversion from one unit to the next; none if one of them is not known.
fn conversion(
    from: Option<&Unit>,
    to: Option<&Unit>,
    is_relative: bool,
    edge: &Edge,
    reader: &mut Reader<'_>,
) -> Option<Linear> {
    let Some((from, to)) = from.zip(to) else {
        return Some(Linear::IDENTITY);
    };
    let Some((from_base, to_base)) = from.base.as_ref().zip(to.base.as_ref()) else {
        if !edge.keeps_unit {
            note_undefined(from, to, "the value", &edge.span, reader);
        }
        return Some(Linear::IDENTITY);
    };
    let conversion = between(from_base, to_base, is_relative);
    if conversion.is_none() && edge.keeps_unit {
        // Anything but the identity: the engine must not convert either.
        return Some(Linear {
            factor: f64::NAN,
            offset: 0.0,
        });
    }
    if conversion.is_none() {
        let message = format!(
            "the connection leads from {} to {}, which measure different things",
            from.name, to.name
        );
        let problem = Problem::error("unit-mismatch", message).at(&edge.span);
        reader.problems.push(
            problem.help("`suppressUnitConversion=\"true\"` passes the numbers on as they are"),
        );
    }
    conversion
}

/// The mapping as a table of all values of the output: values that it does not name stay as they
/// are (SSP 4.3).
fn table(
    entries: &[(Value, Value)],
    (output, input): (Described<'_>, Described<'_>),
    reader: &mut Reader<'_>,
    place: &std::ops::Range<usize>,
) -> Table {
    /// Whole numbers that are listed one by one.
    const LISTED: i64 = 1000;
    let items_of =
        |end: Described<'_>| end.map_or(Vec::new(), |(model, variable)| items(model, variable));
    let (from, to) = (items_of(output), items_of(input));
    let mut table: Vec<(String, Value)> = Vec::new();
    for (source, target) in entries {
        let source = match source {
            // A mapping of whole numbers may be one of enumerations.
            Value::Integer(number) => match from.iter().find(|(_, value)| value == number) {
                Some((item, _)) => item.clone(),
                None => number.to_string(),
            },
            Value::String(item) => item.clone(),
            Value::Boolean(boolean) => boolean.to_string(),
            Value::Real(number) => number.to_string(),
        };
        table.push((source, target.clone()));
    }
    let rest: Vec<(String, Value)> = match output.map(|(_, variable)| &variable.kind) {
        Some(TypeAttributes::Boolean { .. }) => [true, false]
            .map(|value| (value.to_string(), Value::Boolean(value)))
            .into(),
        Some(TypeAttributes::Enumeration { .. }) => {
            let same = |number: i64| {
                let item = to.iter().find(|(_, value)| *value == number);
                item.map_or(Value::Integer(number), |(item, _)| {
                    Value::String(item.clone())
                })
            };
            from.iter()
                .map(|(item, number)| (item.clone(), same(*number)))
                .collect()
        }
        Some(TypeAttributes::Integer {
            min: Some(min),
            max: Some(max),
            ..
        }) if i64::from(*max) - i64::from(*min) < LISTED => (*min..=*max)
            .map(|number| (number.to_string(), Value::Integer(i64::from(number))))
            .collect(),
        Some(TypeAttributes::Integer { .. }) => {
            let message = "values that the mapping does not name end the run: the output declares \
                           no range of values";
            let problem = Problem::warning("partial-mapping", message);
            reader.problems.push(problem.at(place));
            Vec::new()
        }
        _ => Vec::new(),
    };
    for (source, target) in rest {
        if !table.iter().any(|(known, _)| *known == source) {
            table.push((source, target));
        }
    }
    let placed = |(source, target)| {
        (
            Spanned::new(source, place.clone()),
            Spanned::new(target, place.clone()),
        )
    };
    table.into_iter().map(placed).collect()
}
