//! Macro-steps in a row, while nothing but outputs is looked at between them.

use std::sync::atomic::AtomicBool;

use super::ending::is_interrupted;
use super::timeline::Timeline;
use super::{Observing, Run, Tracker, account, fail, fail_by, reach_point};
use crate::dispatch::Dispatch;
use crate::engine::lane::{self, Between, Ended};
use crate::engine::outputs;
use crate::fault::{Fault, RunError};
use crate::ledger::Powers;
use crate::observer::{ObserverError, OutputPoint};
use crate::profile::Unprofiled;
use crate::state::{SystemState, Together};
use crate::step::Step;

/// The last macro-steps of a run are made one by one: its trials begin with the last but one.
const STEPS_AT_END: u64 = 3;

/// Makes some macro-steps in a row of FMUs that are called together, and then what each macro-step does to energies,
/// defects and alarms; the communication point at the time `until`, s, is the last one. `false` where that is not possible now,
/// and nothing was done.
///
/// # Errors
/// As [`Run::step`].
// Compiled as this crate asks, not as a part of a program that is compiled for size.
#[inline(never)]
pub(super) fn make(run: &mut Run, until: f64) -> Result<bool, RunError> {
    let most = most_steps(run);
    if most < 2 {
        return Ok(false);
    }
    let Run {
        state,
        timeline,
        interrupt,
        tracker,
        observers,
        ..
    } = run;
    let mut looking = Looking {
        timeline,
        most,
        until,
        interrupt: interrupt.as_deref(),
        tracker: tracker.as_mut(),
        observers,
        seen: Ok(()),
    };
    let ended = lane::steps_in_a_row(state, &mut looking);
    let seen = looking.seen;
    let Some(ended) = ended else {
        return Ok(false);
    };
    // First, since an interrupted call may have left other control words of the floating-point unit.
    let last = ended.step();
    let was_read = matches!(ended, Ended::NotFinite(_));
    let mut completed = lane::complete(&mut run.state, ended);
    if let Some(step) = last
        && completed.is_ok()
    {
        completed = look(run, &step);
    }
    let is_complete = last.is_some() && completed.is_ok();
    match run.ledger.takes_rows(&run.state) {
        true => account_rows(run, is_complete || was_read),
        false => account_one_by_one(run, is_complete || was_read),
    }
    if let Err(fault) = completed {
        return Err(fail_by(run, fault));
    }
    if let Some(step) = last {
        account(run, &step, true);
        run.timeline.advance(&step);
    }
    if let Err(error) = seen {
        return Err(fail(run, RunError::Observer(error)));
    }
    reach_point(run, &mut Unprofiled)?;
    Ok(true)
}

/// Looks at the outputs after a macro-step that was completed by itself, and lets the pasts of the inputs take them.
#[cold]
fn look(run: &mut Run, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        ..
    } = &mut run.state;
    outputs::check_finite(graph, signals, step)?;
    signals.had_event = false;
    if !courses.all_hold {
        let end = graph.clock.duration(step.from + step.length);
        outputs::observe(units, signals, courses, step.index + 1, end);
    }
    Ok(())
}

/// Whether each observer can miss the next point, or looks at outputs alone.
#[inline(always)]
fn are_outputs_enough(observers: &[Observing]) -> bool {
    observers.iter().all(|Observing { observer, watched }| {
        watched.is_empty() && (observer.sees_outputs_alone() || observer.can_miss_a_point())
    })
}

/// Looks at outputs, the clock of the run and its interruption between macro-steps.
struct Looking<'a> {
    timeline: &'a Timeline,
    /// Macro-steps in the row.
    most: u64,
    /// Time of the last communication point, s.
    until: f64,
    interrupt: Option<&'a AtomicBool>,
    tracker: Option<&'a mut Tracker>,
    observers: &'a mut [Observing],
    /// The first error of an observer.
    seen: Result<(), ObserverError>,
}

impl Between for Looking<'_> {
    #[inline(always)]
    fn next(&mut self, made: usize) -> Option<Step> {
        let step = self.timeline.step_after(made as u64);
        if made == 0 {
            return Some(step);
        }
        if made as u64 == self.most
            || step.time >= self.until
            || !are_outputs_enough(self.observers)
        {
            return None;
        }
        if let Some(tracker) = &mut self.tracker {
            tracker(step.time, step.index);
        }
        (!is_interrupted(self.interrupt)).then_some(step)
    }

    #[inline(always)]
    fn show(&mut self, step: &Step, outputs: &[f64]) -> bool {
        if self.observers.is_empty() {
            return true;
        }
        let point = OutputPoint {
            time: step.time,
            steps: step.index,
            reals: outputs,
        };
        for Observing { observer, .. } in self.observers.iter_mut() {
            if observer.sees_outputs_alone() {
                let seen = observer.outputs(&point);
                self.seen = std::mem::replace(&mut self.seen, Ok(())).and(seen);
            }
        }
        self.seen.is_ok()
    }
}

/// How many macro-steps may be made in a row now.
#[inline(always)]
fn most_steps(run: &Run) -> u64 {
    let looks_between = !are_outputs_enough(&run.observers)
        || run.acts.is_some()
        || run.checkpoint.is_some()
        || run.audit.is_needed()
        || run.state.graph.has_energy_limits
        || !run.state.units.held.is_empty()
        || !run.state.scenario.channels.is_empty();
    if looks_between || !run.timeline.is_regular() || !run.plan.is_checked_lane() {
        return 0;
    }
    // The ledger looks at inputs and outputs, and at nothing that only a unit has.
    if !run.state.units.straight || !run.state.exchange.passes.is_empty() {
        return 0;
    }
    let dispatch = run.state.units.dispatch.as_ref();
    let on_one_thread = dispatch.map_or(u64::MAX, Dispatch::usual_steps);
    let whole = run.timeline.whole_steps().saturating_sub(STEPS_AT_END);
    let whole = whole.min(on_one_thread);
    // The levels of the alarms fade after a macro-step that is the last one in a row.
    let whole = whole.min(run.alarms.points_until_fading() + 1);
    whole.min(run.defects.steps_until_look(run.timeline.steps()))
}

/// Does to energies, defects and alarms as if each row of the lane had been observed by itself. If the outputs of the macro-step after
/// them were read, its values are those of inputs and outputs in the end.
fn account_rows(run: &mut Run, was_read: bool) {
    let Together::Lane(_, rows) = &run.state.units.together else {
        return;
    };
    let (steps, size) = (rows.steps(), run.timeline.next_step().size);
    let shows_last = run.ledger.adds_constant_inputs(&run.state) && steps > 0;
    if shows_last {
        lane::show(&mut run.state, steps, size);
    }
    let Together::Lane(_, rows) = &run.state.units.together else {
        return;
    };
    let (timeline, clock) = (&run.timeline, &run.state.graph.clock);
    let step_of = |row: usize| timeline.step_after(row as u64);
    let end_of = |row: usize| step_of(row).end(clock);
    let alarms = &mut run.alarms;
    let mut look = |bond: usize, powers: Powers<'_>, greatest: [f64; 2]| {
        let time_of = |row: usize| {
            let step = step_of(row);
            step.time + step.size
        };
        alarms.observe_rows_of_bond(bond, powers, greatest, &time_of);
    };
    run.ledger
        .observe_rows(&run.state, rows, size, &end_of, &mut look);
    alarms.pass(steps as u64);
    let courses = &run.state.courses;
    match run.state.units.uniform {
        true => run.defects.observe_rows(rows, &courses.sources, size),
        false => run.defects.observe_used(&courses.in_a_row, steps, size),
    }
    if shows_last && was_read {
        lane::show(&mut run.state, steps + 1, size);
    }
    run.written = false;
    run.timeline.advance_by(steps as u64);
    if let Some(dispatch) = &mut run.state.units.dispatch {
        dispatch.pass(steps as u64);
    }
}

/// As [`account_rows`] where the ledger looks at one macro-step after the other. If the outputs of the
/// macro-step after them were read, its values are those of inputs and outputs in the end.
fn account_one_by_one(run: &mut Run, was_read: bool) {
    let Together::Lane(_, rows) = &run.state.units.together else {
        return;
    };
    let (steps, size) = (rows.steps(), run.timeline.next_step().size);
    for row in 1..=steps {
        let step = run.timeline.step_after(0);
        lane::show(&mut run.state, row, step.size);
        account(run, &step, true);
        run.timeline.advance(&step);
    }
    if was_read {
        lane::show(&mut run.state, steps + 1, size);
    }
    if let Some(dispatch) = &mut run.state.units.dispatch {
        dispatch.pass(steps as u64);
    }
}
