//! The acts of a macro-step, as functions over the parts of the [state](crate::state) that they need:
//!
//! | act | effect |
//! |---|---|
//! | [`head`] | feed-forward and corrections are added to the coming courses |
//! | [`inputs::prepare`] | the course of an input over its component's step, from the published signals |
//! | [`inputs::replace`] | another course in its place, from units that have stepped before |
//! | [`inputs::give`] | the value at the start of the course is set on the unit |
//! | [`steps`] | the communication step |
//! | [`outputs::read`] | outputs are read into a store: published or ahead of their time |
//! | [`outputs::show`] | outputs that were read ahead are published when their time has come |
//! | [`tail`] | discrete outputs, slopes, exchange of direct feed-through, finite check, pasts |

mod corrections;
mod feed_forward;
mod held_values;
mod initialization;
pub(crate) mod inputs;
mod interface_model;
pub(crate) mod outputs;
mod scenario;
mod slopes;
pub(crate) mod steps;
mod substeps;
mod turns;

pub(crate) use feed_forward::add_feed_forward;
pub(crate) use held_values::{give_held_values, write_variable};
pub(crate) use initialization::initialize;
pub(crate) use scenario::{
    add_scenario, begin_scenario, extend_scenario, give_free, has_free_channel, takes_free,
    value_of_wire,
};
pub(crate) use turns::{Passing, Turns, step as step_in_turns};

use crate::exchange::refresh;
use crate::fault::Fault;
use crate::state::{Member, SystemState};
use crate::step::Step;
use crate::unit::{UnitResult, Value};

/// Prepares the state for its run: sources of slopes, traces, interface models, and how each input is
/// given.
pub(crate) fn set_up(state: &mut SystemState) {
    slopes::find_slopes(state);
    interface_model::set_up(state);
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
    units.uniform = !units.step_in_turns
        && graph.interface_models.is_empty()
        && units.members.iter().all(Member::runs_straight);
    courses.all_hold = courses
        .inputs
        .iter()
        .all(|input| input.extrapolation.is_none());
}

/// Selects whether the phases can run straight, once everything is known that could prevent it.
pub(crate) fn select_phases(state: &mut SystemState) {
    let only_reals = state.signals.discrete.is_empty() && state.graph.signal_wires.is_empty();
    state.units.is_straight = state.units.uniform
        && only_reals
        && state.exchange.passes.is_empty()
        && state.scenario.channels.is_empty()
        && state.units.pool.is_none();
}

/// Computes the learned feed-forward and the corrections that precede the inputs of a step.
///
/// # Errors
/// A unit that refuses the derivatives that a correction needs.
#[inline(always)]
pub(crate) fn head(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    if state.courses.feed_forward.is_empty() && state.bonds.correctors.is_empty() {
        return Ok(());
    }
    add_to_courses(state, step)
}

#[inline(never)]
fn add_to_courses(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    feed_forward::play(&mut state.courses, &state.signals, step);
    if !state.bonds.correctors.is_empty() {
        corrections::correct(state, step)?;
    }
    scenario::take_back_additions(&state.scenario, &mut state.courses);
    Ok(())
}

/// Feeds, steps and publishes all components, for methods that treat them alike.
///
/// # Errors
/// The first refused call, or the first value that is NaN or infinite.
#[inline(always)]
pub(crate) fn step_all(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    if state.units.is_straight {
        step_all_straight(state, step)
    } else {
        step_all_as_needed(state, step)
    }
}

#[inline(never)]
fn step_all_as_needed(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    if !state.models.running.is_empty() {
        return interface_model::step(state, step);
    }
    let is_uniform = state.units.uniform;
    if is_uniform {
        inputs::feed_straight(state, step)?;
    } else {
        feed_due(state, step)?;
    }
    let SystemState {
        graph,
        units,
        courses,
        signals,
        scenario,
        counters,
        all,
        ..
    } = &mut *state;
    inputs::give_signals(graph, units, signals, scenario, all, step)?;
    if is_uniform && units.pool.is_none() {
        steps::step_straight(state, step)?;
    } else {
        steps::step(graph, units, courses, counters, all, step)?;
    }
    if is_uniform {
        outputs::publish_straight(state, step)?;
    } else {
        let SystemState {
            graph,
            units,
            signals,
            counters,
            all,
            ..
        } = &mut *state;
        outputs::read_due(graph, units, &mut signals.reals, counters, all, step)?;
    }
    tail(state, step)
}

// A function of its own, whose loops keep what they need in registers.
#[inline(never)]
fn step_all_straight(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    inputs::feed_straight(state, step)?;
    steps::step_straight(state, step)?;
    outputs::publish_straight(state, step)?;
    outputs::check_finite(&state.graph, &state.signals, step)
}

fn feed_due(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        counters,
        ..
    } = state;
    let now = graph.clock.duration(step.from);
    for component in 0..units.members.len() {
        if units.members[component].is_due(step.index) {
            inputs::prepare(&units.members[component], courses, signals, step, now);
            inputs::give(graph, units, courses, counters, component, step)?;
        }
    }
    Ok(())
}

/// Completes a step once the real outputs are published: the other outputs, the exchange of direct
/// feed-through, and the pasts of the inputs.
pub(crate) fn tail(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let next = step.index + 1;
    state.signals.had_event = false;
    if !state.signals.discrete.is_empty() {
        outputs::read_signals(
            &state.graph,
            &mut state.units,
            &mut state.signals,
            &mut state.courses,
            step,
        )?;
    }
    slopes::read_slopes(state, step, next)?;
    if state.courses.needs_substeps {
        substeps::observe_substeps(
            &state.graph,
            &state.units,
            &state.signals,
            &mut state.courses,
            step,
        );
    }
    if !state.scenario.channels.is_empty() {
        let now = state.graph.clock.duration(step.from + step.length);
        scenario::advance(state, step.end(&state.graph.clock), next, now);
    }
    // A unit that has ended the simulation accepts no further inputs (FMI 2.0 §4.2.4).
    if !state.exchange.passes.is_empty() {
        if state.units.terminated.is_none() {
            let now = state.graph.clock.duration(step.from + step.length);
            refresh::refresh(state, step, next, now)?;
        } else {
            state.signals.exchanged.fill(0.0);
        }
    }
    outputs::check_finite(&state.graph, &state.signals, step)?;
    if !state.courses.all_hold {
        let now = state.graph.clock.duration(step.from + step.length);
        outputs::observe(
            &state.units,
            &mut state.signals,
            &mut state.courses,
            next,
            now,
        );
    }
    Ok(())
}

/// Lowest order of extrapolation that is in use at the inputs of the bonds, or at all inputs where there are no
/// bonds.
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
