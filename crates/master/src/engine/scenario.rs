//! Actions of a scenario while a system runs. Connected inputs are acted on as part of their conversion,
//! so that pasts, exchange, ledger and results have the value that is applied; free variables are set. The operation
//! `scenario`; it steps nothing.

use crate::curve::Curve;
use crate::fault::{Cause, Fault, UnitFault};
use crate::graph::{Graph, SignalSource};
use crate::plan::Store;
use crate::scenario::{Transformation, number_of, value_of};
use crate::state::{
    Channel, Courses, Phase, RunningScenario, Signals, SystemState, Target, WireEnd,
};
use crate::step::Step;
use crate::unit::{UnitResult, Value};

/// Has a scenario act from the communication point `start`, s, on.
pub(crate) fn add_scenario(state: &mut SystemState, scenario: RunningScenario, start: f64) {
    state.scenario = scenario;
    advance(state, start, 0, 0.0, false);
    super::select_ways_of_giving(state);
}

/// Marks the inputs that a scenario acts on: they are not plain copies.
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

/// Begins and ends the actions that are due at the communication point `time`, s, with which the macro-step `next`
/// begins, `now` s since the start. `is_observed`: extrapolations have received the values of that point already,
/// and receive those for the inputs acted on again.
pub(crate) fn advance(state: &mut SystemState, time: f64, next: u64, now: f64, is_observed: bool) {
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
            // No step precedes the first one.
            _ if next == 0 => f64::NAN,
            Target::Connected(input) => courses.values[input],
            Target::Wired { given, .. } | Target::Free { given, .. } => given,
        };
        let has_changed = channel.advance(time, held, done);
        signals.had_event |= has_changed;
        apply(channel, graph, courses, time);
        let Target::Connected(input) = channel.target else {
            continue;
        };
        let course = &mut courses.inputs[input];
        if has_changed {
            course.forget();
            if is_observed || !units.members[course.source_component].is_due(next) {
                course.observe(&signals.reals, f64::NAN, now);
            }
        }
    }
}

/// Makes the actions that hold at the communication point `time`, s, part of the conversion of an input.
fn apply(channel: &mut Channel, graph: &Graph, courses: &mut Courses, time: f64) {
    let transformation = channel.transformation(time);
    match &mut channel.target {
        Target::Connected(input) => {
            let (described, course) = (&graph.inputs[*input], &mut courses.inputs[*input]);
            let plain = Transformation {
                factor: described.factor,
                offset: described.offset,
            };
            let whole = transformation.after(plain);
            (course.factor, course.offset) = (whole.factor, whole.offset);
            course.is_replaced = whole.factor == 0.0 && described.factor != 0.0;
        }
        Target::Wired { applied, .. } => *applied = transformation,
        Target::Free { .. } => {}
    }
}

/// The value of the input that a wire feeds, from the outputs of a store; `number` is memory for it.
///
/// # Errors
/// An output that has no value of the input's type, or an action that makes none of it.
pub(crate) fn value_of_wire<'v>(
    graph: &'v Graph,
    channels: &[Channel],
    signals: &'v Signals,
    (wire, store): (usize, Store),
    number: &'v mut Value,
) -> UnitResult<&'v Value> {
    let described = &graph.signal_wires[wire];
    if channel_at(channels, wire, WireEnd::Output).is_none()
        && channel_at(channels, wire, WireEnd::Input).is_none()
    {
        let (reals, discrete) = outputs_in(signals, store);
        return described.value(reals, discrete, number);
    }
    let output = acted_on_output(graph, channels, signals, (wire, store))?;
    let mut memory = Value::Real(0.0);
    let input = described.conversion.of(&output, &mut memory);
    let input = input.map_err(|reason| UnitFault::new("connection", Cause::Error, reason))?;
    *number = acted_on(channel_at(channels, wire, WireEnd::Input), input)?;
    Ok(number)
}

/// Real and other outputs: the published ones, or those ahead of their time.
fn outputs_in(signals: &Signals, store: Store) -> (&[f64], &[Value]) {
    match store {
        Store::Shown => (&signals.reals, &signals.discrete),
        Store::Ahead => (&signals.ahead, &signals.discrete_ahead),
    }
}

/// The value of the output that feeds a wire, as actions change it.
fn acted_on_output(
    graph: &Graph,
    channels: &[Channel],
    signals: &Signals,
    (wire, store): (usize, Store),
) -> UnitResult<Value> {
    let channel = channel_at(channels, wire, WireEnd::Output);
    let (reals, discrete) = outputs_in(signals, store);
    match graph.signal_wires[wire].source {
        SignalSource::Real(output) => acted_on(channel, &Value::Real(reals[output])),
        SignalSource::Discrete(signal) => acted_on(channel, &discrete[signal]),
    }
}

fn channel_at(channels: &[Channel], wire: usize, end: WireEnd) -> Option<&Channel> {
    let is_it = |channel: &&Channel| match channel.target {
        Target::Wired {
            wire: of, end: at, ..
        } => (of, at) == (wire, end),
        _ => false,
    };
    channels.iter().find(is_it)
}

fn acted_on(channel: Option<&Channel>, value: &Value) -> UnitResult<Value> {
    let (Some(channel), Some(number)) = (channel, number_of(value)) else {
        return Ok(value.clone());
    };
    let Target::Wired { kind, applied, .. } = channel.target else {
        return Ok(value.clone());
    };
    value_of(kind, applied.of(number)).map_err(|reason| no_value(channel, &reason))
}

#[cold]
fn no_value(channel: &Channel, reason: &str) -> Box<UnitFault> {
    let message = format!("the scenario makes `{}` {reason}", channel.name);
    UnitFault::new("scenario", Cause::Error, message)
}

/// The transformations of wires over a component's communication step that is made when it ends: kept where it `begins`, and
/// in force again when it ends.
pub(super) fn keep_transformations(
    graph: &Graph,
    scenario: &mut RunningScenario,
    component: usize,
    begins: bool,
) {
    for channel in &mut scenario.channels {
        if let Target::Wired {
            wire,
            applied,
            kept,
            ..
        } = &mut channel.target
            && graph.signal_wires[*wire].component == component
        {
            match begins {
                true => *kept = *applied,
                false => *applied = *kept,
            }
        }
    }
}

/// Notes the values that a component is given at the ends of its wires, those that have a store: a freeze goes on with them.
pub(super) fn note_wires(
    graph: &Graph,
    scenario: &mut RunningScenario,
    signals: &Signals,
    component: usize,
    store: impl Fn(usize) -> Option<Store>,
) {
    for index in 0..scenario.channels.len() {
        if let Target::Wired { wire, .. } = scenario.channels[index].target
            && graph.signal_wires[wire].component == component
            && let Some(store) = store(wire)
        {
            note_wire(graph, scenario, signals, index, store);
        }
    }
}

fn note_wire(
    graph: &Graph,
    scenario: &mut RunningScenario,
    signals: &Signals,
    index: usize,
    store: Store,
) {
    let Target::Wired { wire, end, .. } = scenario.channels[index].target else {
        return;
    };
    let mut memory = Value::Real(0.0);
    let channels = &scenario.channels;
    let value = match end {
        WireEnd::Output => acted_on_output(graph, channels, signals, (wire, store)),
        WireEnd::Input => {
            value_of_wire(graph, channels, signals, (wire, store), &mut memory).cloned()
        }
    };
    if let (Ok(value), Target::Wired { given, .. }) = (value, &mut scenario.channels[index].target)
    {
        *given = number_of(&value).unwrap_or(f64::NAN);
    }
}

/// Sets the free variables whose value has changed, before the step that begins at `step.time`.
///
/// # Errors
/// A unit that refuses, or an action that makes no value of the variable's type.
pub(crate) fn give_free(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    for index in 0..state.scenario.channels.len() {
        let channel = &mut state.scenario.channels[index];
        let wanted = channel.transformation(step.time);
        let Target::Free {
            component,
            variable,
            kind,
            base,
            given,
        } = &mut channel.target
        else {
            continue;
        };
        let number = wanted.of(*base);
        if number.to_bits() == given.to_bits() {
            continue;
        }
        *given = number;
        let (component, variable) = (*component, *variable);
        let value = value_of(*kind, number).map_err(|reason| {
            let cause = no_value(&state.scenario.channels[index], &reason);
            state.graph.fault(component, step, cause)
        })?;
        super::write_variable(state, component, variable, &value, step)?;
    }
    Ok(())
}

/// Reads the values that the variables have after initialization: the values of free ones without the
/// scenario, and the values that actions hold from the start, `step.time`, on.
///
/// # Errors
/// A unit that refuses.
pub(crate) fn begin_scenario(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    for component in 0..state.units.members.len() {
        let (graph, signals) = (&state.graph, &state.signals);
        note_wires(graph, &mut state.scenario, signals, component, |_| {
            Some(Store::Shown)
        });
    }
    (0..state.scenario.channels.len()).try_for_each(|index| begin_channel(state, index, step))
}

fn begin_channel(state: &mut SystemState, index: usize, step: &Step) -> Result<(), Fault> {
    let first = match state.scenario.channels[index].target {
        Target::Connected(input) => state.courses.values[input],
        Target::Wired { given, .. } => given,
        Target::Free {
            component,
            variable,
            ..
        } => {
            let value = super::read_variable(state, component, variable);
            let value = value.map_err(|cause| state.graph.fault(component, step, cause))?;
            number_of(&value).unwrap_or(f64::NAN)
        }
    };
    let channel = &mut state.scenario.channels[index];
    if let Target::Free { base, given, .. } = &mut channel.target {
        (*base, *given) = (first, first);
    }
    channel.hold_first(first);
    apply(channel, &state.graph, &mut state.courses, step.time);
    Ok(())
}

/// Adds actions to a running system; they act from `step`, with the number `next`, on.
///
/// # Errors
/// A unit that refuses to give the value of a variable.
pub(crate) fn extend_scenario(
    state: &mut SystemState,
    more: RunningScenario,
    step: &Step,
    next: u64,
) -> Result<(), Fault> {
    let known = state.scenario.channels.len();
    for mut channel in more.channels {
        let mut channels = state.scenario.channels.iter_mut();
        match channels.find(|known| known.target.is_at_place_of(&channel.target)) {
            Some(known) => {
                known.actions.retain(|action| action.phase != Phase::Over);
                known.actions.append(&mut channel.actions);
                known.actions.sort_by(|a, b| a.time.total_cmp(&b.time));
            }
            None => state.scenario.channels.push(channel),
        }
    }
    for index in known..state.scenario.channels.len() {
        // The value over the step before was not noted: the outputs' present value stands in its place.
        let (graph, signals) = (&state.graph, &state.signals);
        note_wire(graph, &mut state.scenario, signals, index, Store::Shown);
        begin_channel(state, index, step)?;
    }
    let actions = state.scenario.channels.iter();
    let actions: usize = actions.map(|channel| channel.actions.len()).sum();
    state.scenario.done.reserve(2 * actions);
    let now = state.graph.clock.duration(step.from);
    advance(state, step.time, next, now, true);
    super::select_ways_of_giving(state);
    Ok(())
}

/// Whether one of the actions is on a variable that nothing feeds.
pub(crate) fn has_free_channel(scenario: &RunningScenario) -> bool {
    let is_free = |channel: &Channel| matches!(channel.target, Target::Free { .. });
    scenario.channels.iter().any(is_free)
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
    match (found, number_of(value)) {
        (Some(base), Some(number)) => {
            *base = number;
            true
        }
        _ => false,
    }
}
