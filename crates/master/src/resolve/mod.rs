//! From names to indices: a described system and the descriptions of its units become a [`Graph`].

mod aliases;
mod interface_models;
mod numbering;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gyrator_system::{self as file, Choice, Port, Problem, Severity, Spanned, SystemFile, closest};

use numbering::{bonds, generalised_bonds, number_inputs, number_outputs, signal_wires};

use crate::correction::Correction;
use crate::exchange_mode::{EXCHANGE_MODES, Exchange};
use crate::extrapolation::Extrapolation;
use crate::graph::{Component, Graph};
use crate::physical_unit::Conversion;
use crate::registries::Registries;
use crate::registry::{Chosen, EntryKind, Registry, look_up};
use crate::time::{Clock, Rate};
use crate::unit::{Causality, UnitDescription, Value, VariableType};

/// Resolves `file`, whose components are described by `descriptions`, in the order of the file.
/// The second result maps each component of the graph to its place in the file.
///
/// # Errors
/// All problems at once, warnings included.
pub(crate) fn resolve(
    file: &SystemFile,
    descriptions: &[Arc<UnitDescription>],
    registries: &Registries,
    problems: &mut Vec<Problem>,
) -> Option<(Graph, Vec<usize>)> {
    let mut places: Vec<usize> = (0..file.components.len()).collect();
    places.sort_by(|a, b| {
        file.components[*a]
            .name
            .value
            .cmp(&file.components[*b].name.value)
    });
    let by_name: BTreeMap<&str, usize> = places
        .iter()
        .zip(0..)
        .map(|(place, i)| (file.components[*place].name.value.as_str(), i))
        .collect();
    let mut resolver = Resolver {
        file,
        registries,
        by_name,
        components: Vec::new(),
        problems,
    };
    let macro_step = resolver.macro_step()?;
    for &place in &places {
        resolver.component(&file.components[place], &descriptions[place], macro_step);
    }
    let graph = resolver.graph(macro_step);
    graph.map(|graph| (graph, places))
}

struct Resolver<'a> {
    file: &'a SystemFile,
    registries: &'a Registries,
    by_name: BTreeMap<&'a str, usize>,
    components: Vec<Component>,
    problems: &'a mut Vec<Problem>,
}

/// A connection between two variables that exist and fit.
#[derive(Debug, Clone, PartialEq)]
struct Wire {
    from: (usize, usize),
    to: (usize, usize),
    factor: f64,
    offset: f64,
    derivative: Option<usize>,
    kind: VariableType,
    span: Range<usize>,
}

impl Resolver<'_> {
    fn macro_step(&mut self) -> Option<f64> {
        let step = self.file.experiment.step_size.as_ref();
        match step {
            Some(step) if step.value > 0.0 && step.value.is_finite() => Some(step.value),
            Some(step) => {
                self.problems.push(
                    Problem::error(
                        "bad-step",
                        format!("the macro-step is {} s; it must be positive", step.value),
                    )
                    .at(&step.span),
                );
                None
            }
            None => {
                self.problems.push(
                    Problem::error("no-step", "no macro-step is given")
                        .help("add `step_size = …` to [experiment], or pass --step-size"),
                );
                None
            }
        }
    }

    fn component(
        &mut self,
        component: &file::Component,
        description: &Arc<UnitDescription>,
        macro_step: f64,
    ) {
        let rate = self.rate(component, macro_step);
        let requested = component
            .exchange
            .as_ref()
            .or(self.file.experiment.exchange.as_ref());
        let exchange = self.exchange(requested);
        let start_values = self.start_values(component, description);
        self.components.push(Component {
            name: component.name.value.clone(),
            description: Arc::clone(description),
            rate,
            exchange,
            inputs: 0..0,
            outputs: 0..0,
            start_values,
            propagate_initial_inputs: component.propagate_initial_inputs,
        });
    }

    fn rate(&mut self, component: &file::Component, macro_step: f64) -> Rate {
        let exchange_step = || interface_models::exchange_step(self.file, &component.name.value);
        let Some(step) = component.step_size.as_ref().or_else(exchange_step) else {
            return Rate::Divides(1);
        };
        Rate::new(step.value, macro_step).unwrap_or_else(|[below, above]| {
            self.problems.push(
                Problem::error(
                    "step-does-not-divide",
                    format!(
                        "the communication step {} s of `{}` neither divides the macro-step {macro_step} s nor is a multiple of it",
                        step.value, component.name.value
                    ),
                )
                .at(&step.span)
                .help(format!("the nearest steps that do are {below} s and {above} s")),
            );
            Rate::Divides(1)
        })
    }

    fn exchange(&mut self, requested: Option<&Spanned<String>>) -> Exchange {
        let Some(word) = requested else {
            return Exchange::Auto;
        };
        let choice = Choice {
            name: word.clone(),
            parameters: Vec::new(),
        };
        match look_up(EXCHANGE_MODES, &choice) {
            Ok(mode) => mode.build(),
            Err(problems) => {
                self.problems.extend(problems);
                Exchange::Auto
            }
        }
    }

    fn start_values(
        &mut self,
        component: &file::Component,
        description: &UnitDescription,
    ) -> Vec<(usize, Value)> {
        let mut values = Vec::new();
        for (name, value) in &component.start_values {
            let Some(index) =
                self.variable_index(&component.name.value, description, &name.value, &name.span)
            else {
                continue;
            };
            let variable = &description.variables[index];
            if !variable.has_start {
                self.problems.push(
                    Problem::error(
                        "start-value-refused",
                        format!(
                            "`{}.{}` is computed by the unit and takes no start value",
                            component.name.value, name.value
                        ),
                    )
                    .at(&name.span)
                    .help("set a parameter or an input instead; `gyrator inspect` lists them"),
                );
                continue;
            }
            match start_value(variable.kind, &variable.items, &value.value) {
                Ok(value) => values.push((index, value)),
                Err(expected) => self.problems.push(
                    Problem::error(
                        "start-value-type",
                        format!(
                            "the start value of `{}.{}` must be {expected}",
                            component.name.value, name.value
                        ),
                    )
                    .at(&value.span),
                ),
            }
        }
        values
    }

    fn variable_index(
        &mut self,
        component: &str,
        description: &UnitDescription,
        name: &str,
        span: &Range<usize>,
    ) -> Option<usize> {
        let found = description.index(name);
        if found.is_none() {
            let problem = Problem::error(
                "unknown-variable",
                format!("`{component}` has no variable `{name}`"),
            )
            .at(span);
            let names = description
                .variables
                .iter()
                .map(|variable| variable.name.as_str());
            self.problems.push(match closest(name, names) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help("`gyrator inspect` lists the variables of an FMU"),
            });
        }
        found
    }

    fn port(&mut self, port: &Spanned<Port>, wanted: Causality) -> Option<(usize, usize)> {
        let Port {
            component,
            variable,
        } = &port.value;
        let Some(&index) = self.by_name.get(component.as_str()) else {
            let problem = Problem::error(
                "unknown-component",
                format!("there is no component `{component}`"),
            );
            let near = closest(component, self.by_name.keys().copied());
            let problem = match near {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem,
            };
            self.problems.push(problem.at(&port.span));
            return None;
        };
        let description = Arc::clone(&self.components.get(index)?.description);
        let variable = self.variable_index(component, &description, variable, &port.span)?;
        let described = &description.variables[variable];
        if described.causality != wanted {
            let (role, is) = match wanted {
                Causality::Output => (
                    "feed a connection: it must be an output",
                    causality_word(described.causality),
                ),
                _ => (
                    "be fed by a connection: it must be an input",
                    causality_word(described.causality),
                ),
            };
            self.problems.push(
                Problem::error(
                    "causality-mismatch",
                    format!(
                        "`{component}.{}` cannot {role}, and it is {is}",
                        described.name
                    ),
                )
                .at(&port.span)
                .help("is the connection written the wrong way round?"),
            );
            return None;
        }
        Some((index, variable))
    }

    fn wire(&mut self, connection: &file::Connection, gain: f64) -> Option<Wire> {
        let from = self.port(&connection.from, Causality::Output);
        let to = self.port(&connection.to, Causality::Input);
        let (from, to) = (from?, to?);
        let described = |(component, variable): (usize, usize)| {
            self.components[component].description.variables[variable].clone()
        };
        let (output, input) = (described(from), described(to));
        let span = connection.to.span.clone();
        let names = format!(
            "{} → {}",
            port_name(&connection.from.value),
            port_name(&connection.to.value)
        );
        if output.kind.carrier() != input.kind.carrier() {
            self.problems.push(
                Problem::error(
                    "type-mismatch",
                    format!("{names} connects {:?} to {:?}", output.kind, input.kind),
                )
                .at(&span)
                .help("both ends of a connection must have the same type"),
            );
            return None;
        }
        let conversion = match (&output.unit, &input.unit) {
            (Some(from), Some(to)) => from.conversion_to(to),
            _ => Ok(Conversion::IDENTITY),
        };
        let conversion = match conversion {
            Ok(conversion) => conversion,
            Err(mismatch) => {
                let message = format!("{names} connects {mismatch}");
                let problem = Problem::error("unit-mismatch", message).at(&span);
                self.problems.push(match mismatch.help() {
                    Some(help) => problem.help(help),
                    None => problem,
                });
                return None;
            }
        };
        if gain != 1.0 && output.kind != VariableType::Real {
            self.problems.push(
                Problem::error(
                    "gain-not-real",
                    format!("{names} has a gain and is not real"),
                )
                .at(&span),
            );
            return None;
        }
        Some(Wire {
            from,
            to,
            factor: gain * conversion.factor,
            offset: gain * conversion.offset,
            derivative: self.named_derivative(connection, from.0),
            kind: output.kind,
            span,
        })
    }

    /// The variable of `component` that the connection names as its output's derivative.
    fn named_derivative(
        &mut self,
        connection: &file::Connection,
        component: usize,
    ) -> Option<usize> {
        let named = connection.derivative.as_ref()?;
        let node = &self.components[component];
        let found = node.description.index(&named.value);
        let real =
            found.filter(|found| node.description.variables[*found].kind == VariableType::Real);
        if real.is_none() {
            let message = format!("`{}` has no real variable `{}`", node.name, named.value);
            let problem = Problem::error("unknown-derivative", message).at(&named.span);
            self.problems.push(problem.help(format!(
                "`derivative` names the variable of `{}` that is the derivative of `{}`",
                node.name, connection.from.value.variable
            )));
        }
        real
    }

    fn graph(mut self, macro_step: f64) -> Option<Graph> {
        let wires = self.wires();
        self.problems
            .extend(aliases::fed_twice(&self.components, &wires));
        let extrapolations = self.extrapolations();
        let corrections = self.corrections();
        let experiment = &self.file.experiment;
        let start = experiment
            .start_time
            .as_ref()
            .map_or(0.0, |time| time.value);
        let substeps = self
            .components
            .iter()
            .map(|component| component.rate.substeps());
        let Some(clock) = Clock::new(start, macro_step, substeps) else {
            self.problems.push(
                Problem::error(
                    "steps-without-common-divisor",
                    "the communication steps have no practicable common divisor",
                )
                .help("choose steps that divide the macro-step into fewer different parts"),
            );
            return None;
        };
        if self
            .problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
        {
            return None;
        }
        let (outputs, signals) = number_outputs(&mut self.components);
        let inputs = number_inputs(&mut self.components, &wires, &outputs, &extrapolations);
        let signal_wires = signal_wires(&wires, &signals);
        let mut graph = Graph {
            components: self.components,
            inputs,
            outputs,
            signals,
            signal_wires,
            bonds: Vec::new(),
            interface_models: Vec::new(),
            has_energy_limits: self
                .file
                .bonds
                .iter()
                .any(|bond| bond.max_residual_energy.is_some()),
            clock,
            macro_step,
        };
        graph.bonds = bonds(self.file, &self.by_name, &graph, corrections);
        self.problems.extend(generalised_bonds(self.file, &graph));
        graph.find_facts();
        let orders = &self.registries.interface_orders;
        graph.interface_models = interface_models::interface_models(
            (self.file, &self.by_name),
            orders,
            &graph,
            self.problems,
        );
        Some(graph)
    }

    /// All connections, those of bonds included. A pair may stand in several bonds.
    fn wires(&mut self) -> Vec<Wire> {
        let mut wires: Vec<Wire> = Vec::new();
        let file = self.file;
        let listed = file
            .connections
            .iter()
            .map(|c| (c, c.gain.as_ref().map_or(1.0, |gain| gain.value)));
        let bonded = file
            .bonds
            .iter()
            .flat_map(|bond| bond.effort.iter().chain(&bond.flow))
            .map(|c| (c, 1.0));
        for (connection, gain) in listed.chain(bonded) {
            let Some(wire) = self.wire(connection, gain) else {
                continue;
            };
            match wires.iter().find(|known| known.to == wire.to) {
                Some(known) if known.from == wire.from && known.factor == wire.factor => {}
                Some(_) => self.problems.push(
                    Problem::error(
                        "input-fed-twice",
                        format!(
                            "`{}` is fed by two connections",
                            port_name(&connection.to.value)
                        ),
                    )
                    .at(&wire.span)
                    .help("remove one of them"),
                ),
                None => wires.push(wire),
            }
        }
        self.check_bond_ends();
        wires
    }

    /// Effort goes from one component to the other, and flow comes back, on every axis.
    fn check_bond_ends(&mut self) {
        for bond in &self.file.bonds {
            let name = &bond.name.value;
            let mut refuse = |message: String| {
                self.problems.push(
                    Problem::error("bond-does-not-pair", message)
                        .at(&bond.name.span)
                        .help("each effort goes from end a to end b, and the flow with the same index from b to a"),
                );
            };
            if bond.effort.len() != bond.flow.len() || bond.effort.is_empty() {
                refuse(format!(
                    "bond `{name}` has {} efforts and {} flows",
                    bond.effort.len(),
                    bond.flow.len()
                ));
                continue;
            }
            let first = &bond.effort[0];
            let (a, b) = (&first.from.value.component, &first.to.value.component);
            let efforts_pair = bond
                .effort
                .iter()
                .all(|c| c.from.value.component == *a && c.to.value.component == *b);
            let flows_pair = bond
                .flow
                .iter()
                .all(|c| c.from.value.component == *b && c.to.value.component == *a);
            if !efforts_pair || !flows_pair || a == b {
                refuse(format!(
                    "the ends of bond `{name}` do not pair: its effort goes from `{a}` to `{b}`"
                ));
            }
        }
    }

    fn extrapolations(&mut self) -> BTreeMap<String, Chosen<dyn Extrapolation>> {
        let hold = Choice {
            name: Spanned::unplaced("hold".to_owned()),
            parameters: Vec::new(),
        };
        let default = self.file.experiment.extrapolation.clone().unwrap_or(hold);
        let mut chosen = BTreeMap::new();
        for component in &self.file.components {
            let choice = component.extrapolation.as_ref().unwrap_or(&default);
            if let Some(entry) = self.choose(&self.registries.extrapolations, choice) {
                chosen.insert(component.name.value.clone(), entry);
            }
        }
        chosen
    }

    fn corrections(&mut self) -> Vec<Option<Chosen<dyn Correction>>> {
        let file = self.file;
        let one = |bond: &file::Bond| match &bond.correction {
            Some(choice) if choice.name.value == "off" => None,
            Some(choice) => self.choose(&self.registries.corrections, choice),
            None => None,
        };
        file.bonds.iter().map(one).collect()
    }

    fn choose<K: EntryKind + ?Sized>(
        &mut self,
        registry: &Registry<K>,
        choice: &Choice,
    ) -> Option<Chosen<K>> {
        match registry.look_up(choice) {
            Ok(found) => Some(found),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }
}

fn port_name(port: &Port) -> String {
    format!("{}.{}", port.component, port.variable)
}

fn causality_word(causality: Causality) -> &'static str {
    match causality {
        Causality::Parameter | Causality::TunableParameter => "a parameter",
        Causality::Input => "an input",
        Causality::Output => "an output",
        Causality::Local => "a local variable",
    }
}

/// A start value of a file as a value of the variable's kind; else the kind expected.
pub(crate) fn start_value(
    kind: VariableType,
    items: &[(i32, String)],
    value: &file::Value,
) -> Result<Value, String> {
    use file::Value as Given;
    let integer = |number: i64| i32::try_from(number).map(Value::Integer);
    match (kind, value) {
        (VariableType::Real, Given::Real(number)) if number.is_finite() => Ok(Value::Real(*number)),
        (VariableType::Real, Given::Real(_)) => Err("a finite number".to_owned()),
        (VariableType::Real, Given::Integer(number)) => Ok(Value::Real(*number as f64)),
        (VariableType::Integer | VariableType::Enumeration, Given::Integer(number)) => {
            integer(*number).map_err(|_| "an integer of 32 bits".to_owned())
        }
        (VariableType::Enumeration, Given::String(word)) => {
            let item = items.iter().find(|(_, name)| name == word);
            item.map(|(value, _)| Value::Integer(*value))
                .ok_or_else(|| {
                    let names: Vec<_> = items.iter().map(|(_, name)| name.as_str()).collect();
                    format!("one of {}", names.join(", "))
                })
        }
        (VariableType::Boolean, Given::Boolean(flag)) => Ok(Value::Boolean(*flag)),
        (VariableType::Boolean, Given::Integer(number @ (0 | 1))) => {
            Ok(Value::Boolean(*number == 1))
        }
        (VariableType::String, Given::String(text)) => Ok(Value::String(text.clone())),
        (VariableType::Real, _) => Err("a number".to_owned()),
        (VariableType::Integer, _) => Err("an integer".to_owned()),
        (VariableType::Enumeration, _) => Err("the name or the number of an item".to_owned()),
        (VariableType::Boolean, _) => Err("true or false".to_owned()),
        (VariableType::String, _) => Err("text in quotes".to_owned()),
    }
}
