//! The exchange mode of each component, chosen once the units are in Initialization Mode.
//!
//! The initialisation of a system calls it. It measures D if a mode or the audit needs it; it steps nothing, and
//! changes no output.

use super::probe::{Gains, contradiction, probe, read_derivatives};
use crate::exchange_mode::Exchange;
use crate::fault::{Cause, RunError};
use crate::graph::Component;
use crate::short;
use crate::state::{SystemState, call};
use crate::step::Step;
use crate::unit::Value;

/// Selects the exchange mode of each component, and measures D where a mode or the energy audit
/// needs it. The units are in Initialization Mode.
///
/// Returns D by component where it could be measured, and notes for the user.
pub(crate) fn select_exchange(
    state: &mut SystemState,
    step: &Step,
) -> Result<(Vec<Option<Gains>>, Vec<String>), RunError> {
    let graph = std::sync::Arc::clone(&state.graph);
    let mut all_gains = Vec::with_capacity(graph.components.len());
    let mut notes = Vec::new();
    for (component, node) in graph.components.iter().enumerate() {
        let depends = |output: &usize| !graph.feedthrough(*output, false).is_empty();
        let outputs: Vec<usize> = node.outputs.clone().filter(depends).collect();
        if outputs.is_empty() {
            all_gains.push(None);
            continue;
        }
        let is_safe = declares_safe(node);
        let gains = match node.exchange {
            Exchange::FRESH => None,
            Exchange::AUTO if is_safe => None,
            asked => known_feedthrough(state, component, &outputs, asked, &mut notes, step)?,
        };
        state.exchange.modes[component] = match node.exchange {
            Exchange::AUTO if is_safe => Exchange::FRESH,
            Exchange::AUTO if gains.as_ref().is_some_and(Gains::are_zero) => {
                if graph.is_on_bond(component) {
                    notes.push(format!(
                        "{}: declares direct feed-through and shows none when it is probed; its outputs are passed \
                         on as they are",
                        node.name
                    ));
                }
                Exchange::NO_FEEDTHROUGH
            }
            Exchange::AUTO if gains.as_ref().is_some_and(Gains::are_smooth) => {
                Exchange::COMPENSATED
            }
            Exchange::AUTO => Exchange::STALE,
            asked => asked,
        };
        if state.exchange.modes[component] == Exchange::FRESH && !is_safe {
            notes.push(not_declared_safe(node));
        }
        all_gains.push(gains);
    }
    Ok((all_gains, notes))
}

/// D of a component, where it can be measured, with a note where it is not smooth.
fn known_feedthrough(
    state: &mut SystemState,
    component: usize,
    outputs: &[usize],
    asked: Exchange,
    notes: &mut Vec<String>,
    step: &Step,
) -> Result<Option<Gains>, RunError> {
    let name = state.graph.components[component].name.clone();
    let gains = match probe_component(state, component, outputs, notes, step) {
        Ok(gains) => gains,
        Err(RunError::Fault(fault))
            if matches!(fault.unit.cause, Cause::Discard | Cause::Unsupported) =>
        {
            notes.push(format!(
                "{name}: its direct feed-through could not be probed: {}",
                fault.unit.message
            ));
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if gains.are_smooth() {
        return Ok(Some(gains));
    }
    let pairs = gains.nonsmooth.iter();
    let pairs = pairs.map(|pair| pair_name(state, component, outputs, *pair));
    let pairs: Vec<_> = pairs.collect();
    let consequence = match asked {
        Exchange::COMPENSATED => "its compensation is not exact",
        Exchange::AUTO => "it is exchanged stale",
        _ => "the energy it makes cannot be judged",
    };
    notes.push(format!(
        "{name}: the direct feed-through {} is not smooth; {consequence}",
        pairs.join(", ")
    ));
    Ok(Some(gains))
}

/// An input and an output that follows it, by their places.
fn pair_name(
    state: &SystemState,
    component: usize,
    outputs: &[usize],
    (output, input): (usize, usize),
) -> String {
    let first_input = state.graph.components[component].inputs.start;
    let variable = state.graph.inputs[first_input + input].variable;
    let input = state.graph.variable_name(component, variable);
    format!("{input} → {}", state.graph.output_name(outputs[output]))
}

fn probe_component(
    state: &mut SystemState,
    component: usize,
    outputs: &[usize],
    notes: &mut Vec<String>,
    step: &Step,
) -> Result<Gains, RunError> {
    let member = &state.units.members[component];
    let first = member.outputs.start;
    let output_handles: Vec<_> = outputs
        .iter()
        .map(|output| member.output_handles[output - first])
        .collect();
    let input_handles = member.input_handles.clone();
    let node = &state.graph.components[component];
    let description = std::sync::Arc::clone(&node.description);
    let inputs = &state.graph.inputs[member.inputs.clone()];
    let variables: Vec<_> = inputs
        .iter()
        .map(|input| &description.variables[input.variable])
        .collect();
    let at = state.courses.values[member.inputs.clone()].to_vec();
    let by_unit = node.description.capabilities.directional_derivatives;
    let gains = call(state, component, step, |unit| {
        probe(unit, &input_handles, &output_handles, &at, &variables)
    })?;
    if !by_unit {
        return Ok(gains);
    }
    let given = call(state, component, step, |unit| {
        read_derivatives(unit, &gains)
    });
    match given {
        Err(RunError::Fault(fault)) => {
            let denied = &mut state.units.members[component].denied;
            match denied.takes(|denied| &mut denied.directional, &fault.unit) {
                true => Ok(gains),
                false => Err(RunError::Fault(fault)),
            }
        }
        Ok(given) => {
            if let Some(pair) = contradiction(&gains, &given) {
                let place = pair.0 * gains.inputs.len() + pair.1;
                notes.push(format!(
                    "{}: the FMU gives the directional derivative {} of {}, and a change of the input shows {} at the \
                     start; gyrator takes what the FMU gives. If it is wrong, set `exchange = \"stale\"` for this component",
                    state.graph.components[component].name,
                    short(given.values[place]),
                    pair_name(state, component, outputs, pair),
                    short(gains.values[place])
                ));
            }
            Ok(given)
        }
        Err(error) => Err(error),
    }
}

/// Whether the component's outputs may be read again between steps, as it is started.
pub(crate) fn declares_safe(node: &Component) -> bool {
    let description = &node.description;
    let taken_back = |variable: usize| {
        node.start_values
            .contains(&(variable, Value::Boolean(true)))
    };
    description.capabilities.fresh_outputs
        && !description.fresh_outputs_unless.is_some_and(taken_back)
}

fn not_declared_safe(node: &Component) -> String {
    format!(
        "{}: fresh exchange reads outputs after inputs were set without a step between, which FMI 2.0 §4.2.4 \
         forbids and this unit does not declare safe (C-28); `exchange = \"compensated\"` stays within the standard",
        node.name
    )
}
