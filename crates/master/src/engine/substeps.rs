//! Outputs of components at their own communication steps, between the points at which they publish. Set up once, then an
//! operation of the plan; it publishes nothing.

use crate::state::{SystemState, Trace};
use crate::step::Step;

/// Lets the units read the outputs that extrapolations need at each communication step, and
/// those whose mean within a step is passed on.
pub(crate) fn find_traces(state: &mut SystemState) {
    let wanted = state.courses.inputs.iter();
    let wanted: Vec<usize> = wanted
        .filter(|input| input.needs_substeps || input.takes_mean)
        .map(|input| input.source)
        .collect();
    state.courses.needs_substeps = state
        .courses
        .inputs
        .iter()
        .any(|input| input.needs_substeps);
    for member in &mut state.units.members {
        let mut outputs = wanted.clone();
        outputs.retain(|output| member.outputs.contains(output));
        outputs.sort_unstable();
        outputs.dedup();
        let is_traced = member.substeps > 1 && !outputs.is_empty();
        member.trace = is_traced.then(|| Box::new(Trace::new(member, outputs)));
    }
}

/// Gives the extrapolations that need them the outputs within the step, and those at its end, which
/// [`observe`](super::outputs::observe) gives again once they agree with the new inputs.
#[cold]
pub(crate) fn observe_substeps(state: &mut SystemState, step: &Step) {
    let SystemState {
        graph,
        units,
        signals,
        courses,
        ..
    } = state;
    let clock = graph.clock;
    let now = clock.duration(step.from + step.length);
    let wants = |input: &&mut crate::state::InputCourse| input.needs_substeps;
    for input in courses.inputs.iter_mut().filter(wants) {
        let member = &units.members[input.source_component];
        if !member.is_due(step.index + 1) {
            continue;
        }
        let source = input.source;
        let ticks = step.length / i64::from(member.substeps);
        let traces = member.trace.iter();
        let values = traces.flat_map(|trace| trace.values_of(source));
        for (part, value) in (1..).zip(values) {
            input.observe_substep(value, clock.duration(step.from + ticks * part));
        }
        input.observe(&signals.reals, f64::NAN, now);
    }
}
