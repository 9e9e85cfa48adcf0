//! Components before their last two steps, which trials make again when the run is over: its results are the same then,
//! even if a unit does not go back as it claims.

use crate::state::SystemState;
use crate::step::Step;
use crate::unit::SavedState;

/// A component before its last two macro-steps.
pub(super) struct Before {
    pub(super) saved: SavedState,
    /// Values of its inputs.
    pub(super) inputs: Vec<f64>,
    pub(super) time: f64,
    /// Its communication step, s.
    pub(super) size: f64,
}

impl Before {
    /// Saves the state before a step after which there is one more; `None` where the unit cannot, or steps more slowly.
    pub(super) fn of(state: &mut SystemState, component: usize, step: &Step) -> Option<Self> {
        let node = &state.graph.components[component];
        let member = &mut state.units.members[component];
        if !node.description.capabilities.save_and_restore || member.every > 1 {
            return None;
        }
        Some(Self {
            saved: member.slot.unit().save(None).ok()?,
            inputs: state.courses.values[member.inputs.clone()].to_vec(),
            time: step.time,
            size: step.size / f64::from(member.substeps),
        })
    }
}
