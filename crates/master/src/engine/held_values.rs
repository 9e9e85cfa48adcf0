//! Values for components that are within a communication step, held until they may be set: nothing
//! is read from a unit after values were set without a step between (FMI 2.0 §4.2.4, C-28). The run gives
//! them before a macro-step, the operation `give held` within one; they step nothing.

use super::scenario::{keep_transformations, note_wires, value_of_wire};
use crate::fault::Fault;
use crate::graph::Graph;
use crate::plan::Store;
use crate::state::{HeldValue, Member, RunningScenario, Signals, SystemState, Units};
use crate::step::Step;
use crate::unit::Value;

/// Sets an input or parameter of a component from its next communication step on, and returns
/// whether the unit has the value already.
///
/// # Errors
/// A unit that refuses.
pub(crate) fn write_variable(
    state: &mut SystemState,
    component: usize,
    variable: usize,
    value: &Value,
    step: &Step,
) -> Result<bool, Fault> {
    let (graph, units) = (&state.graph, &mut state.units);
    let handle = graph.components[component].description.variables[variable].handle;
    let member = &units.members[component];
    if !steps_at_once(member, step) {
        units.held.push(HeldValue {
            component,
            handle,
            value: value.clone(),
            from: step.index.next_multiple_of(member.every),
        });
        return Ok(false);
    }
    give_held(graph, units, component, step)?;
    let result = units.members[component].slot.set_value(handle, value);
    result.map_err(|cause| graph.fault(component, step, cause))?;
    Ok(true)
}

/// Whether the component makes a communication step before anything is read from it.
fn steps_at_once(member: &Member, step: &Step) -> bool {
    member.is_due(step.index) && !member.steps_late
}

/// Sets the values that were held for the components whose communication step begins with `step`
/// and is made at once.
///
/// # Errors
/// A unit that refuses.
#[inline]
pub(crate) fn give_held_values(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    if state.units.held.is_empty() {
        return Ok(());
    }
    for component in 0..state.units.members.len() {
        if steps_at_once(&state.units.members[component], step) {
            give_held(&state.graph, &mut state.units, component, step)?;
        }
    }
    Ok(())
}

/// Sets the values that were held for a component's communication step that begins with `step`.
pub(super) fn give_held(
    graph: &Graph,
    units: &mut Units,
    component: usize,
    step: &Step,
) -> Result<(), Fault> {
    let slot = &mut units.members[component].slot;
    let mut result = Ok(());
    units.held.retain(|held| {
        let is_wanted = held.component == component && held.from <= step.index;
        if is_wanted && result.is_ok() {
            result = slot.set_value(held.handle, &held.value);
        }
        !is_wanted
    });
    result.map_err(|cause| graph.fault(component, step, cause))
}

/// Holds the discrete inputs of a component that begins its communication step with `step` and
/// makes it later, but for those whose sources make their steps before.
///
/// # Errors
/// An output that has no value of the type of its input.
pub(super) fn hold_signals(
    graph: &Graph,
    units: &mut Units,
    signals: &Signals,
    scenario: &mut RunningScenario,
    component: usize,
    step: &Step,
) -> Result<(), Fault> {
    keep_transformations(graph, scenario, component, true);
    let variables = &graph.components[component].description.variables;
    for (index, wire) in graph.signal_wires.iter().enumerate() {
        if wire.component == component && !signals.is_led[index] {
            let mut number = Value::Real(0.0);
            let channels = &scenario.channels;
            let place = (index, Store::Shown);
            let value = value_of_wire(graph, channels, signals, place, &mut number);
            let value = value.map_err(|cause| graph.fault(component, step, cause))?;
            units.held.push(HeldValue {
                component,
                handle: variables[wire.variable].handle,
                value: value.clone(),
                from: step.index,
            });
        }
    }
    note_wires(graph, scenario, signals, component, |wire| {
        (!signals.is_led[wire]).then_some(Store::Shown)
    });
    Ok(())
}
