use super::{Corrector, InputState, Plant, RunningModel, Step};
use crate::fault::Fault;
use crate::unit::{SavedState, Value};

/// The state of a plant at a communication point: the units' states and the master's own (C-74).
#[derive(Default)]
pub(crate) struct PlantState {
    units: Vec<Option<SavedState>>,
    inputs: Vec<f64>,
    states: Vec<InputState>,
    outputs: Vec<f64>,
    signals: Vec<Value>,
    stale_errors: Vec<f64>,
    slopes: Vec<f64>,
    correctors: Vec<Corrector>,
    interface_models: Vec<RunningModel>,
    terminated: Option<f64>,
}

impl Plant {
    /// Saves the state into `state`, whose memory is used again.
    pub(crate) fn save(&mut self, state: &mut PlantState, step: &Step) -> Result<(), Fault> {
        state.units.resize_with(self.members.len(), || None);
        for component in 0..self.members.len() {
            let previous = state.units[component].take();
            let saved = self.members[component].slot.unit().save(previous);
            let saved = saved.map_err(|fault| self.fault(component, step, fault))?;
            state.units[component] = Some(saved);
        }
        state.inputs.clone_from(&self.inputs);
        state.states.clone_from(&self.states);
        state.outputs.clone_from(&self.outputs);
        state.signals.clone_from(&self.signals);
        state.stale_errors.clone_from(&self.stale_errors);
        state.slopes.clone_from(&self.slopes);
        state.correctors.clone_from(&self.correctors);
        state.interface_models.clone_from(&self.interface_models);
        state.terminated = self.terminated;
        Ok(())
    }

    /// Goes back to a saved state. Counters go on: they count what was called.
    pub(crate) fn restore(&mut self, state: &PlantState, step: &Step) -> Result<(), Fault> {
        for (component, saved) in state.units.iter().enumerate() {
            if let Some(saved) = saved {
                let restored = self.members[component].slot.unit().restore(saved);
                restored.map_err(|fault| self.fault(component, step, fault))?;
            }
        }
        self.inputs.clone_from(&state.inputs);
        self.states.clone_from(&state.states);
        self.outputs.clone_from(&state.outputs);
        self.signals.clone_from(&state.signals);
        self.stale_errors.clone_from(&state.stale_errors);
        self.slopes.clone_from(&state.slopes);
        self.correctors.clone_from(&state.correctors);
        self.interface_models.clone_from(&state.interface_models);
        self.terminated = state.terminated;
        Ok(())
    }
}
