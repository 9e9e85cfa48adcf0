//! Inputs of the coming step: prepared from the published signals, replaced by values of units that
//! have stepped before, given to the units. The execution of the plan calls it; it steps nothing and reads no output.

use std::ops::Range;

use super::scenario::{keep_transformations, note_wires, value_of_wire};
use crate::fault::Fault;
use crate::graph::Graph;
use crate::plan::{Selection, Store};
use crate::state::{Courses, NO_COPY, RunningScenario, Signals, SystemState, Units};
use crate::step::{Phase, Step};
use crate::unit::Value;

/// Prepares the courses of the inputs of the due components.
pub(crate) fn prepare(state: &mut SystemState, selection: &Selection, step: &Step) {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        ..
    } = state;
    let now = graph.clock.duration(step.from);
    for group in &selection.groups {
        let group = &units.groups[*group];
        if group.is_due_at(Phase::Begin, step) {
            let length = step.size * group.every as f64;
            for inputs in &group.inputs {
                prepare_inputs(courses, inputs.clone(), &signals.reals, (now, length));
            }
        }
    }
    for component in &selection.others {
        let member = &units.members[*component];
        if member.is_due(step.index) {
            let length = step.size * member.every as f64;
            prepare_inputs(
                courses,
                member.inputs.clone(),
                &signals.reals,
                (now, length),
            );
        }
    }
}

/// Prepares the courses of these inputs over a step that starts `now`, s since the start, and has this length, s.
#[inline]
fn prepare_inputs(
    courses: &mut Courses,
    inputs: Range<usize>,
    outputs: &[f64],
    (now, length): (f64, f64),
) {
    let values = courses.values[inputs.clone()].iter_mut();
    let copies = &courses.copies[inputs.clone()];
    for ((value, copy), input) in values.zip(copies).zip(&mut courses.inputs[inputs]) {
        *value = match *copy {
            NO_COPY => input.prepare(outputs, now, length),
            output => outputs[output as usize],
        };
    }
}

/// Sets the inputs of the due components, unless they follow their curves by themselves.
pub(crate) fn give(
    state: &mut SystemState,
    selection: &Selection,
    step: &Step,
) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        counters,
        ..
    } = state;
    let Units {
        members, groups, ..
    } = units;
    for group in &selection.groups {
        let group = &mut groups[*group];
        if group.is_due_at(selection.phase, step) {
            counters.set_calls += group.set;
            let given = group.set(members, &courses.values, step);
            given.map_err(|(component, cause)| graph.fault(component, step, cause))?;
        }
    }
    for &component in &selection.others {
        let member = &mut members[component];
        let values = &courses.values[member.inputs.clone()];
        let takes = !member.follows_curves && !values.is_empty();
        if takes && member.is_due_at(selection.phase, step) {
            counters.set_calls += 1;
            let given = member.slot.set_reals(&member.input_handles, values);
            given.map_err(|cause| graph.fault(component, step, cause))?;
        }
    }
    Ok(())
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

/// Sets the inputs of wires of the due components.
pub(crate) fn give_signals(
    state: &mut SystemState,
    selection: &Selection,
    step: &Step,
) -> Result<(), Fault> {
    let components = &selection.components;
    let SystemState {
        graph,
        units,
        signals,
        scenario,
        ..
    } = state;
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
