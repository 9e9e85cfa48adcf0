//! The plan of a run.

use super::Run;
use crate::fault::RunError;
use crate::plan::{Declared, Operation, PlanText, Stage, StepPlan, finish, verify};
use crate::state::SystemState;

/// A plan with its draft, from which it is made again when a scenario joins the run.
pub(super) struct Planned {
    draft: Vec<Operation>,
    plan: StepPlan,
}

impl Planned {
    /// The final plan of a draft, for units that are initialised.
    ///
    /// # Errors
    /// A plan of a method that breaks a rule.
    pub(super) fn new(
        method: &str,
        mut plan: StepPlan,
        state: &mut SystemState,
    ) -> Result<Self, RunError> {
        let draft = std::mem::take(&mut plan.operations);
        plan.operations = finish(&draft, state);
        let broken = verify(&plan, &state.graph, Some(state));
        match broken.first() {
            None => {
                let stages = plan.stages.iter();
                let declared = stages.map(|stage| Declared::of(&**stage, &state.graph));
                plan.declared = declared.collect();
                Ok(Self { draft, plan })
            }
            Some(first) => Err(RunError::Plan {
                method: method.to_owned(),
                broken: first.to_string(),
            }),
        }
    }

    #[inline]
    pub(super) fn plan(&mut self) -> &mut StepPlan {
        &mut self.plan
    }

    /// Leaves out or takes in operations after a change of the state.
    pub(super) fn renew(&mut self, state: &mut SystemState) {
        self.plan.operations = finish(&self.draft, state);
    }

    pub(super) fn duplicate_stages(&self) -> Option<Vec<Box<dyn Stage>>> {
        self.plan.duplicate_stages()
    }

    pub(super) fn set_stages(&mut self, stages: Vec<Box<dyn Stage>>) {
        self.plan.stages = stages;
    }
}

/// The plan of a macro-step of a run, in words.
pub fn plan(run: &Run) -> PlanText {
    let state = &run.state;
    PlanText::new(
        (run.method, run.control.0),
        &run.plan.plan,
        &state.graph,
        Some(state),
    )
}

#[cfg(test)]
mod tests;
