//! Actions of a scenario while a system runs. Connected inputs are acted on as part of their conversion,
//! so that pasts, exchange, ledger and results have the value that is applied; free variables are set.

use crate::curve::Curve;
use crate::fault::Fault;
use crate::scenario::Transformation;
use crate::state::{Courses, RunningScenario, SystemState, Target};
use crate::step::Step;
use crate::unit::Value;

/// Has a scenario act from the communication point `start`, s, on.
pub(crate) fn add_scenario(state: &mut SystemState, scenario: RunningScenario, start: f64) {
    state.scenario = scenario;
    advance(state, start, 0, 0.0);
    super::select_ways_of_giving(state);
}

/// Marks the inputs that a scenario acts on: they are no plain copies.
pub(super) fn mark_inputs(scenario: &RunningScenario, courses: &mut Courses) {
    for channel in &scenario.channels {
        if let Target::Connected(input) = channel.target {
            courses.inputs[input].is_corrected = true;
        }
    }
}

/// Takes corrections and feed-forward back from inputs whose value an action replaces.
pub(super) fn take_back_additions(scenario: &RunningScenario, courses: &mut Courses) {
    for channel in &scenario.channels {
        if let Target::Connected(input) = channel.target
            && courses.inputs[input].is_replaced
        {
            courses.inputs[input].correction = Curve::default();
            courses.inputs[input].feed_forward = Curve::default();
        }
    }
}

/// Begins and ends the actions that are due at the communication point `time`, s, with which the
/// macro-step `next` begins, `now` s since the start.
pub(crate) fn advance(state: &mut SystemState, time: f64, next: u64, now: f64) {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        scenario: RunningScenario { channels, done },
        ..
    } = state;
    for channel in channels {
        let held = match channel.target {
            Target::Connected(input) => courses.values[input],
            Target::Free { given, .. } => given,
        };
        let has_changed = channel.advance(time, held, done);
        let Target::Connected(input) = channel.target else {
            continue;
        };
        let (described, course) = (&graph.inputs[input], &mut courses.inputs[input]);
        let plain = Transformation {
            factor: described.factor,
            offset: described.offset,
        };
        let applied = channel.transformation(time).after(plain);
        (course.factor, course.offset) = (applied.factor, applied.offset);
        course.is_replaced = applied.factor == 0.0 && described.factor != 0.0;
        if has_changed {
            signals.had_event = true;
            course.forget();
            if !units.members[course.source_component].is_due(next) {
                course.observe(&signals.reals, f64::NAN, now);
            }
        }
    }
}

/// Sets the free variables whose value has changed, before the step that begins at `step.time`.
///
/// # Errors
/// A unit that refuses.
pub(crate) fn give_free(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    for index in 0..state.scenario.channels.len() {
        let channel = &mut state.scenario.channels[index];
        let wanted = channel.transformation(step.time);
        let Target::Free {
            component,
            variable,
            base,
            given,
        } = &mut channel.target
        else {
            continue;
        };
        let value = wanted.of(*base);
        if value.to_bits() == given.to_bits() {
            continue;
        }
        *given = value;
        let (component, variable) = (*component, *variable);
        super::write_variable(state, component, variable, &Value::Real(value), step)?;
    }
    Ok(())
}

/// Reads the values that free variables have without the scenario, after initialization.
///
/// # Errors
/// A unit that refuses.
pub(crate) fn read_free(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    for index in 0..state.scenario.channels.len() {
        let Target::Free {
            component,
            variable,
            ..
        } = state.scenario.channels[index].target
        else {
            continue;
        };
        let value = super::read_variable(state, component, variable);
        let value = value.map_err(|cause| state.graph.fault(component, step, cause))?;
        if let (Value::Real(value), Target::Free { base, given, .. }) =
            (value, &mut state.scenario.channels[index].target)
        {
            (*base, *given) = (value, value);
        }
    }
    Ok(())
}

/// Takes a value that a program sets on a variable: one that a scenario acts on is set by the scenario,
/// with the next step. Returns whether it does.
pub(crate) fn takes_free(state: &mut SystemState, written: (usize, usize), value: &Value) -> bool {
    let mut channels = state.scenario.channels.iter_mut();
    let found = channels.find_map(|channel| match &mut channel.target {
        Target::Free {
            component,
            variable,
            base,
            ..
        } if (*component, *variable) == written => Some(base),
        _ => None,
    });
    match (found, value) {
        (Some(base), Value::Real(value)) => {
            *base = *value;
            true
        }
        _ => false,
    }
}
