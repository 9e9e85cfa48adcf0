//! Values of parameter sets as start values of components (SSP 5.2.2, parameter bindings).

use std::collections::BTreeMap;
use std::ops::Range;

use gyrator_fmu::TypeAttributes;
use gyrator_system::{Problem, Spanned, Value};

use crate::connections::Way;
use crate::given::{Given, conversion, converted, given};
use crate::models::{is_relative, items};
use crate::net::{Inside, Net, Node};
use crate::parameters::Binding;
use crate::structure::{Connector, ConnectorKind, Description, Unit};
use crate::tree::Reader;
use crate::unit::{Enumerations, Units};

/// A value with the name it is given to, both with their places.
#[derive(Debug, Clone)]
pub(crate) struct StartValue {
    name_span: Range<usize>,
    value: Spanned<Value>,
    unit: Option<Unit>,
    enumeration: Option<String>,
}

/// Values of connectors: of components, and of systems.
type Values = BTreeMap<Node, StartValue>;

/// Start values of each component by variable, with the place of the name.
pub(crate) type OfComponents = Vec<Vec<(Spanned<String>, Spanned<Value>)>>;

/// The start values of all components.
pub(crate) fn start_values(
    net: &Net<'_>,
    ways: &[Way<'_>],
    selected: &[String],
    description: &Description,
    reader: &mut Reader<'_>,
) -> OfComponents {
    let mut applied = Applied {
        net,
        selected,
        units: &description.units,
        enumerations: &description.enumerations,
        values: Values::new(),
    };
    applied.system(0, reader);
    applied.pass_on(ways, reader);
    let mut found: OfComponents = net.components.iter().map(|_| Vec::new()).collect();
    for (node, value) in applied.values {
        if let Node::Component(component, variable) = node {
            let name = Spanned::new(variable, value.name_span);
            found[component].push((name, value.value));
        }
    }
    for values in &mut found {
        values.sort_by_key(|(name, _)| name.span.start);
    }
    found
}

/// Values that were applied so far; later ones count more.
struct Applied<'n, 'd> {
    net: &'n Net<'d>,
    /// Names of the parameter sets that are applied; all if empty.
    selected: &'n [String],
    /// Units of the description.
    units: &'n Units,
    enumerations: &'n Enumerations,
    values: Values,
}

impl Applied<'_, '_> {
    /// Values of annotations, which count less than all others.
    fn defaults(
        &mut self,
        connectors: &BTreeMap<String, Connector>,
        node: impl Fn(String) -> Node,
        reader: &mut Reader<'_>,
    ) {
        for (name, connector) in connectors {
            let Some(default) = &connector.default else {
                continue;
            };
            if connector.kind == ConnectorKind::Outward {
                reader.unsupported("values of outputs at the start", &default.span);
                continue;
            }
            let node = node(name.clone());
            let unit = self.net.unit(&node);
            let (from, place) = (connector.unit.as_ref(), &default.span);
            let Some(linear) = conversion(from, unit.as_ref(), false, name, place, reader) else {
                continue;
            };
            let value = StartValue {
                name_span: connector.span.clone(),
                value: Spanned::new(converted(default.value.clone(), linear), place.clone()),
                unit,
                enumeration: None,
            };
            self.values.insert(node, value);
        }
    }

    /// First what is bound within a system, then what is bound to it, which counts more.
    fn system(&mut self, number: usize, reader: &mut Reader<'_>) {
        let net = self.net;
        let connectors = &net.systems[number].connectors;
        self.defaults(connectors, |name| Node::System(number, name), reader);
        for inside in net.inside[number].values() {
            match *inside {
                Inside::Component(index) => {
                    let node = net.components[index].node;
                    let of_component = |name| Node::Component(index, name);
                    self.defaults(&node.connectors, of_component, reader);
                    for binding in &node.bindings {
                        let apply =
                            |applied: &mut Self, given: &Given<'_>, reader: &mut Reader<'_>| {
                                applied.component(index, &given.name.value, given, reader)
                            };
                        self.bind(binding, &node.name.value, apply, reader);
                    }
                }
                Inside::System(inner) => self.system(inner, reader),
                Inside::Dictionary(..) => {}
            }
        }
        let system = net.systems[number];
        for binding in &system.bindings {
            let apply = |applied: &mut Self, given: &Given<'_>, reader: &mut Reader<'_>| {
                applied.in_system(number, &given.name.value, given, reader)
            };
            self.bind(binding, &system.name.value, apply, reader);
        }
    }

    /// Applies the values of a binding and reports those whose name the element does not have.
    fn bind(
        &mut self,
        binding: &Binding,
        element: &str,
        apply: impl Fn(&mut Self, &Given<'_>, &mut Reader<'_>) -> bool,
        reader: &mut Reader<'_>,
    ) {
        let set = &*binding.set;
        if !self.selected.is_empty() && !self.selected.contains(&set.name.value) {
            return;
        }
        let mut unused: Vec<&Spanned<String>> = Vec::new();
        let given = given(binding, reader);
        for given in &given {
            if !apply(self, given, reader) {
                unused.push(&given.parameter.name);
            }
        }
        let Some(first) = unused.first() else {
            return;
        };
        let names: Vec<_> = unused.iter().take(5).map(|name| &*name.value).collect();
        let more = match unused.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "`{element}` has no variable for {} of the parameter set `{}`: {}{more}; ignored",
            unused.len(),
            set.name.value,
            names.join(", ")
        );
        if reader.is_new(message.clone()) {
            let problem = Problem::warning("unused-parameter", message);
            reader.problems.push(problem.at(&first.span));
        }
    }

    /// Gives a value to all that the name means in a system: its connector, and variables of its
    /// elements. Names of elements may have dots themselves.
    fn in_system(
        &mut self,
        number: usize,
        name: &str,
        given: &Given<'_>,
        reader: &mut Reader<'_>,
    ) -> bool {
        let net = self.net;
        let mut is_used = false;
        if net.systems[number].connectors.contains_key(name) {
            let node = Node::System(number, name.to_owned());
            is_used = true;
            self.give(node, None, given, reader);
        }
        for (dot, _) in name.match_indices('.') {
            let rest = &name[dot + 1..];
            is_used |= match net.inside[number].get(&name[..dot]) {
                Some(Inside::Component(index)) => self.component(*index, rest, given, reader),
                Some(Inside::System(inner)) => self.in_system(*inner, rest, given, reader),
                _ => false,
            };
        }
        is_used
    }

    /// Gives a value to a variable of a component; false if it has no such variable.
    fn component(
        &mut self,
        index: usize,
        name: &str,
        given: &Given<'_>,
        reader: &mut Reader<'_>,
    ) -> bool {
        let component = &self.net.components[index];
        let node = Node::Component(index, name.to_owned());
        let Some(model) = &component.model else {
            self.give(node, None, given, reader);
            return true;
        };
        let Some(variable) = model.variable(name) else {
            return self.under_whole_name(index, name, given, reader);
        };
        if !variable.settable_before_initialization() && !variable.settable_during_initialization()
        {
            let name = &component.name.value;
            let message = format!(
                "`{name}.{}` is computed by the FMU and takes no start value; ignored",
                variable.name
            );
            let problem = Problem::warning("start-value-refused", message);
            reader.problems.push(problem.at(&given.name.span));
            return true;
        }
        self.give(node, Some(is_relative(variable)), given, reader);
        true
    }

    /// Some tools write the name of the component before the names of its own parameters.
    fn under_whole_name(
        &mut self,
        index: usize,
        name: &str,
        given: &Given<'_>,
        reader: &mut Reader<'_>,
    ) -> bool {
        let component = &self.net.components[index];
        let own = name.strip_prefix(&*component.node.name.value);
        let own = own.and_then(|rest| rest.strip_prefix('.'));
        let Some(own) = own else {
            return false;
        };
        let variable = component
            .model
            .as_ref()
            .and_then(|model| model.variable(own));
        let Some(variable) = variable.map(|variable| variable.name.clone()) else {
            return false;
        };
        let message = format!(
            "`{name}` is a parameter of the component itself, where its name is `{own}`; taken"
        );
        let problem = Problem::warning("whole-name", message).at(&given.name.span);
        reader.problems.push(problem);
        self.component(index, &variable, given, reader)
    }

    /// Converts the unit, transforms, and keeps the value.
    fn give(
        &mut self,
        node: Node,
        is_relative: Option<bool>,
        given: &Given<'_>,
        reader: &mut Reader<'_>,
    ) {
        let parameter = given.parameter;
        let unit = parameter.unit.as_ref().map(|unit| {
            let base = given.set.units.get(&unit.value);
            Unit {
                base: base.or_else(|| self.units.get(&unit.value)).copied(),
                name: unit.value.clone(),
            }
        });
        let target = self.net.unit(&node);
        let mut value = parameter.value.value.clone();
        let is_converted = !given.keeps_unit && target.is_some();
        if is_converted {
            let place = parameter
                .unit
                .as_ref()
                .map_or(&parameter.value.span, |unit| &unit.span);
            let relative = is_relative.unwrap_or(false);
            let (from, to) = (unit.as_ref(), target.as_ref());
            match conversion(from, to, relative, &parameter.name.value, place, reader) {
                Some(linear) => value = converted(value, linear),
                None => return,
            }
        }
        if let Some(transformation) = given.transformation {
            let enumerations = match given.set.enumerations.is_empty() {
                true => self.enumerations,
                false => &given.set.enumerations,
            };
            let enumeration = parameter.enumeration.as_deref();
            let Some(new) = transformation
                .value
                .apply(&value, enumeration, enumerations)
            else {
                let message = format!("`{}` cannot be transformed like this", parameter.name.value);
                reader.error("transformation", message, &transformation.span);
                return;
            };
            value = new;
        }
        let value = self.item(&node, value, given);
        let start_value = StartValue {
            name_span: given.name.span.clone(),
            value: Spanned::new(value, parameter.value.span.clone()),
            unit: if is_converted { target } else { unit },
            enumeration: parameter.enumeration.clone(),
        };
        self.values.insert(node, start_value);
    }

    /// An item that the FMU does not know by its name, by its number.
    fn item(&self, node: &Node, value: Value, given: &Given<'_>) -> Value {
        let (Node::Component(index, name), Value::String(item)) = (node, &value) else {
            return value;
        };
        let model = self.net.components[*index].model.as_deref();
        let variable = model.and_then(|model| Some((model, model.variable(name)?)));
        let Some((model, variable)) = variable else {
            return value;
        };
        let is_enumeration = matches!(variable.kind, TypeAttributes::Enumeration { .. });
        if !is_enumeration
            || items(model, variable)
                .iter()
                .any(|(known, _)| known == item)
        {
            return value;
        }
        let name = given.parameter.enumeration.as_deref();
        let known = name.and_then(|name| {
            let in_set = given.set.enumerations.get(name);
            in_set.or_else(|| self.enumerations.get(name))
        });
        match known.and_then(|items| items.get(item)) {
            Some(number) => Value::Integer(*number),
            None => value,
        }
    }

    /// Passes the values of connectors of systems on to the variables of components that they are
    /// connected to. Of several on the way the outermost counts.
    fn pass_on(&mut self, ways: &[Way<'_>], reader: &mut Reader<'_>) {
        for way in ways {
            if matches!(way.origin, Node::Component(..)) {
                continue;
            }
            let all = std::iter::once(&way.origin).chain(&way.nodes);
            let valued = all
                .enumerate()
                .find(|(_, node)| self.values.contains_key(**node));
            let Some((first, start)) = valued else {
                continue;
            };
            let mut carried = self.values[*start].clone();
            for (edge, node) in way.edges.iter().zip(&way.nodes).skip(first) {
                let next = self.net.unit(node);
                if !edge.keeps_unit {
                    let unit = carried.unit.as_ref();
                    let linear =
                        conversion(unit, next.as_ref(), false, "the value", &edge.span, reader);
                    if let Some(linear) = linear {
                        carried.value.value = converted(carried.value.value, linear);
                    }
                }
                carried.unit = Unit::usable(next, carried.unit);
                if let Some(transformation) = &edge.transformation {
                    let enumeration = carried.enumeration.as_deref();
                    let value = &carried.value.value;
                    match transformation
                        .value
                        .apply(value, enumeration, self.enumerations)
                    {
                        Some(value) => carried.value.value = value,
                        None => {
                            let message = "the value cannot be transformed like this".to_owned();
                            reader.error("transformation", message, &transformation.span);
                        }
                    }
                }
            }
            if let Some(end @ Node::Component(..)) = way.nodes.last() {
                self.values.insert((*end).clone(), carried);
            }
        }
    }
}
