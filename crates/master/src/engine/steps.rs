//! Communication steps of the units: groups, other units, those in other processes, on one thread or on several. The execution of
//! the plan calls it; nothing becomes visible by it.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use crate::counters::Counters;
use crate::dispatch::{Turn, Way};
use crate::fault::Fault;
use crate::graph::Graph;
use crate::plan::Selection;
use crate::state::{Courses, Group, InputCourse, Member, SystemState, Units};
use crate::step::{Phase, Step};
use crate::time::Clock;
use crate::unit::StepOutcome;

/// Steps the due components of a selection. First those begin whose units make their steps beside others, for example in
/// other processes; they are waited for when all others have made theirs. The others step on one thread, or on several if
/// that is faster.
///
/// # Errors
/// The first refused call, in the order of the components, whatever thread saw it first; a group goes before the others.
pub(crate) fn step(
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
    let (clock, components) = (&graph.clock, &*selection.components);
    let Units {
        members, dispatch, ..
    } = &mut *units;
    let dispatch = dispatch.as_mut().filter(|_| components.len() > 1);
    let turn = dispatch.map(|dispatch| dispatch.next(components, || cycle(members, components)));
    let own = turn.as_ref().filter(|turn| turn.way != Way::Usual);
    let overlap = units.overlap;
    if overlap {
        begin_overlapping(units, courses, components, step, clock);
    }
    let is_grouped = own.is_none();
    match own {
        None => step_here(units, courses, selection, step, clock),
        Some(turn) if turn.way == Way::Parallel => {
            share_out(units, courses, step, clock, turn);
            let is_here = |member: &Member| member.keeps_thread;
            step_one_by_one(units, courses, components, step, clock, (None, is_here));
        }
        turn => step_one_by_one(units, courses, components, step, clock, (turn, |_| true)),
    }
    if overlap {
        finish_overlapping(units, courses, components, step, clock);
    }
    match is_grouped {
        true => conclude_groups(graph, units, counters, selection, step)?,
        false => conclude(graph, units, counters, components, step)?,
    }
    end_turn(units, turn.as_ref());
    Ok(())
}

/// Steps groups, then the units that are in none and make their steps here, up to the first fault.
fn step_here(
    units: &mut Units,
    courses: &mut Courses,
    selection: &Selection,
    step: &Step,
    clock: &Clock,
) {
    let Units {
        members, groups, ..
    } = &mut *units;
    for group in &selection.groups {
        let group = &mut groups[*group];
        if group.is_due_at(Phase::Begin, step)
            && let Err((component, cause)) = group.step(members, step)
        {
            members[component].fault = Some(cause);
            return;
        }
    }
    let is_here = |_: &Member| true;
    step_one_by_one(
        units,
        courses,
        &selection.others,
        step,
        clock,
        (None, is_here),
    );
}

/// Ends the measurement of a step that was made in its turn.
fn end_turn(units: &mut Units, turn: Option<&Turn>) {
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

/// Steps the components among `components` whose postponed communication step ends with this macro-step.
pub(crate) fn step_postponed(
    state: &mut SystemState,
    components: &[usize],
    step: &Step,
) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        counters,
        ..
    } = state;
    for &component in components {
        let member = &mut units.members[component];
        if member.is_due(step.index + 1) {
            let begun = units.begun[component];
            let (inputs, values) = inputs_of(courses, member);
            let result = member.advance(inputs, values, &begun, &graph.clock);
            units.overlap |= member.overlaps;
            result.map_err(|cause| graph.fault(component, &begun, cause))?;
            count(units, counters, component, &begun);
        }
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

/// Lets those begin that make their steps beside others.
#[cold]
fn begin_overlapping(
    units: &mut Units,
    courses: &mut Courses,
    components: &[usize],
    step: &Step,
    clock: &Clock,
) {
    for component in components {
        let member = &mut units.members[*component];
        if member.overlaps {
            let (inputs, values) = inputs_of(courses, member);
            member.fault = member.begin(inputs, values, step, clock).err();
        }
    }
}

/// Waits for those that make their steps beside others.
#[cold]
fn finish_overlapping(
    units: &mut Units,
    courses: &mut Courses,
    components: &[usize],
    step: &Step,
    clock: &Clock,
) {
    let mut are_stepping = true;
    while std::mem::take(&mut are_stepping) {
        for component in components {
            let member = &mut units.members[*component];
            if member.is_stepping {
                let (inputs, values) = inputs_of(courses, member);
                member.fault = member.finish(inputs, values, step, clock).err();
                are_stepping |= member.is_stepping;
            }
        }
    }
}

/// Steps the units that make their steps here, one after the other, up to the first fault; measures them in a turn of their own.
fn step_one_by_one(
    units: &mut Units,
    courses: &mut Courses,
    components: &[usize],
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
    for (place, component) in components.iter().enumerate() {
        let member = &mut members[*component];
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

/// As [`conclude`], group by group.
fn conclude_groups(
    graph: &Graph,
    units: &mut Units,
    counters: &mut Counters,
    selection: &Selection,
    step: &Step,
) -> Result<(), Fault> {
    let due = |group: &&usize| units.groups[**group].is_due_at(Phase::Begin, step);
    let due = selection.groups.iter().filter(due);
    let due = due.map(|group| &units.groups[*group]);
    if !due.clone().all(Group::has_stepped) {
        return conclude(graph, units, counters, &selection.components, step);
    }
    counters.unit_steps += due.map(|group| group.components.len() as u64).sum::<u64>();
    conclude(graph, units, counters, &selection.others, step)
}

/// Finds the first fault of the steps that were made, and counts those before it.
fn conclude(
    graph: &Graph,
    units: &mut Units,
    counters: &mut Counters,
    components: &[usize],
    step: &Step,
) -> Result<(), Fault> {
    for &component in components {
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
fn record(terminated: &mut Option<f64>, outcome: StepOutcome) {
    if let StepOutcome::Terminated(time) = outcome {
        record_termination(terminated, time);
    }
}

#[cold]
fn record_termination(terminated: &mut Option<f64>, time: f64) {
    *terminated = Some(terminated.map_or(time, |earlier| earlier.min(time)));
}
