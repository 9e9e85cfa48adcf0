//! The start of a run: units are initialised, the plan is finished, and the accounts begin. A system calls it once; it makes no step.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::checkpoint::{Checkpoint, try_states};
use super::ending::end_if_due;
use super::serialized::LastState;
use super::stop_time::end_as_stepped;
use super::timeline::Timeline;
use super::{Run, judgement, planning};
use crate::alarm::Alarms;
use crate::audit::Audit;
use crate::defect::Defects;
use crate::engine;
use crate::exchange::{OpenSenses, Untried};
use crate::fault::RunError;
use crate::ledger::Ledger;
use crate::plan::StepPlan;
use crate::report::StopReason;
use crate::state::SystemState;
use crate::step::Step;
use crate::step_control::{ControlledOutput, ControlledSystem, StepControl, StepControlFacts};
use crate::step_row::RowRoom;
use crate::unit::Period;

/// The parts that a [`System`](crate::System) starts a run with.
pub(crate) struct Parts {
    pub(crate) state: SystemState,
    pub(crate) method: &'static str,
    /// The draft that the method has written.
    pub(crate) plan: StepPlan,
    pub(crate) control: (&'static str, Box<dyn StepControl>),
    pub(crate) control_facts: StepControlFacts,
    pub(crate) period: Period,
    pub(crate) interrupt: Option<Arc<AtomicBool>>,
    pub(crate) waits_at_stop_time: bool,
    /// Units get no stop time.
    pub(crate) open_end: bool,
    pub(crate) notes: Vec<String>,
    /// Notes on what units share with each other, as they are in one process.
    pub(crate) ties: Vec<String>,
}

/// Number of runs that this process has started, by which handles know theirs.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// Initialises the units and brings the system to its start time.
///
/// # Errors
/// A fault of a unit, start values that do not converge.
pub(crate) fn start(parts: Parts) -> Result<Run, RunError> {
    let Parts {
        mut state,
        method,
        plan,
        mut control,
        control_facts,
        period,
        mut notes,
        ties,
        interrupt,
        waits_at_stop_time,
        open_end,
    } = parts;
    // A unit may refuse to step beyond the stop time that it was given (FMI 2.0.4, 4.2.1).
    let experiment = Period {
        stop: period
            .stop
            // One that is the start time has no step before it, and units may refuse it.
            .filter(|stop| *stop > period.start && !control_facts.may_overshoot && !open_end)
            .map(|stop| end_as_stepped(&state.graph, stop, control_facts)),
        ..period
    };
    let messages = engine::initialize(&mut state, &experiment)?;
    notes.extend(ties.iter().cloned().chain(messages.notes));
    let start = Step {
        time: period.start,
        ..Step::default()
    };
    engine::begin_scenario(&mut state, &start).map_err(RunError::Fault)?;
    let plan = planning::Planned::new(method, plan, &mut state)?;
    let bonds = state.graph.bonds.iter();
    let energy_limits = Vec::from_iter(bonds.map(|bond| bond.energy_limits));
    let first = control.1.first(&ControlledSystem {
        macro_step: state.graph.macro_step,
        has_bonds: !state.graph.bonds.is_empty(),
        energy_limits: &energy_limits,
        outputs: &ControlledOutput::all(&state.graph),
        values: &state.signals.reals,
    });
    let timeline = Timeline::new(&state.graph, control_facts, &period, first);
    let bonds = state.graph.bonds.iter();
    let alarms = Alarms::new(bonds.map(|bond| judgement::sees_course(&state, bond)));
    let mut run = Run {
        ledger: Ledger::new(&state),
        audit: Audit::new(&state),
        defects: Defects::new(&state),
        alarms,
        row: RowRoom::new(control_facts.is_fixed),
        checkpoint: Checkpoint::if_possible(&state, control_facts, &mut notes),
        timeline,
        most_parts: control_facts.parts,
        untried: Untried::all(&state),
        state,
        method,
        plan,
        control,
        observers: Vec::new(),
        tracker: None,
        acts: None,
        interrupt,
        waits_at_stop_time,
        stop_reason: StopReason::Running,
        notes,
        ties,
        warnings: messages.warnings,
        open_senses: OpenSenses::new(messages.open_senses),
        faulty: None,
        goes_back: false,
        written: false,
        last_state: LastState::default(),
        number: RUNS.fetch_add(1, Ordering::Relaxed),
    };
    end_if_due(&mut run)?;
    if !run.has_ended() {
        try_states(&mut run)?;
    }
    Ok(run)
}
