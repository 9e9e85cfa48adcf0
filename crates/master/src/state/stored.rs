//! The master's state of a system as bytes.

use std::mem::discriminant;
use std::sync::Arc;

use super::{Channel, DoneAction, HeldValue, SystemState, empty_value};
use crate::graph::Graph;
use crate::state_stream::{Misfit, StateStream};

/// Most actions that have begun and ended, and most values that wait for a component. A choice: far more than a
/// run has.
const MOST_EVENTS: usize = 1 << 20;

/// The parts of a system on which the form of its state depends, a sentence each.
pub(crate) fn facts(state: &SystemState) -> Vec<String> {
    let graph = &state.graph;
    let clock = &graph.clock;
    let (start, step, ticks) = (clock.start(), graph.macro_step, clock.ticks_per_step());
    let mut facts = vec![
        format!("the start time {start} s"),
        format!("the macro-step {step} s of {ticks} ticks"),
    ];
    facts.extend(graph.components.iter().map(|component| {
        let variables = component.description.variables.len();
        let (name, rate) = (&component.name, component.rate);
        format!("the component {name} of {variables} variables at {rate:?}")
    }));
    facts.extend(graph.inputs.iter().enumerate().map(|(index, input)| {
        let (to, from) = (graph.input_name(index), graph.output_name(input.source));
        let word = input.extrapolation.name();
        format!("the input {to} from {from} with the extrapolation {word}")
    }));
    facts.extend(graph.bonds.iter().map(|bond| {
        let axes = bond.axes.len();
        let correction = bond
            .correction
            .as_ref()
            .map_or("off", |chosen| chosen.name());
        format!(
            "the bond {} of {axes} axes with the correction {correction}",
            bond.name
        )
    }));
    facts.extend(state.scenario.channels.iter().map(|channel| {
        let actions: Vec<&str> = channel.actions.iter().map(|action| action.name).collect();
        format!("the actions {} on {}", actions.join(", "), channel.name)
    }));
    facts
}

/// Writes the master's state to a stream, or reads it from there into a system that was set up alike. Every part
/// of [`Saved`](super::Saved) is in it, and every part of a [`Snapshot`](crate::Snapshot).
///
/// # Errors
/// The entry of a registry that cannot.
pub(crate) fn transfer(state: &mut SystemState, stream: &mut StateStream) -> Result<(), String> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        bonds,
        exchange,
        models,
        scenario,
        counters,
    } = state;
    for (index, course) in courses.inputs.iter_mut().enumerate() {
        stream.keep(course);
        able(stream, || {
            let word = graph.inputs[index].extrapolation.name();
            format!("the extrapolation `{word}` of {}", graph.input_name(index))
        })?;
    }
    for corrector in &mut bonds.correctors {
        let bond = &graph.bonds[corrector.bond];
        stream.keep(corrector);
        able(stream, || {
            let word = bond
                .correction
                .as_ref()
                .map_or("off", |chosen| chosen.name());
            format!("the correction `{word}` of the bond {}", bond.name)
        })?;
    }
    stream.keep(&mut courses.values);
    stream.keep(&mut courses.slopes);
    stream.keep(&mut courses.feed_forward);
    stream.keep(&mut units.begun);
    stream.keep(&mut signals.reals);
    stream.keep(&mut signals.ahead);
    stream.keep(&mut signals.discrete);
    stream.keep(&mut signals.discrete_ahead);
    stream.keep(&mut signals.stale_errors);
    stream.keep(&mut signals.exchanged);
    stream.keep(&mut signals.start_changes);
    stream.keep(&mut signals.had_event);
    stream.keep(&mut exchange.passes);
    stream.keep(&mut exchange.loops);
    stream.keep(&mut models.running);
    stream.keep(&mut scenario.channels);
    transfer_done(&scenario.channels, &mut scenario.done, stream);
    stream.keep(counters);
    stream.keep(&mut units.terminated);
    for member in &mut units.members {
        if let Some(trace) = &mut member.trace {
            stream.keep(&mut **trace);
        }
    }
    transfer_held(graph, &mut units.held, stream);
    Ok(())
}

/// Refuses if the last value has no stream.
fn able(stream: &mut StateStream, entry: impl FnOnce() -> String) -> Result<(), String> {
    match stream.trouble() {
        Some(Misfit::Unable) => Err(entry()),
        _ => Ok(()),
    }
}

/// Begins and ends of actions, by the places of the actions.
fn transfer_done(channels: &[Channel], done: &mut Vec<DoneAction>, stream: &mut StateStream) {
    let reported = |channel: &Channel, name: &str, variable: &str| {
        let mut actions = channel.actions.iter();
        let same = |name_of: Option<&Arc<str>>| name_of.is_some_and(|of| **of == *variable);
        actions.position(|a| a.name == name && same(a.reported_as.as_ref()))
    };
    let place = |event: &DoneAction| {
        let mut found = channels.iter().enumerate();
        found.find_map(|(index, channel)| {
            let action = reported(channel, event.action, &event.variable)?;
            Some([index as u64, action as u64])
        })
    };
    let mut events: Vec<([u64; 2], (f64, bool))> = Vec::new();
    for event in &*done {
        match place(event) {
            Some(place) => events.push((place, (event.time, event.event == "begin"))),
            None => return stream.unable(),
        }
    }
    stream.list(&mut events, MOST_EVENTS);
    if !stream.is_reading() {
        return;
    }
    done.clear();
    for ([channel, action], (time, is_begin)) in events {
        let channel = usize::try_from(channel)
            .ok()
            .and_then(|at| channels.get(at));
        let action = usize::try_from(action).ok();
        let action = channel
            .zip(action)
            .and_then(|(channel, at)| channel.actions.get(at));
        let event = if is_begin { "begin" } else { "end" };
        match action.and_then(|action| action.report(time, event)) {
            Some(event) => done.push(event),
            None => return stream.malformed(),
        }
    }
}

/// Values that wait for a component, by the places of their variables.
fn transfer_held(graph: &Graph, held: &mut Vec<HeldValue>, stream: &mut StateStream) {
    let mut count = held.len();
    stream.below(&mut count, MOST_EVENTS);
    let reading = stream.is_reading();
    let written = if reading {
        Vec::new()
    } else {
        std::mem::take(held)
    };
    let mut kept = Vec::new();
    for index in 0..count {
        let value = written.get(index);
        match transfer_one(graph, value, stream) {
            Some(value) => kept.push(value),
            None => break,
        }
    }
    *held = kept;
}

fn transfer_one(
    graph: &Graph,
    value: Option<&HeldValue>,
    stream: &mut StateStream,
) -> Option<HeldValue> {
    let mut component = value.map_or(0, |value| value.component);
    stream.below(&mut component, graph.components.len());
    let variables = &graph.components.get(component)?.description.variables;
    let is_it = |value: &HeldValue| {
        let same = |variable: &crate::unit::Variable| {
            variable.handle == value.handle
                && discriminant(&empty_value(variable.kind)) == discriminant(&value.value)
        };
        variables.iter().position(same)
    };
    let mut variable = value.map_or(Some(0), is_it)?;
    stream.below(&mut variable, variables.len());
    let described = variables.get(variable)?;
    let mut from = value.map_or(0, |value| value.from);
    let mut number = value.map_or_else(|| empty_value(described.kind), |value| value.value.clone());
    stream.keep(&mut from);
    stream.keep(&mut number);
    stream.trouble().is_none().then_some(HeldValue {
        component,
        handle: described.handle,
        value: number,
        from,
    })
}
