//! Components with their state before two steps, which trials make again when the run is over: its results are the same then,
//! even if a unit does not go back as it claims.

use crate::state::SystemState;
use crate::step::Step;
use crate::unit::SavedState;

/// A component before two of its steps.
pub(super) struct Before {
    pub(super) saved: SavedState,
    /// Values of its inputs.
    pub(super) inputs: Vec<f64>,
    pub(super) time: f64,
    /// Its communication step, s.
    pub(super) size: f64,
}

impl Before {
    /// Saves the state before a macro-step with which a step of the component begins; `None` where the unit cannot.
    pub(super) fn of(state: &mut SystemState, component: usize, step: &Step) -> Option<Self> {
        let node = &state.graph.components[component];
        if !node.description.capabilities.save_and_restore {
            return None;
        }
        let member = &mut state.units.members[component];
        Some(Self {
            saved: member.slot.unit().save(None).ok()?,
            inputs: state.courses.values[member.inputs.clone()].to_vec(),
            time: step.time,
            size: step.size * member.every as f64 / f64::from(member.substeps),
        })
    }

    /// When two steps are over, s.
    pub(super) fn end(&self) -> f64 {
        self.time + 2.0 * self.size
    }
}
