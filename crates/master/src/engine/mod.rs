//! The acts of a macro-step, as functions over the parts of the [state](crate::state) that they need. [`execute`] makes a
//! macro-step by doing those that the [plan](crate::plan) lists.

mod corrections;
mod execute;
mod feed_forward;
mod held_values;
mod initial_loops;
mod initialization;
pub(crate) mod inputs;
pub(crate) mod outputs;
mod scenario;
mod slopes;
pub(crate) mod steps;
mod substeps;

pub(crate) use execute::execute;
pub(crate) use feed_forward::add_feed_forward;
pub(crate) use held_values::{give_held_values, write_variable};
pub(crate) use initialization::initialize;
pub(crate) use scenario::{
    add_scenario, begin_scenario, extend_scenario, give_free, has_free_channel, takes_free,
    value_of_wire,
};

use crate::graph::SignalSource;
use crate::plan::{Effect, Operation, StepPlan};
use crate::state::{NO_COPY, SystemState};
use crate::unit::{UnitResult, Value};

/// Prepares the state for its run by `plan`: sources of slopes, traces, interface models, the courses that the plan
/// replaces, and how each input is given.
pub(crate) fn set_up(state: &mut SystemState, plan: &StepPlan) {
    slopes::find_slopes(state);
    for stage in &plan.stages {
        for effect in stage.effects(&state.graph) {
            if let Effect::Replaces {
                input,
                degree,
                is_mean,
                ..
            } = effect
            {
                let course = &mut state.courses.inputs[input];
                course.degree = course.degree.max(degree);
                course.takes_mean = is_mean;
                course.is_led = !is_mean;
                state.units.replaces_courses = true;
            }
        }
    }
    for operation in &plan.operations {
        if let Operation::Postpone(component) = operation {
            state.units.members[*component].steps_late = true;
        }
    }
    for &wire in &plan.led_wires {
        state.signals.is_led[wire] = true;
        if let SignalSource::Discrete(signal) = state.graph.signal_wires[wire].source {
            state.signals.is_read_ahead[signal] = true;
        }
    }
    substeps::find_traces(state);
    select_ways_of_giving(state);
}

/// Selects how each input is given, once the additions to it are known.
pub(crate) fn select_ways_of_giving(state: &mut SystemState) {
    let SystemState {
        graph,
        units,
        courses,
        bonds,
        scenario,
        ..
    } = state;
    corrections::mark_inputs(bonds, courses);
    scenario::mark_inputs(scenario, courses);
    feed_forward::mark_inputs(courses);
    for member in &mut units.members {
        member.select_way_of_giving(&courses.inputs[member.inputs.clone()]);
    }
    // Such parts also look at courses of inputs that they do not change.
    let are_looked_at = units.replaces_courses
        || !graph.interface_models.is_empty()
        || !bonds.correctors.is_empty()
        || !courses.feed_forward.is_empty();
    for (copy, input) in courses.copies.iter_mut().zip(&courses.inputs) {
        let follows_curves = units.members[input.component].follows_curves;
        *copy = match input.is_plain_copy() && !follows_curves && !are_looked_at {
            true => input.source as u32,
            false => NO_COPY,
        };
    }
    let inputs = courses.inputs.iter().enumerate();
    let extrapolated = inputs.filter(|(_, input)| input.extrapolation.is_some());
    courses.extrapolated = extrapolated.map(|(index, _)| index).collect();
}

/// Lowest order of extrapolation that is in use at the inputs of the bonds, or at all inputs if the system
/// has no bonds.
pub(crate) fn order_in_use(state: &SystemState) -> usize {
    let axes = state.graph.bonds.iter().flat_map(|bond| &bond.axes);
    let inputs = axes.flat_map(|axis| [axis.effort_input, axis.flow_input]);
    let order = |input: usize| {
        let course = &state.courses.inputs[input];
        let order = course.extrapolation.as_ref().map_or(0, |e| e.order());
        let takes = state.units.members[course.component].degree_taken();
        // A curve that is cut keeps the order that it is cut to.
        if course.degree > takes {
            order.min(takes)
        } else {
            order
        }
    };
    let all = 0..state.courses.inputs.len();
    match state.graph.bonds.is_empty() {
        true => all.map(order).min().unwrap_or(0),
        false => inputs.map(order).min().unwrap_or(0),
    }
}

/// Reads a variable of a component by its index.
pub(crate) fn read_variable(
    state: &mut SystemState,
    component: usize,
    variable: usize,
) -> UnitResult<Value> {
    let described = &state.graph.components[component].description.variables[variable];
    let mut value = crate::state::empty_value(described.kind);
    let slot = &mut state.units.members[component].slot;
    slot.get_value(described.handle, &mut value)?;
    Ok(value)
}
