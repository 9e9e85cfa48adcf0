//! A running system: its steps, its accounts, its observers, its end. Programs call it; what happens within a macro-step is in the plan,
//! and not here.

mod acting;
mod checkpoint;
mod ending;
mod handle;
mod handover;
mod judgement;
mod observing;
mod planning;
mod repetition;
mod reporting;
mod serialized;
mod snapshot;
mod starting;
mod step_trial;
mod stop_time;
mod timeline;
mod watching;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::alarm::Alarms;
use crate::audit::Audit;
use crate::defect::Defects;
use crate::engine;
use crate::exchange::{OpenSenses, Untried};
use crate::fault::{Cause, Fault, RunError};
use crate::graph::Graph;
use crate::ledger::Ledger;
use crate::observer::{Observer, View};
use crate::profile::{Acts, Probe, Profile, Unprofiled};
use crate::report::{Report, StopReason};
use crate::state::{Member, SystemState};
use crate::step::Step;
use crate::step_control::StepControl;
use crate::step_row::RowRoom;
use crate::unit::ProcessChange;
use crate::unused_inputs::UnusedInputs;
use crate::watch;
use checkpoint::{Checkpoint, Energies};
use ending::{end, end_if_due, fail};
pub use handle::{Input, Output, Readable, VariableValue, Writable};
pub use handover::Handover;
use observing::{Observing, continue_or_stop, notify_observers};
pub use planning::plan;
use serialized::LastState;
pub use serialized::{check_serializable, deserialize, keep_last_state, last_state, serialize};
pub use snapshot::Snapshot;
pub(crate) use starting::{Parts, start};
use timeline::Timeline;

/// A system that runs: initialised, at a communication point, ready for its next macro-step.
///
/// Between steps its variables can be read and written, so that a test bench can put physical
/// parts into the loop. Nothing is rolled back while it goes on, unless a step control or the method makes steps again.
pub struct Run {
    pub(crate) state: SystemState,
    method: &'static str,
    plan: planning::Planned,
    control: (&'static str, Box<dyn StepControl>),
    ledger: Ledger,
    audit: Audit,
    defects: Defects,
    alarms: Alarms,
    /// Room for what the accounts add.
    row: RowRoom,
    observers: Vec<Observing>,
    tracker: Option<Tracker>,
    /// Measures the macro-steps.
    acts: Option<Box<Acts>>,
    interrupt: Option<Arc<AtomicBool>>,
    waits_at_stop_time: bool,
    timeline: Timeline,
    /// Greatest number of equal parts in which a step is made.
    most_parts: u32,
    /// The state before the step in progress, if steps may be made again.
    checkpoint: Option<Checkpoint>,
    stop_reason: StopReason,
    notes: Vec<String>,
    /// The notes about units in one process.
    ties: Vec<String>,
    warnings: Vec<String>,
    /// Bonds on whose sense direct feed-through says nothing.
    open_senses: OpenSenses,
    faulty: Option<String>,
    /// It may restore a state.
    goes_back: bool,
    /// Components whose last steps are tried when the run is over.
    untried: Vec<Untried>,
    written: bool,
    last_state: LastState,
    /// Distinguishes it from every other run of the process.
    number: u64,
}

/// What units have changed of their process, by component; only those that have changed something.
pub(crate) fn process_changes(
    members: &[Member],
    graph: &Graph,
) -> Vec<(String, Vec<ProcessChange>)> {
    let components = members.iter().zip(&graph.components);
    let changes = components.map(|(member, component)| {
        let changes = member.slot.process_ties().changes;
        (component.name.clone(), changes)
    });
    changes.filter(|(_, changes)| !changes.is_empty()).collect()
}

/// What to do about a run that diverges by its coupling, as a second run has shown: takes whether that does not diverge, at half
/// of every communication step; `None` if it is not known.
pub fn divergence_advice(run: &Run) -> impl FnOnce(Option<bool>) -> String + use<> {
    judgement::advice(run)
}

/// The outputs in a loop whose growth makes a run [suspicious](crate::report::Divergence::Suspected), as places in
/// [`View::reals`](crate::observer::View::reals).
pub fn looped_outputs(run: &Run) -> Vec<usize> {
    judgement::looped_outputs(run)
}

/// Macro-steps to the stop time, if all have the same size; 0 if that is not known.
pub fn planned_steps(run: &Run) -> u64 {
    match run.timeline.is_regular() {
        true => run.timeline.planned_steps().unwrap_or(0),
        false => 0,
    }
}

/// Notes on what the units of a run share because they are in one process, and on what they have changed of it so far.
pub fn process_notes(run: &Run) -> Vec<String> {
    let changes = reporting::process_changes(run);
    run.ties.iter().cloned().chain(changes).collect()
}

/// The inputs that nothing feeds, and the start values of a run that have no effect.
pub fn unused_inputs(run: &Run) -> UnusedInputs {
    UnusedInputs::of(&run.state.graph, Some(&run.state.scenario))
}

/// When the run is over, however it ended, looks for likely wrong senses of the power bonds whose ends have no direct
/// feed-through. Ends that save and restore their state make their first two steps again, with one input a little more
/// and a little less. The report has a warning for each. No result depends on it. Does nothing after the first step.
pub fn check_senses(run: &mut Run) {
    if run.timeline.steps() == 0 {
        let (step, stop) = (run.timeline.next_step(), run.timeline.stop_time());
        run.open_senses.save(&mut run.state, &step, stop);
    }
}

/// Takes the simulated time of a communication point, s, and the number of macro-steps before it.
pub type Tracker = Box<dyn Fn(f64, u64) + Send>;

/// Calls `tracker` at the present communication point and at each that follows, at some of them twice, before any
/// observer.
pub fn track(run: &mut Run, tracker: Tracker) {
    run.tracker = Some(tracker);
    track_point(run);
}

#[inline(always)]
fn track_point(run: &Run) {
    if let Some(tracker) = &run.tracker {
        tracker(run.timeline.time(), run.timeline.steps());
    }
}

impl Run {
    /// Adds an observer, which sees the present communication point at once. It also finishes at once
    /// if the run has ended before its first step.
    ///
    /// # Errors
    /// An error of the observer's [`begin`](Observer::begin), or a variable that it
    /// [watches](Observer::watches) and that cannot be read; the run has then ended. An error of its
    /// [`finish`](Observer::finish) if the run has ended already.
    pub fn observe(&mut self, observer: impl Observer + 'static) -> Result<(), RunError> {
        let mut observer: Box<dyn Observer> = Box::new(observer);
        let watches = observer.watches(&self.view());
        let watches = watches.map_err(RunError::Observer);
        let watched = watches.and_then(|list| watching::watched(&self.state.graph, &list));
        let mut watched = watched.map_err(|error| fail(self, error))?;
        let step = self.timeline.next_step();
        if let Err(fault) = watch::update(&mut self.state, &mut watched, &step, false) {
            return Err(fail(self, RunError::Fault(fault)));
        }
        let request = observer.begin(&View {
            watched: &watched,
            ..self.view()
        });
        if self.has_ended() {
            let finished = request.and_then(|_| observer.finish(&self.report()));
            return finished.map_err(|error| {
                self.stop_reason = StopReason::Failed(error.to_string());
                RunError::Observer(error)
            });
        }
        self.observers.push(Observing { observer, watched });
        match request {
            Ok(request) => continue_or_stop(self, request),
            Err(error) => Err(fail(self, RunError::Observer(error))),
        }
    }

    /// Makes one macro-step; `false` when it was the last one.
    ///
    /// # Errors
    /// A fault of a unit or an observer, after which the run has ended: the observers have finished
    /// what they recorded, and [`report`](Self::report) holds the rest.
    // Compiled as this crate asks, not as a small part of a program that calls it.
    #[inline(never)]
    pub fn step(&mut self) -> Result<bool, RunError> {
        match &self.acts {
            None => make_macro_step(self, &mut Unprofiled),
            Some(_) => make_measured(self),
        }
    }

    /// Steps until the stop time, or until a unit or an observer ends the run.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run(&mut self) -> Result<Report, RunError> {
        while !self.has_ended() && !self.timeline.is_over() {
            self.step()?;
        }
        Ok(self.report())
    }

    /// Steps until the communication point at `time`, s, or after it if there is none, or until the run ends; `false`
    /// when it has ended.
    ///
    /// # Errors
    /// As [`step`](Self::step); a time that is not a number.
    pub fn run_until(&mut self, time: f64) -> Result<bool, RunError> {
        if time.is_nan() {
            let message = "`run_until` needs a time, and NaN is none".to_owned();
            return Err(RunError::Variable(message));
        }
        // Rounding of times that are computed otherwise than communication points.
        let time = (time - 1e-9 * self.state.graph.macro_step).next_down();
        while !self.has_ended() && !self.timeline.is_over() && self.time() < time {
            self.step()?;
        }
        Ok(!self.has_ended())
    }

    /// Measures the macro-steps from here on, and no others: the operations of the plan, the ledger and the observers. The
    /// calls of units are measured if the profile has [wrapped](Profile::units) them, and are a part of the operations if
    /// not.
    pub fn profile(&mut self, profile: &Profile) {
        self.acts = Some(Box::new(Acts::new(profile)));
    }

    /// Ends the run here: the units are terminated and the observers finish.
    ///
    /// # Errors
    /// A failure of an observer to finish.
    pub fn stop(&mut self) -> Result<Report, RunError> {
        if !self.has_ended() {
            let reason = match self.timeline.is_over() {
                true => StopReason::StopTime,
                false => StopReason::Stopped,
            };
            end(self, reason)?;
        }
        Ok(self.report())
    }

    /// Whether the run has ended.
    pub fn has_ended(&self) -> bool {
        self.stop_reason != StopReason::Running
    }

    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        self.timeline.time()
    }

    /// What the units have changed of their process, by component; only those that have changed something.
    pub(crate) fn process_changes(&self) -> Vec<(String, Vec<ProcessChange>)> {
        process_changes(&self.state.units.members, &self.state.graph)
    }

    /// Stop reason, counters, energies and notes of the run so far.
    pub fn report(&self) -> Report {
        reporting::report(self)
    }

    /// The resolved system.
    pub fn graph(&self) -> &Graph {
        &self.state.graph
    }

    /// The energies of the bonds.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The system at its present communication point, as observers see it.
    pub fn view(&self) -> View<'_> {
        View {
            time: self.time(),
            steps: self.timeline.steps(),
            graph: &self.state.graph,
            reals: &self.state.signals.reals,
            signals: &self.state.signals.discrete,
            ledger: &self.ledger,
            audit: &self.audit,
            defects: &self.defects,
            control: self.control.1.signals(),
            alarms: &self.alarms,
            watched: &[],
        }
    }
}

/// Makes a macro-step; `false` when it was the last one.
#[inline]
fn make_macro_step(run: &mut Run, probe: &mut impl Probe) -> Result<bool, RunError> {
    if run.has_ended() {
        return Err(RunError::Ended(run.stop_reason.word()));
    }
    if run.timeline.is_over() {
        return Err(RunError::Ended(StopReason::StopTime.word()));
    }
    let step = run.timeline.next_step();
    keep_state(run, &step)?;
    if !run.untried.is_empty() {
        step_trial::save(run, &step);
    }
    let made = if run.timeline.is_fixed() {
        make_once(run, &step, true, probe).map(|()| step)
    } else {
        repetition::make(run, step, probe)?
    };
    match made {
        Ok(made) => run.timeline.advance(&made),
        Err(fault) => return Err(fail_by(run, fault)),
    }
    reach_point(run, probe)?;
    Ok(!run.has_ended())
}

/// As [`make_macro_step`], with a profile.
#[cold]
fn make_measured(run: &mut Run) -> Result<bool, RunError> {
    let Some(mut acts) = run.acts.take() else {
        return make_macro_step(run, &mut Unprofiled);
    };
    let made = acts.macro_step(run.time(), |acts| make_macro_step(run, acts));
    run.acts = Some(acts);
    made
}

/// Makes a step once, or a part of it: the first one if `begins`.
///
/// # Errors
/// The first fault of a unit, or the first value that is NaN or infinite.
#[inline(always)]
fn make_once(
    run: &mut Run,
    step: &Step,
    begins: bool,
    probe: &mut impl Probe,
) -> Result<(), Fault> {
    engine::give_held_values(&mut run.state, step)?;
    engine::give_free(&mut run.state, step)?;
    engine::execute(run.plan.plan(), &mut run.state, step, probe)?;
    probe.act("ledger", |_| account(run, step, begins));
    Ok(())
}

/// Gives the accounts the row of a step that was made once, or of a part of it.
#[inline(always)]
fn account(run: &mut Run, step: &Step, begins: bool) {
    run.written = false;
    let row = run.row.fill(&run.state, step, begins);
    run.ledger.add(&row);
    run.audit.add(&row);
    let knows_more = run.defects.add(&row);
    run.alarms.add(&row, &run.ledger);
    if knows_more && run.timeline.is_fixed() {
        follow_inner_steps(run);
    }
}

/// Lets means of inputs follow the inner steps that their components have shown.
#[cold]
fn follow_inner_steps(run: &mut Run) {
    for input in &mut run.state.courses.inputs {
        if let Some(count) = run.defects.inner_steps(input.component)
            && let Some(extrapolation) = &mut input.extrapolation
        {
            extrapolation.follow_inner_steps(count);
        }
    }
}

/// Shows the communication point after a macro-step to those who look, and ends the run if there is a reason.
#[inline(always)]
fn reach_point(run: &mut Run, probe: &mut impl Probe) -> Result<(), RunError> {
    track_point(run);
    if !run.observers.is_empty() {
        notify_observers(run, probe)?;
    }
    if !run.has_ended() {
        end_if_due(run)?;
    }
    Ok(())
}

/// Ends the run because of a fault in a step.
#[cold]
fn fail_by(run: &mut Run, fault: Fault) -> RunError {
    run.faulty = Some(fault.component.clone());
    let cause = fault.unit.cause;
    run.goes_back = matches!(cause, Cause::Error | Cause::Discard | Cause::NotFinite);
    fail(run, RunError::Fault(fault))
}

/// Keeps the state before a step that may be made again.
fn keep_state(run: &mut Run, step: &Step) -> Result<(), RunError> {
    let Some(checkpoint) = &mut run.checkpoint else {
        return Ok(());
    };
    checkpoint.save_stages(&run.plan);
    let energies = (&run.ledger, &run.audit, &run.defects, &run.alarms);
    if let Err(fault) = checkpoint.save(&mut run.state, energies, step) {
        return Err(fail(run, RunError::Fault(fault)));
    }
    Ok(())
}
