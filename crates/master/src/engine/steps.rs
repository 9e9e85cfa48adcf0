//! Communication steps of the units. Nothing becomes visible by them.

use crate::counters::Counters;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::state::{Courses, SystemState, Units, advance_in_parallel};
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
    let Units {
        members,
        terminated,
        ..
    } = units;
    counters.unit_steps += members.len() as u64;
    for (component, member) in members.iter_mut().enumerate() {
        match member.slot.step(step.time, step.size) {
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
        let range = member.inputs.clone();
        let values = &mut courses.values[range.clone()];
        let inputs = &mut courses.inputs[range];
        if let Err(cause) = member.advance(inputs, values, step, &graph.clock) {
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
    if let StepOutcome::Terminated(time) = member.outcome {
        record_termination(&mut units.terminated, time);
    }
}

#[cold]
fn record_termination(terminated: &mut Option<f64>, time: f64) {
    *terminated = Some(terminated.map_or(time, |earlier| earlier.min(time)));
}
