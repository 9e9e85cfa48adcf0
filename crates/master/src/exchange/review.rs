//! Looks whether the D of a compensated pass has moved, if the unit does not give D at each point.
//!
//! Inputs change an output by D·Δũ over a step, and states change it by the rest. If states move smoothly, second differences of
//! these changes show the inputs alone. D is in doubt if the output's differ from what D says. No call is made
//! for that. A unit that can go back then shows the outputs under the new inputs, in steps of next to no length that are taken back.
//!
//! An output stays stale from the point on at which its correction D·(u − ũ) rings: a D that is too large makes the coupling
//! unstable. So does the right one in a stiff coupling: the force that the step left has relaxed within it, and the one under the
//! new inputs has not.
//!
//! [`estimate`](super::trial::estimate) calls it; it publishes nothing.

use super::loop_units::trial_length;
use super::probe::SMOOTH;
use super::trial::outputs_after;
use crate::counters::Counters;
use crate::extremes::{fading, greater};
use crate::fault::{Cause, UnitFault};
use crate::state::{Pass, PassRecord, RowRecord, SystemState};
use crate::step::Step;
use crate::unit::{Unit, UnitResult};

/// A second difference below this part of the greatest magnitude of its output is none. A choice.
const LEAST: f64 = 1e-3;
/// D is in doubt if so large a part of what it says is not seen, or more is. A choice.
const UNSEEN: f64 = 0.5;
/// An error of the prediction that is so many times the usual one is a doubt, however often D has stood the test: as jumps at events.
const JUMP: f64 = 5.0;
/// Share of the usual error that is left one point later.
const FADE: f64 = 0.9;
/// Points from which the usual error is found.
const WARM_UP: u64 = 8;
/// A correction that changes its sign with every point is a ringing above this part of the greatest magnitude of its output. A choice.
const RINGING: f64 = 1e-2;
/// Turns, one after the other, from which it is one. A choice: a motion that the macro-steps resolve has none, noise now and then a few.
const TURNS: u32 = 6;
/// Points until a D that has stood the test may be measured again, at most: each time twice as many.
const PATIENCE: u64 = 1 << 12;
/// A change below so many parts of an output is rounding, as in [`probe`](super::probe).
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// A note on a unit.
const FORGETS: &str = "it cannot go back to a saved state as it claims, so its direct feed-through is not measured again";

/// What a point says of D.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    None,
    /// It may be another one.
    Possible,
    /// It has changed.
    Sudden,
}

/// Looks at the outputs that the step that has ended left, and finds another D if the one of before does not predict them.
///
/// # Errors
/// A unit that refuses to go back to a state that it has saved.
pub(super) fn review(
    state: &mut SystemState,
    index: usize,
    step: &Step,
) -> Result<(), Box<UnitFault>> {
    let SystemState {
        graph,
        exchange,
        signals,
        courses,
        units,
        counters,
        ..
    } = state;
    let pass = &mut exchange.passes[index];
    let time = step.end(&graph.clock);
    let member = &mut units.members[pass.component];
    let doubt = observe(pass, &courses.values, &signals.reals);
    let record = &mut pass.record;
    record.wait = record.wait.saturating_sub(1);
    let is_due = doubt == Doubt::Sudden || doubt == Doubt::Possible && record.wait == 0;
    let is_wanted = record.rows.iter().any(|row| row.stale_from.is_none());
    if pass.trial.is_some() && is_wanted && (is_due || record.is_moving) {
        let at = (time, trial_length(step.size * member.every as f64, time));
        let has_moved = measure(pass, &courses.values, member.slot.unit(), at, counters)?;
        if pass.trial.is_none() {
            member.denied.notes.push(FORGETS.to_owned());
        }
        let record = &mut pass.record;
        record.is_moving = has_moved;
        record.patience = match has_moved {
            true => 1,
            false => (2 * record.patience).clamp(1, PATIENCE),
        };
        record.wait = record.patience;
    }
    for place in 0..pass.outputs.len() {
        if rings(pass, place) {
            pass.record.rows[place].stale_from = Some(time);
            signals.stale_errors[pass.outputs[place]] = f64::NAN;
            signals.start_changes[pass.outputs[place]] = f64::NAN;
        }
        if pass.record.rows[place].stale_from.is_some() {
            let columns = pass.inputs.len();
            pass.gains[place * columns..][..columns].fill(0.0);
        }
    }
    Ok(())
}

/// Whether the correction of an output has begun to ring.
fn rings(pass: &mut Pass, place: usize) -> bool {
    let columns = pass.inputs.len();
    let terms = pass.gains[place * columns..].iter().zip(&pass.changes);
    let correction: f64 = terms.map(|(gain, change)| gain * change).sum();
    let row = &mut pass.record.rows[place];
    let last = std::mem::replace(&mut row.correction, correction);
    let has_turned = correction * last < 0.0 && correction.abs() > RINGING * row.magnitude;
    row.turns = if has_turned { row.turns + 1 } else { 0 };
    row.turns >= TURNS && row.stale_from.is_none()
}

/// Takes the outputs that a step has left, and the inputs at its end.
fn observe(pass: &mut Pass, values: &[f64], reals: &[f64]) -> Doubt {
    let PassRecord {
        points,
        inputs,
        rows,
        ..
    } = &mut pass.record;
    for (last, input) in inputs.iter_mut().zip(&pass.inputs) {
        push(last, values[*input]);
    }
    *points += 1;
    let columns = pass.inputs.len();
    let mut doubt = Doubt::None;
    for (place, (row, output)) in rows.iter_mut().zip(&pass.outputs).enumerate() {
        let gains = &pass.gains[place * columns..][..columns];
        push(&mut row.values, reals[*output]);
        doubt = doubt.max(judge(row, gains, inputs, *points));
    }
    doubt
}

/// Takes a new value to the last ones, newest first.
fn push(last: &mut [f64; 4], value: f64) {
    *last = [value, last[0], last[1], last[2]];
}

/// The second difference of the changes between values, or what there is of it after so few points.
fn difference([newest, second, third, fourth]: [f64; 4], points: u64) -> f64 {
    match points {
        0..=1 => 0.0,
        2 => newest - second,
        3 => newest - 2.0 * second + third,
        _ => newest - 3.0 * (second - third) - fourth,
    }
}

/// What the last values say of the D of an output.
fn judge(row: &mut RowRecord, gains: &[f64], inputs: &[[f64; 4]], points: u64) -> Doubt {
    row.magnitude = greater(row.values[0].abs(), row.magnitude);
    let terms = gains.iter().zip(inputs);
    let said: f64 = terms
        .map(|(gain, input)| gain * difference(*input, points))
        .sum();
    let seen = difference(row.values, points);
    let error = (seen - said).abs();
    let least = LEAST * row.magnitude;
    let is_sudden = points > WARM_UP && error > JUMP * row.usual && error > least;
    row.usual = fading(greater(error, FADE * row.usual));
    match greater(error, said.abs()) > least {
        true if is_sudden => Doubt::Sudden,
        true if error > UNSEEN * said.abs() => Doubt::Possible,
        _ => Doubt::None,
    }
}

/// Measures D from the outputs under each new input; returns whether it has moved.
fn measure(
    pass: &mut Pass,
    values: &[f64],
    unit: &mut dyn Unit,
    (time, length): (f64, f64),
    counters: &mut Counters,
) -> UnitResult<bool> {
    let columns = pass.inputs.len();
    let Some(trial) = pass.trial.as_mut() else {
        return Ok(false);
    };
    if time + length > trial.until || !pass.new_inputs.iter().all(|value| value.is_finite()) {
        return Ok(false);
    }
    for (tried, input) in trial.inputs.iter_mut().zip(&pass.inputs) {
        *tried = values[*input];
    }
    let saved = match unit.save(trial.saved.take()) {
        Ok(saved) => saved,
        // The run does not need it: a unit that does not save after all is not asked again.
        Err(fault) if matches!(fault.cause, Cause::Unsupported | Cause::Discard) => {
            pass.trial = None;
            return Ok(false);
        }
        Err(fault) => return Err(fault),
    };
    let (handles, outputs) = (&pass.input_handles, &pass.output_handles);
    let mut try_inputs = |inputs: &[f64], found: &mut [f64]| {
        counters.set_calls += 1;
        counters.unit_steps += 1;
        counters.get_calls += 1;
        let (inputs, outputs) = ((&**handles, inputs), (&**outputs, found));
        outputs_after(unit, &saved, (time, length), inputs, outputs)
    };
    let mut is_done = try_inputs(&trial.inputs, &mut trial.usual)?;
    let mut goes_back = true;
    if is_done && !trial.is_checked {
        is_done = try_inputs(&trial.inputs, &mut trial.tried)?;
        let mut pairs = trial.usual.iter().zip(&trial.tried);
        goes_back = pairs.all(|(one, other)| one.to_bits() == other.to_bits());
        trial.is_checked = true;
    }
    let mut has_moved = false;
    for column in 0..columns {
        let before = trial.inputs[column];
        let change = pass.new_inputs[column] - before;
        if change == 0.0 || !is_done || !goes_back {
            continue;
        }
        trial.inputs[column] = pass.new_inputs[column];
        is_done = try_inputs(&trial.inputs, &mut trial.tried)?;
        trial.inputs[column] = before;
        if !is_done {
            break;
        }
        for (row, of_row) in pass.record.rows.iter_mut().enumerate() {
            let (usual, tried) = (trial.usual[row], trial.tried[row]);
            let known = &mut pass.gains[row * columns + column];
            let rounding = ROUNDING * greater(usual.abs(), tried.abs());
            let (said, seen) = (*known * change, tried - usual);
            let is_other = (seen - said).abs() > SMOOTH * greater(seen.abs(), said.abs());
            if is_other && (seen - said).abs() > rounding {
                *known = seen / change;
                has_moved = true;
                of_row.is_other = true;
            }
        }
    }
    unit.restore(&saved)?;
    trial.saved = Some(saved);
    if !goes_back {
        pass.trial = None;
    }
    for row in &mut pass.record.rows {
        if std::mem::take(&mut row.is_other) {
            row.measured += 1;
            row.last = time;
            row.first.get_or_insert(time);
        }
    }
    Ok(has_moved)
}
