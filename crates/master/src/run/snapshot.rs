//! The state of a run, to which it can go back.

use super::ending::fail;
use super::timeline::Timeline;
use super::{Energies, Run};
use crate::counters::Counters;
use crate::engine;
use crate::fault::RunError;
use crate::plan::Stage;
use crate::state::{DoneAction, HeldValue, Saved, restore, save};
use crate::step_control::StepControl;

/// The state of a run at a communication point: its units and all that the master keeps. Observers have states of
/// their own, which are not in it.
pub struct Snapshot {
    run: u64,
    state: Saved,
    /// Values that wait for a component's communication step.
    held: Vec<HeldValue>,
    /// The values that were due one macro-step ago, of inputs with learned feed-forward.
    fed_before: Vec<f64>,
    done: Vec<DoneAction>,
    counters: Counters,
    energies: Energies,
    timeline: Timeline,
    stages: Vec<Box<dyn Stage>>,
    control: Box<dyn StepControl>,
    written: bool,
}

impl Snapshot {
    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        self.timeline.time()
    }
}

impl Run {
    /// Saves the state at the present communication point. A run that goes back to it and is given the same inputs has
    /// the same results, bit for bit, however often.
    ///
    /// # Errors
    /// [`RunError::NotSaved`] if a component, the method or the step control cannot; a unit that fails, which ends the
    /// run.
    pub fn save(&mut self) -> Result<Snapshot, RunError> {
        if self.has_ended() {
            return Err(RunError::Ended(self.stop_reason.word()));
        }
        let components = self.state.graph.components.iter();
        let unable = components.filter(|c| !c.description.capabilities.save_and_restore);
        let unable: Vec<&str> = unable.map(|component| component.name.as_str()).collect();
        if !unable.is_empty() {
            let names = unable.join(", ");
            return Err(RunError::NotSaved(format!(
                "{names} cannot save a state (FMUs say `canGetAndSetFMUstate`, units `Capabilities::save_and_restore`)"
            )));
        }
        let not_copied = |kind: &str, name: &str| {
            RunError::NotSaved(format!("the {kind} `{name}` cannot be duplicated"))
        };
        let stages = self.plan.duplicate_stages();
        let stages = stages.ok_or_else(|| not_copied("method", self.method))?;
        let (name, control) = &self.control;
        let control = control.duplicate();
        let control = control.ok_or_else(|| not_copied("step control", name))?;
        let step = self.timeline.next_step();
        let mut state = Saved::default();
        if let Err(fault) = save(&mut self.state, &mut state, &step) {
            self.faulty = Some(fault.component.clone());
            return Err(fail(self, RunError::Fault(fault)));
        }
        let feed_forward = self.state.courses.feed_forward.iter();
        Ok(Snapshot {
            run: self.number,
            state,
            held: self.state.units.held.clone(),
            fed_before: feed_forward.map(|signal| signal.previous).collect(),
            done: self.state.scenario.done.clone(),
            counters: self.state.counters,
            energies: (
                self.ledger.clone(),
                self.audit.clone(),
                self.defects.clone(),
                self.alarms.clone(),
            ),
            timeline: self.timeline.clone(),
            stages,
            control,
            written: self.written,
        })
    }

    /// Goes back to a saved state of this run, which stays valid. Observers keep the points that they have seen since then:
    /// a recorder appends the rows that follow.
    ///
    /// # Errors
    /// A snapshot of another run; a run that has ended, whose units are terminated; a unit that fails, which ends the
    /// run.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RunError> {
        if self.has_ended() {
            return Err(RunError::Ended(self.stop_reason.word()));
        }
        if snapshot.run != self.number {
            let message =
                "a snapshot belongs to the run that has made it, whose units have its states";
            return Err(RunError::NotSaved(message.to_owned()));
        }
        let stages = snapshot.stages.iter().map(|stage| stage.duplicate());
        let stages: Option<Vec<_>> = stages.collect();
        let (Some(stages), Some(control)) = (stages, snapshot.control.duplicate()) else {
            let message = "its method or its step control cannot be duplicated again";
            return Err(RunError::NotSaved(message.to_owned()));
        };
        let step = snapshot.timeline.next_step();
        if let Err(fault) = restore(&mut self.state, &snapshot.state, &step) {
            self.faulty = Some(fault.component.clone());
            return Err(fail(self, RunError::Fault(fault)));
        }
        self.state.units.held.clone_from(&snapshot.held);
        let signals = self.state.courses.feed_forward.iter_mut();
        for (signal, previous) in signals.zip(&snapshot.fed_before) {
            signal.previous = *previous;
        }
        self.state.scenario.done.clone_from(&snapshot.done);
        self.state.counters = snapshot.counters;
        // Actions may have been added since then.
        engine::select_ways_of_giving(&mut self.state);
        self.plan.renew(&mut self.state);
        (self.ledger, self.audit, self.defects, self.alarms) = snapshot.energies.clone();
        self.timeline = snapshot.timeline.clone();
        self.plan.set_stages(stages);
        self.control.1 = control;
        self.written = snapshot.written;
        Ok(())
    }
}
