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
/// change is an event. What it has to do with the component's real outputs shows in these: one that jumps forgets its past, and
/// a counter changes nothing.
pub(crate) fn read_signals(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        signals,
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

/// Whether no value is NaN or infinite. In integers, without branches, so that several are looked at in one instruction: if
/// all bits of an exponent are set, one more carries into the bit before it.
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
    use crate::unit::{
        Causality, Handle, StepOutcome, Unit, UnitDescription, UnitResult, UnitWrapper, Value,
        Variable, VariableType,
    };
    use crate::{ClosureUnit, RunOptions, System};

    /// A unit with an Integer beside its outputs, which `number` makes of the number of steps.
    struct Numbered<U> {
        unit: U,
        description: UnitDescription,
        number: fn(i32) -> i32,
        steps: i32,
    }

    const NUMBER: Handle = 99;

    impl<U: Unit> UnitWrapper for Numbered<U> {
        fn inner(&self) -> &dyn Unit {
            &self.unit
        }

        fn inner_mut(&mut self) -> &mut dyn Unit {
            &mut self.unit
        }

        fn description(&self) -> &UnitDescription {
            &self.description
        }

        fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
            self.steps += 1;
            self.unit.step(time, step)
        }

        fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
            match handle {
                NUMBER => *value = Value::Integer((self.number)(self.steps)),
                _ => self.unit.get_value(handle, value)?,
            }
            Ok(())
        }
    }

    /// Greatest error of the values that a receiver is given, which takes values only, from 6.1 s on.
    fn worst_error(signal: fn(f64) -> f64, number: fn(i32) -> i32) -> f64 {
        let unit = ClosureUnit::new(&[], &[("y", signal(0.0))], move |call| {
            call.outputs[0] = signal(call.time + call.step);
        });
        let mut variables = unit.description().variables.clone();
        variables.push(Variable {
            kind: VariableType::Integer,
            ..Variable::real("n", NUMBER, Causality::Output)
        });
        let capabilities = unit.description().capabilities;
        let description = UnitDescription::new(variables, [].into(), capabilities);
        let source = Numbered {
            unit,
            description,
            number,
            steps: 0,
        };
        let mut system = System::new(0.1);
        system.stop_time(8.0).extrapolation("auto").method("jacobi");
        system.add("source", source);
        let sink = ClosureUnit::new(&[("u", 0.0)], &[("worst", 0.0)], move |call| {
            // The mean over the step, by Simpson's rule.
            let at = |part: f64| signal(call.time + part * call.step);
            let mean = (at(0.0) + 4.0 * at(0.5) + at(1.0)) / 6.0;
            if call.time > 6.05 {
                call.outputs[0] = f64::max(call.outputs[0], (call.inputs[0] - mean).abs());
            }
        });
        system.add("sink", sink);
        system.connect("source.y", "sink.u");
        let mut run = system.start(&RunOptions::default()).unwrap();
        run.run().unwrap();
        run.read_real("sink.worst").unwrap()
    }

    /// A counter beside a signal changes no bit of its prediction, and a signal that jumps forgets its past without one.
    #[test]
    fn a_signal_forgets_its_past_where_it_jumps_itself() {
        let (counter, none) = (|steps| steps, |_| 0);
        let smooth = |t: f64| (2.0 * t).sin();
        let alone = worst_error(smooth, none);
        assert_eq!(worst_error(smooth, counter).to_bits(), alone.to_bits());
        // Held values miss the mean by h·ω/2 = 0.1, the cubic by a third of (h·ω)⁴ = 1.6e-3.
        assert!(alone < 1e-3, "{alone}");
        // Of a jump by 1, the cubic would make 4 of it, or a mean of 2.
        let jumps = |t: f64| (2.0 * t).sin() + if t > 6.05 { 1.0 } else { 0.0 };
        let jumped = worst_error(jumps, none);
        assert_eq!(worst_error(jumps, counter).to_bits(), jumped.to_bits());
        assert!(jumped < 0.15, "{jumped}");
    }

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
