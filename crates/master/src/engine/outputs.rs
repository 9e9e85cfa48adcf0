//! Outputs after a step: read from the units, shown when their time has come, checked, and kept as
//! the past of the inputs that they feed. The execution of the plan calls it; it gives units nothing.

use crate::fault::{Cause, Fault, UnitFault};
use crate::graph::{Graph, Signal};
use crate::plan::{Selection, Store};
use crate::state::{Member, Signals, SystemState, Units};
use crate::step::Step;
use crate::unit::Value;

/// Reads the real outputs of the due components into a store: the published outputs, or those ahead of their time.
pub(crate) fn read(
    state: &mut SystemState,
    selection: &Selection,
    store: Store,
    step: &Step,
) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        signals,
        counters,
        ..
    } = state;
    let Units {
        members, groups, ..
    } = units;
    let store = match store {
        Store::Shown => &mut signals.reals,
        Store::Ahead => &mut signals.ahead,
    };
    for group in &selection.groups {
        let group = &mut groups[*group];
        if group.is_due_at(selection.phase, step) {
            counters.get_calls += group.read;
            let read = group.read(members, store);
            read.map_err(|(component, cause)| graph.fault(component, step, cause))?;
        }
    }
    for &component in &selection.others {
        let member = &mut members[component];
        let outputs = &mut store[member.outputs.clone()];
        if !outputs.is_empty() && member.is_due_at(selection.phase, step) {
            counters.get_calls += 1;
            let read = member.slot.get_reals(&member.output_handles, outputs);
            read.map_err(|cause| graph.fault(component, step, cause))?;
        }
    }
    Ok(())
}

/// Shows the outputs that were read ahead, of the components whose communication step ends with this macro-step.
pub(crate) fn show(state: &mut SystemState, selection: &Selection, step: &Step) {
    let SystemState { units, signals, .. } = state;
    for component in &selection.components {
        let member = &units.members[*component];
        if member.is_due(step.index + 1) {
            let outputs = member.outputs.clone();
            signals.reals[outputs.clone()].copy_from_slice(&signals.ahead[outputs]);
        }
    }
}

/// Reads the discrete outputs of the components whose communication step ends with this macro-step. A
/// change is an event: the past of the component's outputs no longer predicts them.
pub(crate) fn read_signals(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        signals,
        courses,
        ..
    } = state;
    for (index, signal) in graph.signals.iter().enumerate() {
        let member = &mut units.members[signal.component];
        if !member.is_due(step.index + 1) {
            continue;
        }
        let before = signals.discrete[index].clone();
        if signals.is_read_ahead[index] {
            signals.discrete[index].clone_from(&signals.discrete_ahead[index]);
        } else {
            read_signal(graph, member, signal, &mut signals.discrete[index], step)?;
        }
        if before != signals.discrete[index] {
            for input in &mut courses.inputs {
                if input.source_component == signal.component {
                    input.forget();
                }
            }
            signals.had_event = true;
        }
    }
    Ok(())
}

/// Reads the discrete outputs of the due components that units after them receive.
pub(crate) fn read_signals_ahead(
    state: &mut SystemState,
    selection: &Selection,
    step: &Step,
) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        signals,
        ..
    } = state;
    for (index, signal) in graph.signals.iter().enumerate() {
        let member = &mut units.members[signal.component];
        let is_wanted =
            signals.is_read_ahead[index] && selection.components.contains(&signal.component);
        if is_wanted && member.is_due_at(selection.phase, step) {
            let store = &mut signals.discrete_ahead[index];
            read_signal(graph, member, signal, store, step)?;
        }
    }
    Ok(())
}

fn read_signal(
    graph: &Graph,
    member: &mut Member,
    signal: &Signal,
    value: &mut Value,
    step: &Step,
) -> Result<(), Fault> {
    let variables = &graph.components[signal.component].description.variables;
    let read = member
        .slot
        .get_value(variables[signal.variable].handle, value);
    read.map_err(|cause| graph.fault(signal.component, step, cause))
}

/// Gives the extrapolations the outputs that were published `now`, s since the start, before the macro-step with the `next` index.
pub(crate) fn observe(state: &mut SystemState, next: u64, now: f64) {
    let SystemState {
        signals, courses, ..
    } = state;
    for index in &courses.extrapolated {
        let (input, slope) = (&mut courses.inputs[*index], courses.slopes[*index]);
        if input.is_fed_before(next) {
            signals.had_event |= input.observe(&signals.reals, slope, now);
        }
    }
}

/// Refuses published outputs that are NaN or infinite.
#[inline]
pub(crate) fn check_finite(graph: &Graph, signals: &Signals, step: &Step) -> Result<(), Fault> {
    if signals.accepts_non_finite || all_finite(&signals.reals) {
        return Ok(());
    }
    first_non_finite(graph, signals, step)
}

#[cold]
fn first_non_finite(graph: &Graph, signals: &Signals, step: &Step) -> Result<(), Fault> {
    let found = signals.reals.iter().position(|value| !value.is_finite());
    let Some(output) = found else { return Ok(()) };
    let name = graph.output_name(output);
    let message = format!("{name} is {}", signals.reals[output]);
    let cause = UnitFault::new("output", Cause::NotFinite, message);
    let ended = Step {
        time: step.end(&graph.clock),
        ..*step
    };
    Err(graph.fault(graph.outputs[output].component, &ended, cause))
}

/// Whether no value is NaN or infinite. In integers, without branches, so that several are looked at in one instruction: where all
/// bits of an exponent are set, one more carries into the bit before it.
#[inline]
fn all_finite(values: &[f64]) -> bool {
    const SIGN: u64 = 1 << 63;
    const LAST_OF_EXPONENT: u64 = 1 << 52;
    let carried = |value: &f64| (value.to_bits() & !SIGN) + LAST_OF_EXPONENT;
    let any = values.iter().map(carried);
    any.fold(0, |any, other| any | other) & SIGN == 0
}

#[cfg(test)]
mod tests {
    use super::all_finite;

    #[test]
    fn nan_and_infinity_are_found_in_every_place() {
        let finite = [
            0.0,
            -0.0,
            1.0,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
        ];
        assert!(all_finite(&finite) && all_finite(&[]));
        // Few and many of them.
        for others in [0, 1, 2, 33] {
            let mut values = [&finite[..], &vec![0.5; others]].concat();
            assert!(all_finite(&values));
            for other in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                for place in 0..values.len() {
                    let value = std::mem::replace(&mut values[place], other);
                    assert!(
                        !all_finite(&values),
                        "{other} in {place} of {}",
                        values.len()
                    );
                    values[place] = value;
                }
            }
        }
    }
}
