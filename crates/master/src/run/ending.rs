//! Reasons for which a run ends between two macro-steps.

use std::sync::atomic::Ordering;

use super::Run;
use crate::graph::Bond;
use crate::ledger::BondEnergy;
use crate::report::StopReason;

/// Whether there may be a [`reason`]: few comparisons, since every macro-step asks.
#[inline(always)]
pub(super) fn may_be_due(run: &Run) -> bool {
    run.timeline.is_over()
        || is_interrupted(run)
        || run.state.units.terminated.is_some()
        || run.state.graph.has_energy_limits
}

/// The first of the reasons to end that hold.
#[inline(never)]
pub(super) fn reason(run: &Run) -> Option<StopReason> {
    if is_interrupted(run) {
        return Some(StopReason::Interrupted);
    }
    if run.state.units.terminated.is_some() {
        return Some(StopReason::Terminated);
    }
    let limit = exceeded_limit(run).map(StopReason::Limit);
    limit.or_else(|| run.timeline.is_over().then_some(StopReason::StopTime))
}

#[inline(always)]
fn is_interrupted(run: &Run) -> bool {
    let interrupt = run.interrupt.as_ref();
    interrupt.is_some_and(|requested| requested.load(Ordering::Relaxed))
}

/// The limit of residual energy that a bond has exceeded, in words.
fn exceeded_limit(run: &Run) -> Option<String> {
    let bonds = run.state.graph.bonds.iter().zip(run.ledger.bonds());
    let exceeded = |(bond, energy): (&Bond, &BondEnergy)| {
        let limit = bond
            .max_residual_energy
            .filter(|limit| energy.residual_energy.abs() > *limit)?;
        Some(format!(
            "the residual energy of bond {} is {:.6e} J at t = {} s; its limit is {limit} J",
            bond.name,
            energy.residual_energy,
            run.time()
        ))
    };
    bonds.filter_map(exceeded).next()
}
