//! Reasons for which a run ends between two macro-steps. The run asks at each communication point; no step is taken back here.

use std::sync::atomic::{AtomicBool, Ordering};

use super::serialized::keep_at_end;
use super::{Observing, Run, step_trial};
use crate::fault::RunError;
use crate::graph::Bond;
use crate::ledger::BondEnergy;
use crate::report::StopReason;
use crate::{figure, short};

/// Whether there may be a [`reason`]: few comparisons, since every macro-step asks.
#[inline(always)]
fn may_be_due(run: &Run) -> bool {
    run.timeline.is_over()
        || is_interrupted(run.interrupt.as_deref())
        || run.state.units.terminated.is_some()
        || run.state.graph.has_energy_limits
}

/// The first of the reasons to end that hold.
#[inline(never)]
fn reason(run: &Run) -> Option<StopReason> {
    if is_interrupted(run.interrupt.as_deref()) {
        return Some(StopReason::Interrupted);
    }
    if run.state.units.terminated.is_some() {
        return Some(StopReason::Terminated);
    }
    let limit = exceeded_limit(run).map(StopReason::Limit);
    let is_over = || run.timeline.is_over() && !run.waits_at_stop_time;
    limit.or_else(|| is_over().then_some(StopReason::StopTime))
}

#[inline(always)]
pub(super) fn is_interrupted(interrupt: Option<&AtomicBool>) -> bool {
    interrupt.is_some_and(|requested| requested.load(Ordering::Relaxed))
}

#[inline(always)]
pub(super) fn end_if_due(run: &mut Run) -> Result<(), RunError> {
    if !may_be_due(run) {
        return Ok(());
    }
    reason(run).map_or(Ok(()), |reason| end(run, reason))
}

/// Terminates the units that may still be called, and lets the observers finish.
pub(super) fn end(run: &mut Run, reason: StopReason) -> Result<(), RunError> {
    keep_at_end(run, &reason);
    run.stop_reason = reason;
    let step = run.timeline.next_step();
    let failed = step_trial::conclude(run);
    let mut first = Ok(());
    for component in 0..run.state.units.members.len() {
        let name = &run.state.graph.components[component].name;
        if run.faulty.as_ref() == Some(name) || failed.contains(&component) {
            continue;
        }
        if let Err(fault) = run.state.units.members[component].slot.unit().terminate()
            && first.is_ok()
        {
            first = Err(RunError::Fault(
                run.state.graph.fault(component, &step, fault),
            ));
        }
    }
    if let Err(error) = &first {
        run.stop_reason = StopReason::Failed(error.to_string());
    }
    let report = run.report();
    for Observing { observer, .. } in &mut run.observers {
        if let Err(error) = observer.finish(&report)
            && first.is_ok()
        {
            run.stop_reason = StopReason::Failed(error.to_string());
            first = Err(RunError::Observer(error));
        }
    }
    first
}

/// Ends the run because of `error`, which remains the error that is reported.
pub(super) fn fail(run: &mut Run, error: RunError) -> RunError {
    if !run.has_ended() {
        // A failure while ending is a consequence: the first error is the one to report.
        let _ = end(run, StopReason::Failed(error.to_string()));
        run.stop_reason = StopReason::Failed(error.to_string());
    }
    error
}

/// The limit of residual energy that a bond has exceeded, in words.
fn exceeded_limit(run: &Run) -> Option<String> {
    let bonds = run.state.graph.bonds.iter().zip(run.ledger.bonds());
    let exceeded = |(bond, energy): (&Bond, &BondEnergy)| {
        let limit = bond
            .max_residual_energy
            .filter(|limit| energy.residual_energy.abs() > *limit)?;
        Some(format!(
            "the residual energy of bond {} is {} J at t = {} s; its limit is {limit} J",
            bond.name,
            figure(energy.residual_energy),
            short(run.time())
        ))
    };
    bonds.filter_map(exceeded).next()
}
