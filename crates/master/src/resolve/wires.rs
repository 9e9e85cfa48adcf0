//! Connections: both ends, the conversion of units and types between them.

use std::ops::Range;
use std::sync::Arc;

use gyrator_system::{self as file, Port, Problem, Spanned, did_you_mean};

use super::Resolver;
use crate::unit::{Causality, Conversion, Variable, VariableType};
use crate::value_conversion::ValueConversion;

/// A connection between two variables that exist and fit.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    pub(super) from: (usize, usize),
    pub(super) to: (usize, usize),
    pub(super) link: Link,
    pub(super) span: Range<usize>,
    /// Units between which no conversion is known, if the connection passes the number on.
    undefined: Option<UndefinedUnit>,
}

/// A unit without base units, when one of another name is wanted.
#[derive(Debug, Clone, PartialEq)]
struct UndefinedUnit {
    name: String,
    from: String,
    to: String,
}

/// The way values are passed on.
#[derive(Debug, Clone)]
pub(super) enum Link {
    /// From Real to Real: the input receives factor · output + offset.
    Real {
        factor: f64,
        offset: f64,
        derivative: Option<usize>,
    },
    /// One of the two is not real.
    Signal(ValueConversion),
}

impl Wire {
    /// Whether both are one connection that stands in the file twice.
    fn agrees(&self, other: &Self) -> bool {
        let is_same = match (&self.link, &other.link) {
            (
                Link::Real {
                    factor: a,
                    offset: b,
                    ..
                },
                Link::Real {
                    factor: c,
                    offset: d,
                    ..
                },
            ) => (a, b) == (c, d),
            (Link::Signal(one), Link::Signal(two)) => one == two,
            _ => false,
        };
        is_same && self.from == other.from
    }
}

impl Resolver<'_> {
    /// All connections, bonds included. A pair may stand in several bonds.
    pub(super) fn wires(&mut self) -> Vec<Wire> {
        let mut wires: Vec<Wire> = Vec::new();
        let file = self.file;
        let listed = file
            .connections
            .iter()
            .map(|connection| (connection, false));
        let bonded = file
            .bonds
            .iter()
            .flat_map(|bond| bond.effort.iter().chain(&bond.flow))
            .map(|connection| (connection, true));
        for (connection, in_bond) in listed.chain(bonded) {
            let Some(wire) = self.wire(connection, in_bond) else {
                continue;
            };
            match wires.iter().find(|known| known.to == wire.to) {
                Some(known) if known.agrees(&wire) => {}
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
        self.warn_of_undefined_units(&wires);
        self.check_bond_ends();
        wires
    }

    /// A warning for each pair of units between which numbers are passed on as they are, at its first connection.
    fn warn_of_undefined_units(&mut self, wires: &[Wire]) {
        let name = |(component, variable): (usize, usize)| {
            let component = &self.components[component];
            let variable = &component.description.variables[variable];
            format!("{}.{}", component.name, variable.name)
        };
        let mut pairs: Vec<UndefinedUnit> = Vec::new();
        for wire in wires {
            let Some(pair) = wire.undefined.clone().filter(|pair| !pairs.contains(pair)) else {
                continue;
            };
            let alike = wires
                .iter()
                .filter(|other| other.undefined.as_ref() == Some(&pair));
            let others = match alike.count() - 1 {
                0 => String::new(),
                1 => " and another connection".to_owned(),
                count => format!(" and {count} other connections"),
            };
            let UndefinedUnit {
                name: unit,
                from,
                to,
            } = &pair;
            let message = format!(
                "{} → {}{others}: the unit {unit} has no base units in its FMU; values in {from} are passed on as if they \
                 were in {to}",
                name(wire.from),
                name(wire.to),
            );
            let help = "`gain` and `offset` convert them; `unit_conversion = false` says that the numbers are right";
            let problem = Problem::warning("undefined-unit", message).at(&wire.span);
            self.problems.push(problem.help(help));
            pairs.push(pair);
        }
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
            let help = did_you_mean(component, self.by_name.keys().copied());
            self.problems.push(problem.advised(help).at(&port.span));
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

    /// A connection with its conversion. Pairs of bonds pass real signals on as they are: their gain
    /// is a factor of the power.
    fn wire(&mut self, connection: &file::Connection, in_bond: bool) -> Option<Wire> {
        let from = self.port(&connection.from, Causality::Output);
        let to = self.port(&connection.to, Causality::Input);
        let (from, to) = (from?, to?);
        let description = |component: usize| Arc::clone(&self.components[component].description);
        let (sender, receiver) = (description(from.0), description(to.0));
        let (output, input) = (&sender.variables[from.1], &receiver.variables[to.1]);
        let span = connection.to.span.clone();
        let names = format!(
            "{} → {}",
            port_name(&connection.from.value),
            port_name(&connection.to.value)
        );
        if in_bond && (output.kind, input.kind) != (VariableType::Real, VariableType::Real) {
            let message = format!(
                "{names} connects {:?} to {:?} in a bond",
                output.kind, input.kind
            );
            let problem = Problem::error("type-mismatch", message).at(&span);
            let help = "efforts and flows are real; list other pairs under [[connections]]";
            self.problems.push(problem.help(help));
            return None;
        }
        let conversion = match (&output.unit, &input.unit) {
            (Some(from), Some(to)) if connection.unit_conversion => from.conversion_to(to),
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
        let given = |number: &Option<Spanned<f64>>, neutral| match number {
            Some(number) if !in_bond => number.value,
            _ => neutral,
        };
        let (gain, offset) = (given(&connection.gain, 1.0), given(&connection.offset, 0.0));
        let affine = Conversion {
            factor: gain * conversion.factor,
            offset: gain * conversion.offset + offset,
        };
        let convert = connection.convert.as_ref();
        let link = if (output.kind, input.kind, convert)
            == (VariableType::Real, VariableType::Real, None)
        {
            Ok(Link::Real {
                factor: affine.factor,
                offset: affine.offset,
                derivative: self.named_derivative(connection, from.0),
            })
        } else {
            let convert = convert.map(|convert| &convert.value);
            ValueConversion::between(output, input, affine, convert).map(Link::Signal)
        };
        match link {
            Ok(link) => Some(Wire {
                from,
                to,
                link,
                span,
                undefined: UndefinedUnit::of(connection, output, input),
            }),
            Err(misfit) => {
                let message = format!(
                    "{names} connects {:?} to {:?}{}",
                    output.kind, input.kind, misfit.reason
                );
                let place = convert.map_or(&span, |convert| &convert.span);
                let problem = Problem::error("type-mismatch", message).at(place);
                self.problems.push(problem.help(misfit.help));
                None
            }
        }
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
}

impl UndefinedUnit {
    /// `None` if the units are known or have one name, or if the connection says how numbers are passed on.
    fn of(connection: &file::Connection, output: &Variable, input: &Variable) -> Option<Self> {
        let has_factor = connection.gain.is_some() || connection.offset.is_some();
        let (from, to) = output.unit.as_ref().zip(input.unit.as_ref())?;
        if !connection.unit_conversion || has_factor || from.name == to.name {
            return None;
        }
        let mut units = [from, to].into_iter();
        let undefined = units.find(|unit| unit.exponents.is_none())?;
        Some(Self {
            name: undefined.name.clone(),
            from: from.name.clone(),
            to: to.name.clone(),
        })
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
