//! Actions on variables that a program adds while a system runs.

use std::sync::Arc;

use gyrator_system::{Choice, Problems, Scenario};

use super::Run;
use super::ending::fail;
use crate::engine;
use crate::fault::RunError;
use crate::joining;
use crate::start_error::StartError;
use crate::state::RunningScenario;
use crate::unit::Value;

impl Run {
    /// Adds the actions of `scenario` to those that the system has. One whose time has passed acts from the
    /// next macro-step on; outputs of the present communication point that were exchanged with direct feed-through
    /// are without it.
    ///
    /// # Errors
    /// All problems of its names and words; a run that has ended; a variable that nothing feeds, after a
    /// [`write`](Self::write) and before the next step (FMI 2.0 §4.2.4, C-28); a unit that refuses.
    pub fn act(&mut self, scenario: &Scenario) -> Result<(), StartError> {
        let actions = joined(self, scenario)?;
        add(self, actions)
    }

    /// Gives the input or tunable parameter `name` this value from the next macro-step on, whatever feeds it,
    /// until it is [released](Self::release). The name of an output stands for all inputs that it feeds. The
    /// report lists the actions of scenarios only.
    ///
    /// # Errors
    /// As [`act`](Self::act); a value of another type.
    pub fn override_value(
        &mut self,
        name: &str,
        value: impl Into<Value>,
    ) -> Result<(), StartError> {
        let value = Choice::new("override").with("value", value.into().into());
        // The earlier override ends: one for each step would pile them up.
        act_now(self, name, [Choice::new("reset"), value])
    }

    /// Ends all actions on `name`.
    ///
    /// # Errors
    /// As [`act`](Self::act).
    pub fn release(&mut self, name: &str) -> Result<(), StartError> {
        act_now(self, name, [Choice::new("reset")])
    }
}

fn act_now<const N: usize>(
    run: &mut Run,
    name: &str,
    actions: [Choice; N],
) -> Result<(), StartError> {
    let mut scenario = Scenario::new();
    for action in actions {
        scenario.act(run.time(), name, action);
    }
    let mut actions = joined(run, &scenario)?;
    for action in actions.channels.iter_mut().flat_map(|c| &mut c.actions) {
        action.reported_as = None;
    }
    add(run, actions)
}

fn joined(run: &Run, scenario: &Scenario) -> Result<RunningScenario, StartError> {
    if run.has_ended() {
        return Err(RunError::Ended(run.stop_reason.word()).into());
    }
    let joined = joining::join(scenario, run.graph()).map_err(|mut list| {
        // Actions of a program are nowhere in a text: two on a wrong name have the same problem.
        list.dedup();
        let source = Arc::clone(&scenario.source);
        StartError::Invalid(Problems { source, list })
    })?;
    if run.written && engine::has_free_channel(&joined) {
        let message = "an action on a variable that nothing feeds reads its value: make a step first, after a \
                       value was written (C-28)";
        return Err(RunError::Variable(message.to_owned()).into());
    }
    Ok(joined)
}

fn add(run: &mut Run, actions: RunningScenario) -> Result<(), StartError> {
    let (step, next) = (run.timeline.next_step(), run.timeline.steps());
    let added = engine::extend_scenario(&mut run.state, actions, &step, next);
    run.plan.renew(&mut run.state);
    added.map_err(|fault| {
        run.faulty = Some(fault.component.clone());
        fail(run, RunError::Fault(fault)).into()
    })
}
