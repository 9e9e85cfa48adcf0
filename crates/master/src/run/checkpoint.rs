//! The way back to the state before a step.

use super::Run;
use super::planning::Planned;
use crate::alarm::Alarms;
use crate::audit::Audit;
use crate::defect::Defects;
use crate::fault::{Fault, RunError};
use crate::ledger::Ledger;
use crate::plan::{Operation, Stage};
use crate::state::{Saved, SystemState, restore, save};
use crate::state_check::check_component;
use crate::step::Step;
use crate::step_control::StepControlFacts;

/// The observers that belong to the run itself.
pub(super) type Energies = (Ledger, Audit, Defects, Alarms);

/// The state of a run before a step.
pub(crate) struct Checkpoint {
    state: Saved,
    energies: Energies,
    /// The stages of the method, if it has some.
    stages: Option<Vec<Box<dyn Stage>>>,
    unconverged_steps: u64,
    /// Whether the components have shown that they can go back, which is seen before it is needed.
    is_tried: bool,
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
            is_tried: false,
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
        if !std::mem::replace(&mut self.is_tried, true) {
            let mut components = 0..state.units.members.len();
            components.try_for_each(|component| check_component(state, component, step))?;
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

/// Tries whether the units go back that the method takes back.
pub(super) fn try_states(run: &mut Run) -> Result<(), RunError> {
    let step = run.timeline.next_step();
    for operation in &run.plan.plan().operations {
        let Operation::Iterate { components, .. } = operation else {
            continue;
        };
        for &component in components {
            check_component(&mut run.state, component, &step).map_err(RunError::Fault)?;
        }
    }
    Ok(())
}
