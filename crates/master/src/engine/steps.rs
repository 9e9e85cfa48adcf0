//! Communication steps of the units. Nothing becomes visible by them.

use crate::counters::Counters;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::state::{Courses, InputCourse, Member, SystemState, Units, advance_in_parallel};
use crate::step::Step;
use crate::unit::StepOutcome;

/// Steps all components where each makes one communication step a macro-step.
#[inline(always)]
pub(crate) fn step_straight(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        counters,
        ..
    } = state;
    if units.overlap {
        let all = 0..units.members.len();
        return step_beside_each_other(graph, units, &mut state.courses, counters, all, step);
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
            Ok(StepOutcome::Terminated(time)) => record_termination(terminated, time),
            Err(cause) => return Err(graph.fault(component, step, cause)),
        }
    }
    Ok(())
}

/// Steps the due components among `components`, on the pool's threads if there is one.
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
    if units.pool.is_some() && components.len() > 1 {
        step_in_parallel(graph, units, courses, counters, components, step)
    } else if units.overlap && components.len() > 1 {
        let components = components.iter().copied();
        step_beside_each_other(graph, units, courses, counters, components, step)
    } else {
        step_due(graph, units, courses, counters, components, step)
    }
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

/// Steps the due components among `components`: first those begin whose units make their steps beside others, in other
/// processes for example, and they are waited for when all others have made theirs.
#[cold]
#[inline(never)]
fn step_beside_each_other(
    graph: &Graph,
    units: &mut Units,
    courses: &mut Courses,
    counters: &mut Counters,
    components: impl Iterator<Item = usize> + Clone,
    step: &Step,
) -> Result<(), Fault> {
    let (members, clock) = (&mut units.members, &graph.clock);
    for component in components.clone() {
        let member = &mut members[component];
        if member.overlaps {
            let (inputs, values) = inputs_of(courses, member);
            member.fault = member.begin(inputs, values, step, clock).err();
        }
    }
    for component in components.clone() {
        let member = &mut members[component];
        if !member.overlaps {
            let (inputs, values) = inputs_of(courses, member);
            member.fault = member.advance(inputs, values, step, clock).err();
            if member.fault.is_some() {
                break;
            }
        }
    }
    let mut are_stepping = true;
    while std::mem::take(&mut are_stepping) {
        for component in components.clone() {
            let member = &mut members[component];
            if member.is_stepping {
                let (inputs, values) = inputs_of(courses, member);
                member.fault = member.finish(inputs, values, step, clock).err();
                are_stepping |= member.is_stepping;
            }
        }
    }
    conclude(graph, units, counters, components, step)
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

fn step_in_parallel(
    graph: &Graph,
    units: &mut Units,
    courses: &mut Courses,
    counters: &mut Counters,
    components: &[usize],
    step: &Step,
) -> Result<(), Fault> {
    for member in &mut units.members {
        member.selected = false;
    }
    for &component in components {
        units.members[component].selected = true;
    }
    let (inputs, values) = (&mut courses.inputs, &mut courses.values);
    if let Some(pool) = &units.pool {
        let members = &mut units.members;
        pool.install(|| advance_in_parallel(members, inputs, values, step, &graph.clock));
    }
    conclude(graph, units, counters, components.iter().copied(), step)
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
