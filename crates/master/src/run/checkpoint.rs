//! The way back to the state before a step.

use super::planning::Planned;
use crate::alarm::Alarms;
use crate::audit::Audit;
use crate::defect::Defects;
use crate::fault::Fault;
use crate::ledger::Ledger;
use crate::plan::Stage;
use crate::state::{Saved, SystemState, restore, save};
use crate::state_check;
use crate::step::Step;
use crate::step_control::StepControlFacts;

/// The observers that belong to the run itself.
pub(super) type Energies = (Ledger, Audit, Defects, Alarms);

/// The state of a run before a step.
pub(crate) struct Checkpoint {
    state: Saved,
    energies: Energies,
    /// The stages of the method, where it has some.
    stages: Option<Vec<Box<dyn Stage>>>,
    unconverged_steps: u64,
}

impl Checkpoint {
    /// Room for checkpoints, if the step control may ask to roll back and the units can.
    pub(crate) fn if_possible(
        state: &SystemState,
        control: StepControlFacts,
        notes: &mut Vec<String>,
    ) -> Option<Self> {
        if !control.may_repeat {
            return None;
        }
        let components = &state.graph.components;
        let cannot = |names: Vec<&str>, why: &str| {
            format!("no step is made again: {} {why}", names.join(", "))
        };
        let names = |test: &dyn Fn(&crate::graph::Component) -> bool| -> Vec<&str> {
            let found = components.iter().filter(|component| test(component));
            found.map(|component| component.name.as_str()).collect()
        };
        let forgetful = names(&|c| !c.description.capabilities.save_and_restore);
        let slow = names(&|c| c.rate.every() > 1);
        if !forgetful.is_empty() {
            notes.push(cannot(forgetful, "cannot restore a state"));
            return None;
        }
        if !slow.is_empty() {
            notes.push(cannot(slow, "communicates more slowly than the macro-step"));
            return None;
        }
        Some(Self {
            state: Saved::default(),
            energies: Energies::default(),
            stages: None,
            unconverged_steps: 0,
        })
    }

    pub(crate) fn save(
        &mut self,
        state: &mut SystemState,
        (ledger, audit, defects, alarms): (&Ledger, &Audit, &Defects, &Alarms),
        step: &Step,
    ) -> Result<(), Fault> {
        self.energies.0.clone_from(ledger);
        self.energies.1.clone_from(audit);
        self.energies.2.clone_from(defects);
        self.energies.3.clone_from(alarms);
        self.unconverged_steps = state.counters.unconverged_steps;
        if step.index == 0 {
            check_states(state, step)?;
        }
        save(state, &mut self.state, step)
    }

    /// Keeps the stages of the method, which have memories of their own.
    pub(super) fn save_stages(&mut self, plan: &Planned) {
        self.stages = plan.duplicate_stages();
    }

    pub(super) fn restore_stages(&self, plan: &mut Planned) {
        let stages = self.stages.iter().flatten();
        let stages: Option<Vec<_>> = stages.map(|stage| stage.duplicate()).collect();
        if let Some(stages) = stages.filter(|stages| !stages.is_empty()) {
            plan.set_stages(stages);
        }
    }

    pub(crate) fn restore(&self, state: &mut SystemState, step: &Step) -> Result<(), Fault> {
        // Other counters are of calls that were made.
        state.counters.unconverged_steps = self.unconverged_steps;
        restore(state, &self.state, step)
    }

    pub(crate) fn energies(&self) -> Energies {
        self.energies.clone()
    }
}

/// Tries whether the components can go back, before it is needed.
fn check_states(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    for component in 0..state.units.members.len() {
        let member = &mut state.units.members[component];
        let size = step.size / f64::from(member.substeps);
        let outputs = member.output_handles.clone();
        let checked = state_check::check(member.slot.unit(), &outputs, step.time, size);
        checked.map_err(|fault| state.graph.fault(component, step, fault))?;
    }
    Ok(())
}
