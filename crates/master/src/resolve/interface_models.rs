//! Interface models: from names to indices.

use std::collections::BTreeMap;
use std::ops::Range;

use gyrator_system::{self as file, Choice, Port, Problem, Spanned, SystemFile, did_you_mean};

use crate::graph::{Axis, Bond, Graph};
use crate::interface_model::{Coordinate, Effort, InterfaceModel, Mass, PassedForce, Schedule};
use crate::registry::{Chosen, Registry};
use crate::unit::{Causality, VariableType};

/// The exchange step of the interface model that has `component` on its fast side.
pub(super) fn exchange_step<'a>(file: &'a SystemFile, component: &str) -> Option<&'a Spanned<f64>> {
    let gives_effort = |name: &Spanned<String>| {
        let mut bonds = file.bonds.iter();
        let bond = bonds.find(|bond| bond.name.value == name.value);
        let mut efforts = bond.into_iter().flat_map(|bond| &bond.effort);
        efforts.any(|effort| effort.from.value.component == component)
    };
    let mut models = file.interface_models.iter();
    let model = models.find(|model| model.bonds.iter().any(gives_effort));
    model.map(|model| &model.exchange_step)
}

/// All interface models of the file, in the order of their names.
pub(super) fn interface_models(
    (file, by_name): (&SystemFile, &BTreeMap<&str, usize>),
    orders: &Registry<Schedule>,
    graph: &Graph,
    problems: &mut Vec<Problem>,
) -> Vec<InterfaceModel> {
    let mut models: Vec<InterfaceModel> = Vec::new();
    for described in &file.interface_models {
        let mut resolver = Resolver {
            described,
            by_name,
            orders,
            graph,
            problems: &mut *problems,
        };
        let Some(model) = resolver.resolve() else {
            continue;
        };
        let shares = |other: &&InterfaceModel| {
            let mut components = model.fast.iter().chain([&model.component]);
            components.any(|c| other.fast.contains(c) || other.component == *c)
        };
        match models.iter().find(shares) {
            Some(other) => problems.push(
                Problem::error(
                    "interface-models-overlap",
                    format!(
                        "interface models `{}` and `{}` share a component",
                        other.name, model.name
                    ),
                )
                .at(&described.name.span)
                .help("put the bonds of both into one interface model"),
            ),
            None => models.push(model),
        }
    }
    models.sort_by(|a, b| a.name.cmp(&b.name));
    models
}

struct Resolver<'a> {
    described: &'a file::InterfaceModel,
    by_name: &'a BTreeMap<&'a str, usize>,
    orders: &'a Registry<Schedule>,
    graph: &'a Graph,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Resolver<'a> {
    fn refuse(&mut self, span: &Range<usize>, message: String, help: &str) {
        let message = format!("interface model `{}`: {message}", self.described.name.value);
        let problem = Problem::error("interface-model", message).at(span);
        self.problems.push(problem.help(help));
    }

    fn resolve(&mut self) -> Option<InterfaceModel> {
        let described = self.described;
        let chosen = self.order();
        let Some(&component) = self.by_name.get(described.component.value.as_str()) else {
            let help = did_you_mean(&described.component.value, self.by_name.keys().copied());
            let help = help.as_deref().unwrap_or("name a component");
            let message = format!("there is no component `{}`", described.component.value);
            self.refuse(&described.component.span, message, help);
            return None;
        };
        let axes = self.axes(component)?;
        let (coordinates, efforts) = self.coordinates(component, &axes)?;
        let mass = self.mass(component, coordinates.len())?;
        let chosen = chosen?;
        let schedule = chosen.build();
        let of = |(bond, _): &(&Bond, Axis)| bond.effort_side;
        let mut fast: Vec<usize> = axes.iter().map(of).collect();
        fast.sort_unstable();
        fast.dedup();
        let exchanges = self.exchanges(component, &fast)?;
        Some(InterfaceModel {
            name: described.name.value.clone(),
            component,
            fast,
            exchanges,
            coordinates,
            efforts,
            mass,
            schedule,
            facts: chosen.facts(&()),
        })
    }

    /// The order and its options; `force` alone also implies the order.
    fn order(&mut self) -> Option<Chosen<Schedule>> {
        let described = self.described;
        let mean = file::Value::String(PassedForce::Mean.word().to_owned());
        let mut options = described.options.iter();
        let default = if options.any(|(name, value)| name.value == "force" && value.value == mean) {
            "fast-first"
        } else {
            "parallel"
        };
        let unplaced = Spanned::unplaced(default.to_owned());
        let choice = Choice {
            name: described.order.clone().unwrap_or(unplaced),
            parameters: described.options.clone(),
        };
        match self.orders.look_up(&choice) {
            Ok(chosen) => Some(chosen),
            Err(found) => {
                self.problems.extend(found);
                None
            }
        }
    }

    /// The axes of its bonds, each with its bond; a pair that stands in several bonds comes once.
    fn axes(&mut self, component: usize) -> Option<Vec<(&'a Bond, Axis)>> {
        let (described, graph) = (self.described, self.graph);
        let mut axes: Vec<(&'a Bond, Axis)> = Vec::new();
        let mut is_right = !described.bonds.is_empty();
        if described.bonds.is_empty() {
            let span = &described.name.span;
            self.refuse(span, "it has no bonds".to_owned(), "name its power bonds");
        }
        for name in &described.bonds {
            let found = graph.bonds.iter().find(|bond| bond.name == name.value);
            let Some(bond) = found else {
                let help = did_you_mean(&name.value, graph.bond_names());
                let help = help.as_deref().unwrap_or("name a power bond");
                let message = format!("there is no bond `{}`", name.value);
                self.refuse(&name.span, message, help);
                is_right = false;
                continue;
            };
            if let Some((message, help)) = self.misfit(bond, component) {
                self.refuse(&name.span, message, help);
                is_right = false;
            }
            let is_new = |axis: &&Axis| !axes.iter().any(|(_, known)| same_pairs(known, axis));
            let new: Vec<Axis> = bond.axes.iter().filter(is_new).copied().collect();
            axes.extend(new.into_iter().map(|axis| (bond, axis)));
        }
        is_right.then_some(axes)
    }

    fn misfit(&self, bond: &Bond, component: usize) -> Option<(String, &'static str)> {
        let name = &bond.name;
        if bond.flow_side != component {
            let owner = &self.graph.components[component].name;
            return Some((
                format!("the flow of bond `{name}` is not an output of `{owner}`"),
                "the multibody component gives the flows (velocities), the fast components give the efforts (forces)",
            ));
        }
        None
    }

    fn coordinates(
        &mut self,
        component: usize,
        axes: &[(&Bond, Axis)],
    ) -> Option<(Vec<Coordinate>, Vec<Effort>)> {
        let described = self.described;
        let mut velocities: Vec<usize> = Vec::new();
        let mut efforts = Vec::new();
        for (_, axis) in axes {
            let known = velocities.iter().position(|v| *v == axis.flow_output);
            let coordinate = known.unwrap_or_else(|| {
                velocities.push(axis.flow_output);
                velocities.len() - 1
            });
            efforts.push(Effort {
                coordinate,
                output: axis.effort_output,
                input: axis.effort_input,
                weight: axis.weight,
            });
        }
        let count = velocities.len();
        let positions = self.outputs_of(component, "positions", &described.positions, count)?;
        let forces = self.ports("forces", &described.forces, count)?;
        let stiffness = self.ports("stiffness", &described.stiffness, count)?;
        let rates = self.ports("force_rates", &described.force_rates, count)?;
        let coordinate = |(index, velocity): (usize, usize)| Coordinate {
            velocity,
            position: positions
                .get(index)
                .copied()
                .or_else(|| self.declared_position(component, velocity)),
            force: forces.get(index).copied(),
            stiffness: stiffness.get(index).copied(),
            force_rate: rates.get(index).copied(),
        };
        let coordinates = velocities.iter().copied().enumerate().map(coordinate);
        Some((coordinates.collect(), efforts))
    }

    /// The output whose derivative the description declares the velocity to be.
    fn declared_position(&self, component: usize, velocity: usize) -> Option<usize> {
        let description = &self.graph.components[component].description;
        let velocity = &description.variables[self.graph.outputs[velocity].variable];
        self.graph.output_index(component, velocity.derivative_of?)
    }

    fn mass(&mut self, component: usize, count: usize) -> Option<Mass> {
        let described = self.described;
        let (inverse, free) = (&described.inverse_mass, &described.free_acceleration);
        if described.accelerations.is_empty() {
            let free = self.outputs_of(component, "free_acceleration", free, count)?;
            let inverse = self.inverse_mass(component, count)?;
            if inverse.is_empty() || free.is_empty() {
                let message =
                    "the inverse effective mass and the free acceleration are not known".to_owned();
                self.refuse(
                    &described.name.span,
                    message,
                    "name outputs for `inverse_mass` and `free_acceleration`, or for `accelerations`",
                );
                return None;
            }
            return Some(Mass::Outputs { inverse, free });
        }
        if !inverse.is_empty() || !free.is_empty() {
            self.refuse(
                &described.name.span,
                "`accelerations` is given with `inverse_mass` or `free_acceleration`".to_owned(),
                "give either the accelerations or the other two",
            );
            return None;
        }
        let accelerations = &described.accelerations;
        self.outputs_of(component, "accelerations", accelerations, count)
            .map(Mass::Accelerations)
    }

    /// W in full, row by row; the file may list all of it, its upper triangle or its diagonal.
    fn inverse_mass(&mut self, component: usize, count: usize) -> Option<Vec<Option<usize>>> {
        let listed = &self.described.inverse_mass;
        let triangle = count * (count + 1) / 2;
        let place: &dyn Fn(usize, usize) -> Option<usize> = match listed.len() {
            0 => return Some(Vec::new()),
            length if length == count * count => &|row, column| Some(row * count + column),
            length if length == triangle => &|row, column| {
                let (row, column) = (row.min(column), row.max(column));
                Some(row * count - row * row.saturating_sub(1) / 2 + column - row)
            },
            length if length == count => &|row, column| (row == column).then_some(row),
            length => {
                let message = format!(
                    "`inverse_mass` lists {length} outputs; with {count} velocities it needs {}, {triangle} or {count}",
                    count * count
                );
                let help = "all elements row by row, the upper triangle, or the diagonal";
                self.refuse(&listed[0].span, message, help);
                return None;
            }
        };
        let outputs = self.outputs_of(component, "inverse_mass", listed, listed.len())?;
        let pairs = (0..count).flat_map(|row| (0..count).map(move |column| (row, column)));
        let element = |(row, column)| place(row, column).map(|place| outputs[place]);
        Some(pairs.map(element).collect())
    }

    /// Exchanges in a macro-step, which all components concerned must be able to make.
    fn exchanges(&mut self, component: usize, fast: &[usize]) -> Option<u32> {
        let (described, graph) = (self.described, self.graph);
        let span = &described.exchange_step.span;
        let rate = crate::time::Rate::new(described.exchange_step.value, graph.macro_step);
        let exchanges = match rate {
            Ok(rate) if rate.every() == 1 => rate.substeps(),
            other => {
                let message = format!(
                    "the exchange step {} s does not divide the macro-step {} s",
                    described.exchange_step.value, graph.macro_step
                );
                let help = match other {
                    Err([below, above]) => {
                        format!("the nearest steps that do are {below} s and {above} s")
                    }
                    Ok(_) => "it is at most the macro-step".to_owned(),
                };
                self.refuse(span, message, &help);
                return None;
            }
        };
        for &one in fast.iter().chain([&component]) {
            let node = &graph.components[one];
            let is_fast = one != component;
            if node.rate.every() > 1 || is_fast && node.rate.substeps() % exchanges != 0 {
                let limit = if is_fast {
                    "exchange step"
                } else {
                    "macro-step"
                };
                let message = format!(
                    "the communication step {} s of `{}` does not divide the {limit}",
                    node.rate.ratio() * graph.macro_step,
                    node.name
                );
                self.refuse(
                    span,
                    message,
                    "leave out its `step_size`, or choose a smaller one",
                );
                return None;
            }
        }
        Some(exchanges)
    }

    /// Real outputs of a component, as many as `count`, or none.
    fn outputs_of(
        &mut self,
        component: usize,
        key: &str,
        names: &[Spanned<String>],
        count: usize,
    ) -> Option<Vec<usize>> {
        let listed: Vec<_> = names
            .iter()
            .map(|name| (component, name.value.as_str(), &name.span))
            .collect();
        self.outputs(key, &listed, count)
    }

    /// Real outputs of any components, as many as `count`, or none.
    fn ports(&mut self, key: &str, ports: &[Spanned<Port>], count: usize) -> Option<Vec<usize>> {
        let mut listed = Vec::with_capacity(ports.len());
        for port in ports {
            let Some(&component) = self.by_name.get(port.value.component.as_str()) else {
                let message = format!("`{key}`: there is no component `{}`", port.value.component);
                self.refuse(&port.span, message, "write `component.variable`");
                return None;
            };
            listed.push((component, port.value.variable.as_str(), &port.span));
        }
        self.outputs(key, &listed, count)
    }

    fn outputs(
        &mut self,
        key: &str,
        listed: &[(usize, &str, &Range<usize>)],
        count: usize,
    ) -> Option<Vec<usize>> {
        if let Some((.., span)) = listed.first().filter(|_| listed.len() != count) {
            let message = format!(
                "`{key}` lists {} outputs, and the bonds have {count} velocities",
                listed.len()
            );
            let help = "name one for each velocity, in the order of the bonds";
            self.refuse(span, message, help);
            return None;
        }
        let outputs: Vec<_> = listed
            .iter()
            .map(|(component, name, span)| self.output(key, *component, name, span))
            .collect();
        outputs.into_iter().collect()
    }

    fn output(
        &mut self,
        key: &str,
        component: usize,
        name: &str,
        span: &Range<usize>,
    ) -> Option<usize> {
        let graph = self.graph;
        let node = &graph.components[component];
        let variable = node.description.index(name);
        let output = variable.and_then(|variable| graph.output_index(component, variable));
        if output.is_none() {
            let message = format!("`{key}`: `{}.{name}` is not a real output", node.name);
            let is_output = |v: &&crate::unit::Variable| {
                v.causality == Causality::Output && v.kind == VariableType::Real
            };
            let outputs = node.description.variables.iter().filter(is_output);
            let help = did_you_mean(name, outputs.map(|variable| variable.name.as_str()));
            let help = help.as_deref();
            self.refuse(
                span,
                message,
                help.unwrap_or("`gyrator inspect` lists the outputs"),
            );
        }
        output
    }
}

fn same_pairs(one: &Axis, other: &Axis) -> bool {
    one.effort_input == other.effort_input && one.flow_input == other.flow_input
}
