//! All that a repeated step rolls back. Checkpoints and iterations save and restore it; counters are not part of it.

use super::{
    Channel, Corrector, InputCourse, LoopRecord, Member, PassRecord, ReducedModel, SystemState,
};
use crate::fault::Fault;
use crate::graph::Graph;
use crate::step::Step;
use crate::unit::{SavedState, Value};

/// The state of a system at a communication point: the units' states and the master's own (C-74).
#[derive(Default)]
pub(crate) struct Saved {
    units: Vec<Option<SavedState>>,
    terminated: Option<f64>,
    inputs: Vec<InputCourse>,
    values: Vec<f64>,
    slopes: Vec<f64>,
    begun: Vec<Step>,
    reals: Vec<f64>,
    ahead: Vec<f64>,
    discrete: Vec<Value>,
    discrete_ahead: Vec<Value>,
    stale_errors: Vec<f64>,
    exchanged: Vec<f64>,
    start_changes: Vec<f64>,
    loops: Vec<LoopRecord>,
    /// D of each pass, and what is known of it.
    passes: Vec<(Vec<f64>, PassRecord)>,
    correctors: Vec<Corrector>,
    models: Vec<ReducedModel>,
    channels: Vec<Channel>,
    /// Begins and ends of actions so far.
    done: usize,
}

/// Saves `state` into `saved`, whose memory is used again.
///
/// Every field of every part is named here, so that a new one cannot be forgotten: it is saved, or
/// stands among those that a step does not change or that may go on.
pub(crate) fn save(state: &mut SystemState, saved: &mut Saved, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        bonds,
        exchange,
        models,
        scenario,
        counters: _,
    } = state;
    let super::Units {
        members,
        terminated,
        dispatch: _,
        jobs: _,
        overlap: _,
        replaces_courses: _,
        // Within a step only.
        iterated: _,
        // Only components with communication steps of several macro-steps hold values and postpone steps: a snapshot keeps
        // them, and no step with such a component is made again.
        begun,
        held: _,
        // Keeps nothing from step to step.
        groups: _,
    } = units;
    save_units(graph, members, &mut saved.units, step)?;
    saved.terminated = *terminated;
    save_courses(courses, saved);
    save_signals(signals, saved);
    saved.begun.clone_from(begun);
    save_exchange(exchange, saved);
    saved.correctors.clone_from(&bonds.correctors);
    saved.models.clone_from(&models.running);
    saved.channels.clone_from(&scenario.channels);
    saved.done = scenario.done.len();
    Ok(())
}

fn save_courses(courses: &super::Courses, saved: &mut Saved) {
    let super::Courses {
        inputs,
        values,
        slopes,
        copies: _,
        extrapolated: _,
        needs_substeps: _,
        slope_readers: _,
        // Needs steps of one size, so no step with it is made again.
        feed_forward: _,
    } = courses;
    saved.inputs.clone_from(inputs);
    saved.values.clone_from(values);
    saved.slopes.clone_from(slopes);
}

fn save_exchange(exchange: &super::Passes, saved: &mut Saved) {
    let super::Passes {
        modes: _,
        passes,
        loops,
        step_responses: _,
    } = exchange;
    saved.loops.resize_with(loops.len(), LoopRecord::default);
    for (record, algebraic_loop) in saved.loops.iter_mut().zip(loops) {
        record.clone_from(&algebraic_loop.record);
    }
    saved.passes.resize_with(passes.len(), Default::default);
    for ((gains, record), pass) in saved.passes.iter_mut().zip(passes) {
        gains.clone_from(&pass.gains);
        record.clone_from(&pass.record);
    }
}

fn save_signals(signals: &super::Signals, saved: &mut Saved) {
    let super::Signals {
        reals,
        ahead,
        discrete,
        discrete_ahead,
        is_read_ahead: _,
        is_led: _,
        stale_errors,
        exchanged,
        start_changes,
        had_event: _,
        accepts_non_finite: _,
    } = signals;
    saved.reals.clone_from(reals);
    saved.ahead.clone_from(ahead);
    saved.discrete.clone_from(discrete);
    saved.discrete_ahead.clone_from(discrete_ahead);
    saved.stale_errors.clone_from(stale_errors);
    saved.exchanged.clone_from(exchanged);
    saved.start_changes.clone_from(start_changes);
}

fn save_units(
    graph: &Graph,
    members: &mut [Member],
    saved: &mut Vec<Option<SavedState>>,
    step: &Step,
) -> Result<(), Fault> {
    saved.resize_with(members.len(), || None);
    for (component, (member, kept)) in members.iter_mut().zip(saved).enumerate() {
        let result = member.slot.unit().save(kept.take());
        *kept = Some(result.map_err(|cause| graph.fault(component, step, cause))?);
    }
    Ok(())
}

/// Goes back to a saved state. Counters go on: they count calls that were made.
pub(crate) fn restore(state: &mut SystemState, saved: &Saved, step: &Step) -> Result<(), Fault> {
    let members = state.units.members.iter_mut().zip(&saved.units);
    for (component, (member, kept)) in members.enumerate() {
        if let Some(kept) = kept {
            let result = member.slot.unit().restore(kept);
            result.map_err(|cause| state.graph.fault(component, step, cause))?;
        }
    }
    state.units.terminated = saved.terminated;
    state.courses.inputs.clone_from(&saved.inputs);
    state.courses.values.clone_from(&saved.values);
    state.courses.slopes.clone_from(&saved.slopes);
    state.units.begun.clone_from(&saved.begun);
    state.signals.reals.clone_from(&saved.reals);
    state.signals.ahead.clone_from(&saved.ahead);
    state.signals.discrete.clone_from(&saved.discrete);
    state
        .signals
        .discrete_ahead
        .clone_from(&saved.discrete_ahead);
    state.signals.stale_errors.clone_from(&saved.stale_errors);
    state.signals.exchanged.clone_from(&saved.exchanged);
    state.signals.start_changes.clone_from(&saved.start_changes);
    for (algebraic_loop, record) in state.exchange.loops.iter_mut().zip(&saved.loops) {
        algebraic_loop.record.clone_from(record);
    }
    for (pass, (gains, record)) in state.exchange.passes.iter_mut().zip(&saved.passes) {
        pass.gains.clone_from(gains);
        pass.record.clone_from(record);
    }
    state.bonds.correctors.clone_from(&saved.correctors);
    state.models.running.clone_from(&saved.models);
    state.scenario.channels.clone_from(&saved.channels);
    state.scenario.done.truncate(saved.done);
    Ok(())
}
