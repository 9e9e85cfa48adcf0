//! Components that step one after the other: those that come later receive the values that those
//! before them have just computed.

use super::{head, held_values, inputs, outputs, steps, tail};
use crate::curve::Curve;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::state::{Courses, Signals, SystemState, Units};
use crate::state_stream::stored;
use crate::step::Step;

/// The value that a component receives from one that has stepped before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// The line from the value at the start to the value at the end; the value at the end where
    /// the component cannot follow a line.
    End,
    /// The mean over the step.
    Mean,
}

/// The order of the components, and the values passed on within a macro-step.
#[derive(Clone)]
pub(crate) struct Turns {
    passing: Passing,
    order: Vec<usize>,
    /// Components that step when the last macro-step of their communication step is made, because
    /// something faster comes before them.
    is_late: Vec<bool>,
    /// Inputs whose source comes first, by input.
    is_led: Vec<bool>,
    /// Outputs at the end of their components' communication steps in progress.
    ahead: Vec<f64>,
    /// The macro-steps with which the components' communication steps in progress began.
    begun: Vec<Step>,
    /// Value of the source of each input when the input's component began its step, and the sum of
    /// its means since then.
    starts: Vec<f64>,
    sums: Vec<f64>,
}

impl Turns {
    /// Lets the components step in this order from now on.
    pub(crate) fn new(state: &mut SystemState, order: Vec<usize>, passing: Passing) -> Self {
        let turns = Self::of(order, passing, &state.graph);
        for (input, course) in state.courses.inputs.iter_mut().enumerate() {
            if turns.is_led[input] && passing == Passing::End {
                course.degree = course.degree.max(1);
            }
            course.takes_mean = turns.is_led[input] && passing == Passing::Mean;
        }
        for (member, is_late) in state.units.members.iter_mut().zip(&turns.is_late) {
            member.steps_late = *is_late;
        }
        state.units.step_in_turns = true;
        super::substeps::find_traces(state);
        super::select_ways_of_giving(state);
        turns
    }

    fn of(order: Vec<usize>, passing: Passing, graph: &Graph) -> Self {
        let mut turns = Self {
            passing,
            is_late: vec![false; graph.components.len()],
            is_led: vec![false; graph.inputs.len()],
            ahead: vec![0.0; graph.outputs.len()],
            begun: vec![Step::default(); graph.components.len()],
            starts: vec![0.0; graph.inputs.len()],
            sums: vec![0.0; graph.inputs.len()],
            order,
        };
        let every = |component: usize| graph.components[component].rate.every();
        for (place, &component) in turns.order.iter().enumerate() {
            let own = every(component);
            let inputs = graph.components[component].inputs.clone();
            let before = &turns.order[..place];
            let source = |input: usize| graph.outputs[graph.inputs[input].source].component;
            let from_before = inputs.filter(|input| before.contains(&source(*input)));
            for input in from_before {
                let from = source(input);
                let of_source = every(from);
                if own.is_multiple_of(of_source) {
                    turns.is_led[input] = true;
                    turns.is_late[component] |= of_source < own || turns.is_late[from];
                }
            }
        }
        for (place, &component) in turns.order.iter().enumerate() {
            for input in graph.components[component].inputs.clone() {
                let from = graph.outputs[graph.inputs[input].source].component;
                let is_slower =
                    every(from) > every(component) && every(from).is_multiple_of(every(component));
                turns.is_led[input] |=
                    is_slower && !turns.is_late[from] && turns.order[..place].contains(&from);
            }
        }
        turns
    }
}

/// Makes a macro-step in which the components step one after the other.
///
/// # Errors
/// The first fault of a unit.
pub(crate) fn step(state: &mut SystemState, turns: &mut Turns, step: &Step) -> Result<(), Fault> {
    head(state, step)?;
    for place in 0..turns.order.len() {
        let component = turns.order[place];
        if state.units.members[component].is_due(step.index) {
            begin_turn(state, turns, component, step)?;
        }
        if turns.passing == Passing::Mean && turns.is_late[component] {
            add_means(state, turns, component, step);
        }
        if let Some(own_step) = own_step(&state.units, turns, component, step) {
            replace_led(state, turns, component, &own_step);
            let SystemState {
                graph,
                units,
                courses,
                counters,
                ..
            } = state;
            held_values::give_held(graph, units, component, &own_step)?;
            inputs::give(graph, units, courses, counters, component, &own_step)?;
            steps::step(graph, units, courses, counters, &[component], &own_step)?;
            let ahead = &mut turns.ahead;
            outputs::read(graph, units, ahead, counters, component, &own_step)?;
        }
    }
    outputs::show(&state.units, &turns.ahead, &mut state.signals, step);
    tail(state, step)
}

/// Prepares the inputs of a component when its communication step begins.
fn begin_turn(
    state: &mut SystemState,
    turns: &mut Turns,
    component: usize,
    step: &Step,
) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        scenario,
        ..
    } = state;
    let member = &units.members[component];
    let now = graph.clock.duration(step.from);
    inputs::prepare(member, courses, signals, step, now);
    turns.begun[component] = *step;
    for input in member.inputs.clone() {
        turns.starts[input] = signals.reals[courses.inputs[input].source];
        turns.sums[input] = 0.0;
    }
    if turns.is_late[component] {
        return held_values::hold_signals(graph, units, signals, scenario, component, step);
    }
    inputs::give_signals(graph, units, signals, scenario, &[component], step)
}

/// The step that the component makes now: its communication step, from its start.
fn own_step(units: &Units, turns: &Turns, component: usize, step: &Step) -> Option<Step> {
    let member = &units.members[component];
    if turns.is_late[component] {
        let is_over = member.is_due(step.index + 1);
        is_over.then_some(turns.begun[component])
    } else {
        member.is_due(step.index).then_some(*step)
    }
}

/// Adds to each led input of a late component the mean of its source over this macro-step; where
/// the source is late itself, over its communication step once it was made.
fn add_means(state: &SystemState, turns: &mut Turns, component: usize, step: &Step) {
    let (units, courses, signals) = (&state.units, &state.courses, &state.signals);
    for input in units.members[component].inputs.clone() {
        if !turns.is_led[input] {
            continue;
        }
        let course = &courses.inputs[input];
        let sender = &units.members[course.source_component];
        let (first, last) = (signals.reals[course.source], turns.ahead[course.source]);
        turns.sums[input] += if sender.substeps > 1 {
            sender.mean_within_step(course.source, first, last)
        } else if turns.is_late[course.source_component] {
            if !sender.is_due(step.index + 1) {
                continue;
            }
            (first + 0.5 * (last - first)) * sender.every as f64
        } else {
            let done = (step.index % sender.every) as f64 + 0.5;
            first + (last - first) * done / sender.every as f64
        };
    }
}

/// Puts the values that the components before have computed in place of the prepared courses.
fn replace_led(state: &mut SystemState, turns: &Turns, component: usize, step: &Step) {
    let (units, courses, signals) = (&state.units, &mut state.courses, &state.signals);
    let every = units.members[component].every;
    let follows = units.members[component].follows_curves;
    let length = step.size * every as f64;
    for input in units.members[component].inputs.clone() {
        if !turns.is_led[input] {
            continue;
        }
        let line = line(units, courses, signals, turns, input, step);
        let course = &courses.inputs[input];
        let sender = &units.members[course.source_component];
        let last = turns.ahead[course.source];
        let curve = match turns.passing {
            Passing::End if follows => line,
            Passing::End if sender.every <= every => Curve::constant(last),
            Passing::End => Curve::constant(line.at(length)),
            Passing::Mean if turns.is_late[component] => {
                Curve::constant(turns.sums[input] / every as f64)
            }
            Passing::Mean if sender.substeps > 1 => {
                let mean = sender.mean_within_step(course.source, turns.starts[input], last);
                Curve::constant(mean)
            }
            Passing::Mean => Curve::constant(line.mean(length)),
        };
        let curve = course.converted_curve(curve);
        inputs::replace(courses, input, curve);
    }
}

/// The line on which the source of an input moves, from the start of the receiver's step on.
fn line(
    units: &Units,
    courses: &Courses,
    signals: &Signals,
    turns: &Turns,
    input: usize,
    step: &Step,
) -> Curve {
    let course = &courses.inputs[input];
    let sender = &units.members[course.source_component];
    let last = turns.ahead[course.source];
    let receiver_every = units.members[course.component].every;
    if sender.every <= receiver_every {
        let first = turns.starts[input];
        return Curve::line(first, (last - first) / (step.size * receiver_every as f64));
    }
    let first = signals.reals[course.source];
    let slope = (last - first) / (step.size * sender.every as f64);
    let since = (step.index % sender.every) as f64 * step.size;
    Curve::line(first + slope * since, slope)
}

stored!(Turns { ahead, begun, starts, sums; passing, order, is_late, is_led });
