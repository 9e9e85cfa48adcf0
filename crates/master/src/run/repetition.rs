//! A step whose size a step control chooses: made once, again with another size, or again in equal parts, until it stands.
//! The run calls it if steps have no fixed size; it makes each step as any other is made.
//!
//! Whether a step stands is known from ledger, defects and outputs when it is over, and the size of the next attempt
//! from them; a plan is the same for all steps. So the plan is executed as it is, and the run around it saves once,
//! restores, and advances its timeline by what stands. Parts of one point are even in ticks, so that halves end when
//! whole steps do.

use super::ending::fail;
use super::{Run, make_once};
use crate::engine;
use crate::fault::{Cause, Fault, RunError};
use crate::profile::Probe;
use crate::step::{Step, StepParts};
use crate::step_control::{StepAudit, StepDecision};

/// Makes a step until the step control lets it stand. Returns as much of it as was made: less than all if a unit has
/// ended the simulation in one of its parts.
///
/// # Errors
/// A fault that cannot be undone, within; a state that cannot be restored, which has ended the run.
#[inline(never)]
pub(super) fn make(
    run: &mut Run,
    first: Step,
    probe: &mut impl Probe,
) -> Result<Result<Step, Fault>, RunError> {
    let (mut step, mut parts) = (first, 1);
    loop {
        let again = match make_in_parts(run, &step, parts, probe) {
            Ok(made) => match size_next_step(run, &step, &made, parts) {
                None => return Ok(Ok(made)),
                Some(again) => again,
            },
            Err(fault) => match shorter_after(run, &step, &fault) {
                None => return Ok(Err(fault)),
                Some(shorter) => (shorter, 1),
            },
        };
        go_back(run, &step)?;
        (step, parts) = again;
    }
}

/// Makes a step in equal parts, one after the other. Returns as much of it as was made.
fn make_in_parts(
    run: &mut Run,
    step: &Step,
    parts: u32,
    probe: &mut impl Probe,
) -> Result<Step, Fault> {
    if parts <= 1 {
        return make_once(run, step, true, probe).map(|()| *step);
    }
    let clock = run.state.graph.clock;
    let all = StepParts::of(step, parts, &clock);
    let mut had_event = false;
    for index in 0..parts {
        let part = all.part(index);
        make_once(run, &part, index == 0, probe)?;
        had_event |= run.state.signals.had_event;
        if run.state.units.terminated.is_some() && index + 1 < parts {
            run.state.signals.had_event = had_event;
            return Ok(Step {
                length: part.from + part.length - step.from,
                size: part.time + part.size - step.time,
                ..*step
            });
        }
    }
    run.state.signals.had_event = had_event;
    Ok(*step)
}

/// Asks the step control for the size of the next step. Returns the step that is to be made instead of `step`, and its
/// parts; `None` if `step` stands.
fn size_next_step(run: &mut Run, step: &Step, made: &Step, parts: u32) -> Option<(Step, u32)> {
    let can_redo = run.checkpoint.is_some();
    let decision = run.control.1.next(&StepAudit {
        step: made,
        parts,
        outputs: &run.state.signals.reals,
        ledger: &run.ledger,
        defects: &run.defects,
        order: engine::order_in_use(&run.state),
        had_event: run.state.signals.had_event,
        may_change: run.timeline.may_change(step.index + 1),
        has_ended: run.state.units.terminated.is_some(),
        can_redo,
        resolution: run.timeline.resolution(),
    });
    match decision {
        StepDecision::Continue(size) => {
            run.timeline.set_size(size, step);
            None
        }
        StepDecision::Redo { size, parts: count } => {
            let count = count.min(run.most_parts).max(1);
            if can_redo && size == step.size && count > parts {
                return Some((*step, count));
            }
            run.timeline.set_size(size, step);
            let next = run.timeline.next_step();
            // A step that cannot be made shorter, because lengths are whole ticks, stands.
            (can_redo && next.length < step.length).then_some((next, count))
        }
    }
}

/// The shorter step that is made instead of one that a unit discards, or after which a value is NaN or infinite; `None`
/// if the fault stands.
#[cold]
fn shorter_after(run: &mut Run, step: &Step, fault: &Fault) -> Option<Step> {
    let may_help = matches!(fault.unit.cause, Cause::Discard | Cause::NotFinite);
    if !may_help || run.checkpoint.is_none() {
        return None;
    }
    let size = run.control.1.refused(step.size)?;
    run.timeline.set_size(size, step);
    let next = run.timeline.next_step();
    (next.length < step.length).then_some(next)
}

/// Brings everything to its state before the step.
fn go_back(run: &mut Run, step: &Step) -> Result<(), RunError> {
    let Some(checkpoint) = &run.checkpoint else {
        return Ok(());
    };
    if let Err(fault) = checkpoint.restore(&mut run.state, step) {
        return Err(fail(run, RunError::Fault(fault)));
    }
    checkpoint.restore_stages(&mut run.plan);
    (run.ledger, run.audit, run.defects, run.alarms) = checkpoint.energies();
    run.state.counters.repeated_steps += 1;
    Ok(())
}
