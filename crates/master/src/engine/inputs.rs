//! Inputs of the coming step: prepared from the published signals, replaced by values of units that
//! have stepped before, given to the units.

use super::scenario::{keep_transformations, note_wires, value_of_wire};
use crate::counters::Counters;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::plan::Store;
use crate::state::{Courses, Member, RunningScenario, Signals, SystemState, Units};
use crate::step::Step;
use crate::unit::Value;

/// Prepares the courses of a component's inputs over its step, which starts `now`, s since the start.
#[inline]
pub(crate) fn prepare(
    member: &Member,
    courses: &mut Courses,
    signals: &Signals,
    step: &Step,
    now: f64,
) {
    let range = member.inputs.clone();
    let length = step.size * member.every as f64;
    let values = courses.values[range.clone()].iter_mut();
    for (value, input) in values.zip(&mut courses.inputs[range]) {
        *value = input.prepare(&signals.reals, now, length);
    }
}

/// Sets the inputs of a component, unless it follows their curves by itself.
#[inline]
pub(crate) fn give(
    graph: &Graph,
    units: &mut Units,
    courses: &Courses,
    counters: &mut Counters,
    component: usize,
    step: &Step,
) -> Result<(), Fault> {
    let member = &mut units.members[component];
    let values = &courses.values[member.inputs.clone()];
    if member.follows_curves || values.is_empty() {
        return Ok(());
    }
    counters.set_calls += 1;
    match member.slot.set_reals(&member.input_handles, values) {
        Ok(()) => Ok(()),
        Err(cause) => Err(graph.fault(component, step, cause)),
    }
}

/// Where a wire takes its value from in a macro-step: ahead of its time if its source has made its step, and this step ends no later than the
/// receiver's.
fn store_of(graph: &Graph, units: &Units, signals: &Signals, wire: usize, step: &Step) -> Store {
    let described = &graph.signal_wires[wire];
    let source = &units.members[graph.source_component(described)];
    let receiver = &units.members[described.component];
    let ends = receiver.every.is_multiple_of(source.every) || source.is_due(step.index + 1);
    match signals.is_led[wire] && ends {
        true => Store::Ahead,
        false => Store::Shown,
    }
}

/// Sets the inputs of wires of a component that makes its step at its end, as far as their sources have made theirs before it.
pub(crate) fn give_led_signals(
    graph: &Graph,
    units: &mut Units,
    signals: &Signals,
    scenario: &mut RunningScenario,
    component: usize,
    step: &Step,
) -> Result<(), Fault> {
    keep_transformations(graph, scenario, component, false);
    let wires = graph.signal_wires.iter().zip(&signals.is_led).enumerate();
    for (index, _) in wires.filter(|(_, (wire, is_led))| **is_led && wire.component == component) {
        let place = (index, store_of(graph, units, signals, index, step));
        give_wire(graph, units, signals, scenario, place, step)?;
    }
    note_wires(graph, scenario, signals, component, |wire| {
        let is_led = signals.is_led[wire];
        is_led.then(|| store_of(graph, units, signals, wire, step))
    });
    Ok(())
}

/// Sets the input of a wire to the value that it has in a store.
fn give_wire(
    graph: &Graph,
    units: &mut Units,
    signals: &Signals,
    scenario: &RunningScenario,
    (index, store): (usize, Store),
    step: &Step,
) -> Result<(), Fault> {
    let wire = &graph.signal_wires[index];
    let handle = graph.components[wire.component].description.variables[wire.variable].handle;
    let slot = &mut units.members[wire.component].slot;
    let mut number = Value::Real(0.0);
    let channels = &scenario.channels;
    let value = value_of_wire(graph, channels, signals, (index, store), &mut number);
    let given = value.and_then(|value| slot.set_value(handle, value));
    given.map_err(|cause| graph.fault(wire.component, step, cause))
}

/// Sets the inputs of wires of the due components among `components`.
pub(crate) fn give_signals(
    graph: &Graph,
    units: &mut Units,
    signals: &Signals,
    scenario: &mut RunningScenario,
    components: &[usize],
    step: &Step,
) -> Result<(), Fault> {
    for (index, wire) in graph.signal_wires.iter().enumerate() {
        let is_due = units.members[wire.component].is_due(step.index);
        if components.contains(&wire.component) && is_due {
            let place = (index, store_of(graph, units, signals, index, step));
            give_wire(graph, units, signals, scenario, place, step)?;
        }
    }
    if !scenario.channels.is_empty() {
        for &component in components {
            if units.members[component].is_due(step.index) {
                note_wires(graph, scenario, signals, component, |wire| {
                    Some(store_of(graph, units, signals, wire, step))
                });
            }
        }
    }
    Ok(())
}

/// Prepares the courses of all inputs over a step of this length, s, which starts `now`, s since the start.
#[inline]
pub(crate) fn prepare_all(courses: &mut Courses, signals: &Signals, length: f64, now: f64) {
    for (value, input) in courses.values.iter_mut().zip(&mut courses.inputs) {
        *value = input.prepare(&signals.reals, now, length);
    }
}

/// Prepares and gives the inputs of all components where each has one value over the macro-step.
#[inline(always)]
pub(crate) fn feed_straight(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        counters,
        ..
    } = state;
    if !units.uniform {
        let now = graph.clock.duration(step.from);
        prepare_all(courses, signals, step.size, now);
    }
    // Slices, so that their places are not read again after each store.
    let (members, values, reals) = (
        &mut units.members[..],
        &mut courses.values[..],
        &signals.reals[..],
    );
    if units.uniform {
        for (value, source) in values.iter_mut().zip(&*courses.sources) {
            *value = reals[*source as usize];
        }
    }
    counters.set_calls += members.len() as u64;
    for (component, member) in members.iter_mut().enumerate() {
        let values = &values[member.inputs.clone()];
        if let Err(cause) = member.slot.set_reals(&member.input_handles, values) {
            return Err(graph.fault(component, step, cause));
        }
    }
    Ok(())
}
