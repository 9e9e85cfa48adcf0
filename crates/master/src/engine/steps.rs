//! Communication steps of the units. Nothing becomes visible by them.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use crate::counters::Counters;
use crate::dispatch::{Turn, Way};
use crate::fault::Fault;
use crate::graph::Graph;
use crate::state::{Courses, InputCourse, Member, SystemState, Units};
use crate::step::Step;
use crate::time::Clock;
use crate::unit::StepOutcome;

/// Steps all components where each makes one communication step a macro-step.
#[inline(always)]
pub(crate) fn step_straight(
    state: &mut SystemState,
    step: &Step,
    turn: Option<&Turn>,
) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        counters,
        ..
    } = state;
    if units.overlap || turn.is_some() {
        let all = 0..units.members.len();
        return step_at_once(graph, units, &mut state.courses, counters, all, step, turn);
    }
    let Units {
        members,
        terminated,
        overlap,
        ..
    } = units;
    counters.unit_steps += members.len() as u64;
    for (component, member) in members.iter_mut().enumerate() {
        let outcome = member.step(step.time, step.size);
        *overlap |= member.overlaps;
        match outcome {
            Ok(StepOutcome::Done) => {}
            Ok(outcome @ StepOutcome::Terminated(time)) => {
                member.outcome = outcome;
                record_termination(terminated, time);
            }
            Err(cause) => return Err(graph.fault(component, step, cause)),
        }
    }
    Ok(())
}

/// Steps the due components among `components`, on several threads where that is faster.
///
/// # Errors
/// The first refused call, in the order of the components, whatever thread saw it first.
pub(crate) fn step(
    graph: &Graph,
    units: &mut Units,
    courses: &mut Courses,
    counters: &mut Counters,
    components: &[usize],
    step: &Step,
) -> Result<(), Fault> {
    if components.len() < 2 || !(units.overlap || units.dispatch.is_some()) {
        return step_due(graph, units, courses, counters, components, step);
    }
    let Units {
        members, dispatch, ..
    } = &mut *units;
    let cycle = || cycle(members, components);
    let turn = dispatch
        .as_mut()
        .map(|dispatch| dispatch.next(components, cycle));
    let here = components.iter().copied();
    let own = turn.as_ref().filter(|turn| turn.way != Way::Usual);
    match units.overlap || own.is_some() {
        true => step_at_once(graph, units, courses, counters, here, step, own),
        false => step_due(graph, units, courses, counters, components, step),
    }?;
    end_turn(units, turn.as_ref());
    Ok(())
}

/// Ends the measurement of a step that was made in its turn.
pub(super) fn end_turn(units: &mut Units, turn: Option<&Turn>) {
    let Units {
        members, dispatch, ..
    } = units;
    if let (Some(turn), Some(dispatch)) = (turn, dispatch) {
        let is_dealt = |member: &Member| !member.overlaps && !member.keeps_thread;
        dispatch.end(turn, |component| is_dealt(&members[component]));
    }
}

/// Macro-steps after which all components are due alike.
fn cycle(members: &[Member], components: &[usize]) -> u32 {
    // Measurements of more steps would come too late.
    const LONGEST: u64 = 64;
    let every = components.iter().map(|component| members[*component].every);
    let cycle = every.fold(1, |cycle: u64, every| match cycle.is_multiple_of(every) {
        true => cycle,
        false => cycle.saturating_mul(every),
    });
    cycle.min(LONGEST) as u32
}

/// Steps the due components among `components` on this thread.
pub(crate) fn step_due(
    graph: &Graph,
    units: &mut Units,
    courses: &mut Courses,
    counters: &mut Counters,
    components: &[usize],
    step: &Step,
) -> Result<(), Fault> {
    for &component in components {
        let member = &mut units.members[component];
        let (inputs, values) = inputs_of(courses, member);
        let result = member.advance(inputs, values, step, &graph.clock);
        units.overlap |= member.overlaps;
        if let Err(cause) = result {
            return Err(graph.fault(component, step, cause));
        }
        count(units, counters, component, step);
    }
    Ok(())
}

/// The courses of a member's inputs, and their values.
fn inputs_of<'a>(
    courses: &'a mut Courses,
    member: &Member,
) -> (&'a mut [InputCourse], &'a mut [f64]) {
    let range = member.inputs.clone();
    (
        &mut courses.inputs[range.clone()],
        &mut courses.values[range],
    )
}

/// Steps the due components among `components` in their turn: first those begin whose units make their steps beside others, in
/// other processes for example, and they are waited for when all others have made theirs, on one thread or on several.
#[cold]
#[inline(never)]
fn step_at_once(
    graph: &Graph,
    units: &mut Units,
    courses: &mut Courses,
    counters: &mut Counters,
    components: impl Iterator<Item = usize> + Clone,
    step: &Step,
    turn: Option<&Turn>,
) -> Result<(), Fault> {
    let clock = &graph.clock;
    for component in components.clone() {
        let member = &mut units.members[component];
        if member.overlaps {
            let (inputs, values) = inputs_of(courses, member);
            member.fault = member.begin(inputs, values, step, clock).err();
        }
    }
    match turn {
        Some(turn) if turn.way == Way::Parallel => {
            share_out(units, courses, step, clock, turn);
            let is_here = |member: &Member| member.keeps_thread;
            step_one_by_one(
                units,
                courses,
                components.clone(),
                step,
                clock,
                (None, is_here),
            );
        }
        turn => step_one_by_one(
            units,
            courses,
            components.clone(),
            step,
            clock,
            (turn, |_| true),
        ),
    }
    let mut are_stepping = true;
    while std::mem::take(&mut are_stepping) {
        for component in components.clone() {
            let member = &mut units.members[component];
            if member.is_stepping {
                let (inputs, values) = inputs_of(courses, member);
                member.fault = member.finish(inputs, values, step, clock).err();
                are_stepping |= member.is_stepping;
            }
        }
    }
    conclude(graph, units, counters, components, step)
}

/// Steps the units that make their steps here, one after the other, up to the first fault; measures them in a turn of their own.
fn step_one_by_one(
    units: &mut Units,
    courses: &mut Courses,
    components: impl Iterator<Item = usize>,
    step: &Step,
    clock: &Clock,
    (turn, is_here): (Option<&Turn>, impl Fn(&Member) -> bool),
) {
    let Units {
        members,
        dispatch,
        overlap,
        ..
    } = units;
    let mut measured = dispatch.as_mut().zip(turn);
    let mut before = measured.as_ref().map_or(0, |(dispatch, _)| dispatch.now());
    for (place, component) in components.enumerate() {
        let member = &mut members[component];
        if member.overlaps || !is_here(member) {
            continue;
        }
        let (inputs, values) = inputs_of(courses, member);
        member.fault = member.advance(inputs, values, step, clock).err();
        *overlap |= member.overlaps;
        if member.fault.is_some() {
            break;
        }
        if let Some((dispatch, turn)) = &mut measured {
            let after = dispatch.now();
            dispatch.record_unit(turn, place, after.saturating_sub(before));
            before = after;
        }
    }
}

/// Steps the units of a group on several threads: each takes the longest piece that is left.
fn share_out(units: &mut Units, courses: &mut Courses, step: &Step, clock: &Clock, turn: &Turn) {
    let Units {
        members,
        dispatch,
        jobs,
        ..
    } = units;
    let Some((deal, team)) = dispatch.as_mut().and_then(|dispatch| dispatch.team(turn)) else {
        return;
    };
    let lent = jobs.lend(members, courses, &deal.pieces);
    let next = AtomicUsize::new(0);
    team.run(&|| {
        while let Some(piece) = deal.order.get(next.fetch_add(1, Relaxed)) {
            lent.step(*piece, step, clock);
        }
    });
    jobs.take_back(lent);
}

/// Finds the first fault of the steps that were made, and counts those before it.
fn conclude(
    graph: &Graph,
    units: &mut Units,
    counters: &mut Counters,
    components: impl Iterator<Item = usize>,
    step: &Step,
) -> Result<(), Fault> {
    for component in components {
        if let Some(cause) = units.members[component].fault.take() {
            return Err(graph.fault(component, step, cause));
        }
        count(units, counters, component, step);
    }
    Ok(())
}

/// Counts the calls of a component's step, and records the time at which it ended the simulation.
fn count(units: &mut Units, counters: &mut Counters, component: usize, step: &Step) {
    let member = &units.members[component];
    if !member.is_due(step.index) {
        return;
    }
    let substeps = u64::from(member.substeps);
    counters.unit_steps += substeps;
    counters.get_calls += member.trace.as_ref().map_or(0, |trace| trace.rows() as u64);
    counters.set_calls += if member.follows_curves { substeps } else { 0 };
    record(&mut units.terminated, member.outcome);
}

/// Records the time of an outcome at which a unit ended the simulation.
pub(super) fn record(terminated: &mut Option<f64>, outcome: StepOutcome) {
    if let StepOutcome::Terminated(time) = outcome {
        record_termination(terminated, time);
    }
}

#[cold]
fn record_termination(terminated: &mut Option<f64>, time: f64) {
    *terminated = Some(terminated.map_or(time, |earlier| earlier.min(time)));
}
