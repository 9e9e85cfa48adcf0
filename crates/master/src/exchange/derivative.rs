//! ∂output/∂input at the present point, from the best source that there is.

use super::probing::CentralDifference;
use super::refresh::probed_gain;
use crate::exchange_mode::Exchange;
use crate::fault::{Fault, UnitFault};
use crate::graph::Graph;
use crate::state::SystemState;
use crate::step::Step;
use crate::unit::UnitResult;

/// ∂output/∂input at the present point where the output stays stale, else 0.
pub(crate) fn of_stale(
    state: &mut SystemState,
    output: usize,
    input: usize,
    step: &Step,
) -> Result<f64, Fault> {
    let component = state.graph.outputs[output].component;
    let is_stale = state.exchange.modes[component] == Exchange::STALE;
    if is_stale && feeds_through(&state.graph, output, input) {
        derivative(state, output, input, step)
    } else {
        Ok(0.0)
    }
}

/// ∂output/∂input at the present point, 0 without direct feed-through.
pub(crate) fn of_any(
    state: &mut SystemState,
    output: usize,
    input: usize,
    step: &Step,
) -> Result<f64, Fault> {
    let component = state.graph.outputs[output].component;
    let is_own = state.courses.inputs[input].component == component;
    if is_own && feeds_through(&state.graph, output, input) {
        derivative(state, output, input, step)
    } else {
        Ok(0.0)
    }
}

/// ∂output/∂input at the present point of one component, from the best source that there is.
pub(crate) fn derivative(
    state: &mut SystemState,
    output: usize,
    input: usize,
    step: &Step,
) -> Result<f64, Fault> {
    let component = state.graph.outputs[output].component;
    let capabilities = state.graph.components[component].description.capabilities;
    let is_denied = state.units.members[component].denied.directional;
    let gain = if capabilities.directional_derivatives && !is_denied {
        state.counters.derivative_calls += 1;
        match by_unit(state, component, output, input) {
            Err(fault) if denies(state, component, &fault) => {
                return derivative(state, output, input, step);
            }
            gain => gain,
        }
    } else if capabilities.fresh_outputs {
        by_trial(state, component, output, input)
    } else {
        Ok(probed_gain(&state.exchange, output, input))
    };
    gain.map_err(|cause| state.graph.fault(component, step, cause))
}

/// Whether a fault shows that a component has no directional derivatives.
pub(super) fn denies(state: &mut SystemState, component: usize, fault: &UnitFault) -> bool {
    let denied = &mut state.units.members[component].denied;
    denied.takes(|denied| &mut denied.directional, fault)
}

fn feeds_through(graph: &Graph, output: usize, input: usize) -> bool {
    let source = &graph.outputs[output];
    let description = &graph.components[source.component].description;
    let inputs = description.feedthrough.get(&source.variable);
    inputs.is_some_and(|inputs| inputs.contains(&graph.inputs[input].variable))
}

pub(super) fn by_unit(
    state: &mut SystemState,
    component: usize,
    output: usize,
    input: usize,
) -> UnitResult<f64> {
    let member = &mut state.units.members[component];
    let output = member.output_handles[output - member.outputs.start];
    let input = member.input_handles[input - member.inputs.start];
    let mut gain = [0.0];
    let unit = member.slot.unit();
    unit.directional_derivative(&[output], &[input], &[1.0], &mut gain)?;
    Ok(gain[0])
}

/// Moves the input a little, reads the output again and puts the input back.
fn by_trial(
    state: &mut SystemState,
    component: usize,
    output: usize,
    input: usize,
) -> UnitResult<f64> {
    let value = state.courses.values[input];
    let description = &state.graph.components[component].description;
    let variable = &description.variables[state.graph.inputs[input].variable];
    let difference = CentralDifference::about(value, variable, 1.0);
    let member = &mut state.units.members[component];
    let output = [member.output_handles[output - member.outputs.start]];
    let input = [member.input_handles[input - member.inputs.start]];
    let mut responses = [0.0; 2];
    for (response, tried) in responses.iter_mut().zip(difference.points(1.0)) {
        member.slot.set_reals(&input, &[tried])?;
        let response = std::slice::from_mut(response);
        member.slot.get_reals(&output, response)?;
    }
    member.slot.set_reals(&input, &[value])?;
    state.counters.set_calls += 3;
    state.counters.get_calls += 2;
    Ok(difference.derivative(responses[0] - responses[1], 1.0))
}
