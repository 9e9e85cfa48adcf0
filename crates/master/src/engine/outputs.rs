//! Outputs after a step: read from the units, shown when their time has come, checked, and kept as
//! the past of the inputs that they feed.

use gyrator_thread_team::{Four, Loops, with_wide_registers};

use crate::counters::Counters;
use crate::fault::{Cause, Fault, UnitFault};
use crate::graph::{Graph, Signal};
use crate::state::{Courses, Member, Signals, SystemState, Units};
use crate::step::{Phase, Step};
use crate::unit::Value;

/// Reads the real outputs of a component into `store`: the published outputs, or those ahead of their
/// time.
#[inline]
pub(crate) fn read(
    graph: &Graph,
    units: &mut Units,
    store: &mut [f64],
    counters: &mut Counters,
    component: usize,
    step: &Step,
) -> Result<(), Fault> {
    let member = &mut units.members[component];
    let outputs = &mut store[member.outputs.clone()];
    if outputs.is_empty() {
        return Ok(());
    }
    counters.get_calls += 1;
    match member.slot.get_reals(&member.output_handles, outputs) {
        Ok(()) => Ok(()),
        Err(cause) => Err(graph.fault(component, step, cause)),
    }
}

/// Shows the outputs that were read ahead, of those among `components` whose communication step ends with this
/// macro-step.
pub(crate) fn show(units: &Units, components: &[usize], signals: &mut Signals, step: &Step) {
    for &component in components {
        let member = &units.members[component];
        if member.is_due(step.index + 1) {
            let outputs = member.outputs.clone();
            signals.reals[outputs.clone()].copy_from_slice(&signals.ahead[outputs]);
        }
    }
}

/// Reads and shows the real outputs of all components where each steps with the macro-step.
#[inline(always)]
pub(crate) fn publish_straight(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        signals,
        counters,
        ..
    } = state;
    let (members, reals) = (&mut units.members[..], &mut signals.reals[..]);
    counters.get_calls += members.len() as u64;
    for (component, member) in members.iter_mut().enumerate() {
        let outputs = &mut reals[member.outputs.clone()];
        if let Err(cause) = member.slot.get_reals(&member.output_handles, outputs) {
            return Err(graph.fault(component, step, cause));
        }
    }
    Ok(())
}

/// Reads the discrete outputs of the components whose communication step ends with this macro-step. A
/// change is an event: the past of the component's outputs no longer predicts them.
pub(crate) fn read_signals(
    graph: &Graph,
    units: &mut Units,
    signals: &mut Signals,
    courses: &mut Courses,
    step: &Step,
) -> Result<(), Fault> {
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
            let mut inputs = courses.inputs.iter_mut();
            inputs
                .by_ref()
                .filter(|input| input.source_component == signal.component)
                .for_each(crate::state::InputCourse::forget);
            signals.had_event = true;
        }
    }
    Ok(())
}

/// Reads the discrete outputs, of those among `components` that are due in `phase`, that units after them receive.
pub(crate) fn read_signals_ahead(
    graph: &Graph,
    units: &mut Units,
    signals: &mut Signals,
    (components, phase): (&[usize], Phase),
    step: &Step,
) -> Result<(), Fault> {
    for (index, signal) in graph.signals.iter().enumerate() {
        let member = &mut units.members[signal.component];
        let is_wanted = signals.is_read_ahead[index] && components.contains(&signal.component);
        if is_wanted && member.is_due_at(phase, step) {
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

/// Gives the extrapolations the outputs that were published `now`, s since the start.
pub(crate) fn observe(
    units: &Units,
    signals: &mut Signals,
    courses: &mut Courses,
    next: u64,
    now: f64,
) {
    for (input, slope) in courses.inputs.iter_mut().zip(&courses.slopes) {
        if units.members[input.source_component].is_due(next) {
            signals.had_event |= input.observe(&signals.reals, *slope, now);
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

/// So few values are looked at one by one: a register of several would wait for the numbers that FMUs have just written.
const FEW: usize = 8;

/// Whether no value is NaN or infinite.
#[inline(always)]
pub(super) fn all_finite(values: &[f64]) -> bool {
    if values.len() > FEW {
        return with_wide_registers(Finite(values));
    }
    values.iter().all(|value| value.is_finite())
}

/// Does the work of [`all_finite`] for many values.
struct Finite<'a>(&'a [f64]);

impl Loops for Finite<'_> {
    type Output = bool;

    /// In integers: where all bits of an exponent are set, one more carries into the bit before it.
    #[inline(always)]
    fn run<F: Four>(self) -> bool {
        const SIGN: u64 = 1 << 63;
        const LAST_OF_EXPONENT: u64 = 1 << 52;
        let carried = |value: &f64| (value.to_bits() & !SIGN) + LAST_OF_EXPONENT;
        let any = self.0.iter().map(carried);
        any.fold(0, |any, other| any | other) & SIGN == 0
    }
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
