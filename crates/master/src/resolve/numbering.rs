//! The last part of resolving: everything gets its number.

use std::collections::BTreeMap;

use gyrator_system::{self as file, Port, Problem, SystemFile};

use super::wires::{Link, Wire};
use crate::correction::Correction;
use crate::extrapolation::{Extrapolation, ExtrapolationFacts};
use crate::graph::{
    Axis, Bond, Component, EnergyLimits, Graph, Input, Output, Signal, SignalSource, SignalWire,
};
use crate::registry::Chosen;
use crate::time::common_macro_steps;
use crate::unit::{Causality, VariableType};

pub(super) fn number_outputs(components: &mut [Component]) -> (Vec<Output>, Vec<Signal>) {
    let (mut outputs, mut signals) = (Vec::new(), Vec::new());
    for (component, node) in components.iter_mut().enumerate() {
        let first = outputs.len();
        for variable in node.description.with_causality(Causality::Output) {
            if node.description.variables[variable].kind == VariableType::Real {
                outputs.push(Output {
                    component,
                    variable,
                });
            } else {
                signals.push(Signal {
                    component,
                    variable,
                });
            }
        }
        node.outputs = first..outputs.len();
    }
    (outputs, signals)
}

pub(super) fn number_inputs(
    components: &mut [Component],
    wires: &[Wire],
    outputs: &[Output],
    extrapolations: &BTreeMap<String, Chosen<dyn Extrapolation>>,
) -> Vec<Input> {
    let by_output: BTreeMap<(usize, usize), usize> = outputs
        .iter()
        .enumerate()
        .map(|(i, output)| ((output.component, output.variable), i))
        .collect();
    let mut real: Vec<_> = wires
        .iter()
        .filter_map(|wire| match wire.link {
            Link::Real {
                factor,
                offset,
                derivative,
            } => Some((wire, factor, offset, derivative)),
            Link::Signal(_) => None,
        })
        .collect();
    real.sort_by_key(|(wire, ..)| wire.to);
    let mut inputs = Vec::with_capacity(real.len());
    for (wire, factor, offset, derivative) in real {
        let (component, variable) = wire.to;
        let node = &mut components[component];
        if node.inputs.is_empty() {
            node.inputs = inputs.len()..inputs.len();
        }
        node.inputs.end += 1;
        inputs.push(Input {
            variable,
            source: by_output[&wire.from],
            factor,
            offset,
            derivative,
            extrapolation: extrapolations[&node.name].clone(),
            facts: ExtrapolationFacts::default(),
        });
    }
    inputs
}

pub(super) fn signal_wires(
    wires: Vec<Wire>,
    outputs: &[Output],
    signals: &[Signal],
) -> Vec<SignalWire> {
    let source = |from: (usize, usize)| {
        let real = |output: &Output| (output.component, output.variable) == from;
        let other = |signal: &Signal| (signal.component, signal.variable) == from;
        let real = outputs.iter().position(real).map(SignalSource::Real);
        real.or_else(|| signals.iter().position(other).map(SignalSource::Discrete))
    };
    let resolved = wires.into_iter().filter_map(|wire| {
        let Link::Signal(conversion) = wire.link else {
            return None;
        };
        let (component, variable) = wire.to;
        Some(SignalWire {
            source: source(wire.from)?,
            component,
            variable,
            conversion,
        })
    });
    let mut wires: Vec<SignalWire> = resolved.collect();
    wires.sort_by_key(|wire| (wire.component, wire.variable));
    wires
}

/// Bonds in the order of their names.
pub(super) fn bonds(
    file: &SystemFile,
    by_name: &BTreeMap<&str, usize>,
    graph: &Graph,
    corrections: Vec<Option<Chosen<dyn Correction>>>,
) -> Vec<Bond> {
    let input = |port: &Port| {
        let component = by_name[port.component.as_str()];
        let variable = graph.components[component]
            .description
            .index(&port.variable);
        variable.and_then(|variable| graph.input_index(component, variable))
    };
    let axis = |bond: &file::Bond, (effort, flow): (&file::Connection, &file::Connection)| {
        let (effort_input, flow_input) = (input(&effort.to.value)?, input(&flow.to.value)?);
        let gain = |c: &file::Connection| c.gain.as_ref().map_or(1.0, |gain| gain.value);
        Some(Axis {
            effort_output: graph.inputs[effort_input].source,
            effort_input,
            flow_output: graph.inputs[flow_input].source,
            flow_input,
            weight: bond.sense.value * gain(effort) * gain(flow),
        })
    };
    let mut bonds = Vec::new();
    for (bond, correction) in file.bonds.iter().zip(corrections) {
        let axes: Vec<Axis> = bond
            .effort
            .iter()
            .zip(&bond.flow)
            .filter_map(|pair| axis(bond, pair))
            .collect();
        let Some(first) = axes.first() else { continue };
        let effort_side = graph.outputs[first.effort_output].component;
        let flow_side = graph.outputs[first.flow_output].component;
        let every = |component: usize| graph.components[component].rate.every();
        bonds.push(Bond {
            name: bond.name.value.clone(),
            effort_side,
            flow_side,
            every: common_macro_steps(every(effort_side), every(flow_side)),
            max_residual_energy: bond.max_residual_energy.as_ref().map(|limit| limit.value),
            energy_limits: EnergyLimits {
                tolerance: bond.energy_tolerance.as_ref().map(|r| r.value),
                scale: bond.energy_scale.as_ref().map(|energy| energy.value),
            },
            is_power: axes.iter().all(|axis| is_power(graph, axis)),
            axes,
            correction,
        });
    }
    bonds.sort_by(|a, b| a.name.cmp(&b.name));
    bonds
}

/// A warning for each bond whose effort × flow is known not to be a power.
pub(super) fn generalised_bonds(file: &SystemFile, graph: &Graph) -> Vec<Problem> {
    let unit = |output: usize| {
        let Output {
            component,
            variable,
        } = graph.outputs[output];
        let variable = &graph.components[component].description.variables[variable];
        let unit = variable.unit.as_ref();
        unit.map_or("no unit".to_owned(), |unit| unit.name.clone())
    };
    let mut warnings = Vec::new();
    for bond in graph.bonds.iter().filter(|bond| !bond.is_power) {
        let mut listed = file.bonds.iter();
        let span = listed.find(|listed| listed.name.value == bond.name);
        let Some(axis) = bond.axes.iter().find(|axis| !is_power(graph, axis)) else {
            continue;
        };
        let message = format!(
            "bond {}: {} × {} is not a power; its power and energy are generalised, not in W and J",
            bond.name,
            unit(axis.effort_output),
            unit(axis.flow_output)
        );
        warnings.push(
            Problem::warning("generalised-bond", message)
                .at(&span.map_or(0..0, |bond| bond.name.span.clone()))
                .help("a pair may have a `gain` that makes it a power: a piston's area for a pressure and a velocity"),
        );
    }
    warnings
}

/// Whether effort × flow is kg·m²/s³, as far as the units are known.
fn is_power(graph: &Graph, axis: &Axis) -> bool {
    let exponents = |output: usize| {
        let Output {
            component,
            variable,
        } = graph.outputs[output];
        let unit = graph.components[component].description.variables[variable]
            .unit
            .as_ref();
        unit.and_then(|unit| unit.exponents)
    };
    let (Some(effort), Some(flow)) = (exponents(axis.effort_output), exponents(axis.flow_output))
    else {
        return true;
    };
    let product: Vec<i32> = effort.iter().zip(flow).map(|(a, b)| a + b).collect();
    // kg, m, s, A, K, mol, cd; the angle is not a dimension of its own.
    product[..7] == [1, 2, -3, 0, 0, 0, 0] || axis.weight.abs() != 1.0
}
