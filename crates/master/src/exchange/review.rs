//! Looks whether the D of a compensated pass predicts what the next steps show. No call is made for that.
//!
//! Inputs change an output by D·Δũ over a step, and states change it by the rest. Third differences leave out states that move smoothly.
//!
//! D moves, as that of friction that starts to slide. A unit that does not give D at each point, and can go back, then shows the outputs
//! under the new inputs, in steps of next to no length that are taken back. The right D is worse than none in a stiff coupling: the force
//! under the new inputs relaxes within the step, and passed on it makes the coupling ring. While D does not predict an output, that is
//! passed on stale. If D predicts it roughly, its correction is limited to the change that the output has shown over a step. Both only if
//! `auto` has chosen the mode: a file that names `compensated` gets what the papers publish.
//!
//! [`estimate`](super::trial::estimate) calls it; it publishes nothing.

use super::loop_units::trial_length;
use super::probe::SMOOTH;
use super::trial::outputs_after;
use crate::counters::Counters;
use crate::exchange_mode::Exchange;
use crate::extremes::{fading, greater};
use crate::fault::{Cause, UnitFault};
use crate::state::{Doubt, Pass, PassRecord, RowRecord, SystemState};
use crate::step::Step;
use crate::unit::{Unit, UnitResult};

/// Rough motion below this part of the greatest magnitude of its output is none. A choice.
const LEAST: f64 = 1e-3;
/// D may have moved if so large a part of what it says is not seen, or more is. A choice.
const UNSEEN: f64 = 0.5;
/// It has if the error of the prediction is so many times the usual one: as jumps at events.
const JUMP: f64 = 5.0;
/// Share of the sums, and of the usual error, that is left one point later. A choice.
const FADE: f64 = 0.9;
/// Points from which the usual error is found.
const WARM_UP: u64 = 8;
/// Points until a D that has stood the test may be measured again, at most: each time twice as many.
const MEASURED: u64 = 1 << 12;
/// Inputs move roughly from this ratio of the squares of third and first differences on. Measured on 180 random systems: smooth motion
/// of units in unison has less, and hides what inputs do; with 1, some stiff couplings are found late.
const ROUGH: f64 = 0.3;
/// A correction so many times the greatest magnitude of its output so far is left out: the next step shows what there is of it.
/// Measured on 1446 random systems: with 16, one with sharp friction becomes unbounded; 2 keeps one more from harm, and would take the
/// start of a motion for it.
const BEYOND: f64 = 10.0;
/// If the predictions miss more than this part of the squares of what is seen, a correction is at most as great as the greatest change of
/// its output over a step, fading. Measured on 2146 random systems, with [`KEEP`]: 13 are worse than without corrections by more than
/// 5 %, and 19 without the limit (docs/dev/coupling.md).
const MISSED: f64 = 0.03;
/// Misses below this part of the greatest magnitude of their output are none. With 1e-4, three more systems are worse.
const LEAST_MISSED: f64 = 1e-5;
/// Share of the greatest change that is left one point later. With .99, two more systems are worse by more than a half.
const KEEP: f64 = 0.97;
/// Points for which an output that D does not predict is stale at least, at first and at most: each time twice as many.
const STALE: [u64; 2] = [8, 1 << 12];
/// A change below so many parts of an output is rounding, as in [`probe`](super::probe).
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// A note on a unit.
const FORGETS: &str = "it cannot go back to a saved state as it claims, so its direct feed-through is not measured again";

/// Takes the outputs that a step has left and the inputs at its end, and compares them with the D of its start.
pub(super) fn observe(pass: &mut Pass, values: &[f64], reals: &[f64]) {
    let PassRecord {
        points,
        inputs,
        rows,
        doubt,
        ..
    } = &mut pass.record;
    for (last, input) in inputs.iter_mut().zip(&pass.inputs) {
        push(last, values[*input]);
    }
    *points += 1;
    *doubt = Doubt::None;
    let order = (*points - 1).min(3);
    for (place, (row, output)) in rows.iter_mut().zip(&pass.outputs).enumerate() {
        push(&mut row.values, reals[*output]);
        row.magnitude = greater(reals[*output].abs(), row.magnitude);
        let [mut said, mut change] = [0.0; 2];
        for (gain, input) in pass.gains[place * inputs.len()..].iter().zip(&*inputs) {
            said += gain * difference(*input, order);
            change += gain * difference(*input, order.min(1));
        }
        let seen = difference(row.values, order);
        let step = difference(row.values, order.min(1));
        row.change = fading(greater(step.abs(), KEEP * row.change));
        *doubt = (*doubt).max(judge(row, (said, seen), *points));
        let sums = [
            (&mut row.seen, seen),
            (&mut row.said, said),
            (&mut row.missed, seen - said),
            (&mut row.changes, change),
        ];
        for (sum, term) in sums {
            *sum = fading(FADE * *sum + term * term);
        }
    }
}

/// Measures D again if it may have moved, and decides which outputs are stale at the point that a step has reached.
///
/// # Errors
/// A unit that refuses to go back to a state that it has saved.
pub(super) fn review(
    state: &mut SystemState,
    index: usize,
    step: &Step,
) -> Result<(), Box<UnitFault>> {
    let is_measured = measure_if_due(state, index, step)?;
    let time = step.end(&state.graph.clock);
    let component = state.exchange.passes[index].component;
    let is_chosen = state.graph.components[component].exchange == Exchange::AUTO;
    let Pass {
        record,
        gains,
        changes,
        outputs,
        ..
    } = &mut state.exchange.passes[index];
    for (place, (row, output)) in record.rows.iter_mut().zip(outputs).enumerate() {
        let terms = gains[place * changes.len()..].iter().zip(&*changes);
        let correction: f64 = terms.map(|(gain, change)| gain * change).sum();
        trust(row);
        row.left_out = match is_chosen {
            true if row.is_distrusted || is_beyond(row, correction) => 1.0,
            true if !is_measured => excess(row, correction),
            _ => 0.0,
        };
        match row.left_out {
            0.0 => {}
            1.0 => row.stale.add(time),
            _ => row.limited.add(time),
        }
        let error = if row.left_out > 0.0 { f64::NAN } else { 0.0 };
        state.signals.stale_errors[*output] = error;
        state.signals.start_changes[*output] = error;
    }
    Ok(())
}

/// Nothing is beyond an output that has been 0 so far.
fn is_beyond(row: &RowRecord, correction: f64) -> bool {
    row.magnitude > 0.0 && correction.abs() > BEYOND * row.magnitude
}

/// The part of a correction above the limit: 0 while D predicts the output well, or the output has been 0.
fn excess(row: &RowRecord, correction: f64) -> f64 {
    let least = LEAST_MISSED * row.magnitude;
    let is_missed = row.missed > MISSED * row.seen && row.missed > least * least;
    match row.magnitude > 0.0 && is_missed && correction.abs() > row.change {
        true => 1.0 - row.change / correction.abs(),
        false => 0.0,
    }
}

/// Whether D predicts the output, after one more point.
fn trust(row: &mut RowRecord) {
    let least = LEAST * row.magnitude;
    let is_rough = row.said > ROUGH * row.changes && row.said > least * least;
    let is_missed = row.missed > row.seen;
    row.wait = row.wait.saturating_sub(1);
    if !row.is_distrusted && is_rough && is_missed {
        row.patience = (2 * row.patience).clamp(STALE[0], STALE[1]);
        row.wait = row.patience;
        row.is_distrusted = true;
    } else if row.is_distrusted && row.wait == 0 && !is_missed {
        row.is_distrusted = false;
    }
}

/// What a point says of the D of an output.
fn judge(row: &mut RowRecord, (said, seen): (f64, f64), points: u64) -> Doubt {
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

/// Takes a new value to the last ones, newest first.
fn push(last: &mut [f64; 4], value: f64) {
    *last = [value, last[0], last[1], last[2]];
}

/// The difference of an order; 0 before the first change.
fn difference([newest, second, third, fourth]: [f64; 4], order: u64) -> f64 {
    match order {
        0 => 0.0,
        1 => newest - second,
        2 => newest - 2.0 * second + third,
        _ => newest - 3.0 * (second - third) - fourth,
    }
}

/// Returns whether D was measured under all new inputs, so that it is right at this point.
fn measure_if_due(
    state: &mut SystemState,
    index: usize,
    step: &Step,
) -> Result<bool, Box<UnitFault>> {
    let pass = &mut state.exchange.passes[index];
    let record = &mut pass.record;
    record.wait = record.wait.saturating_sub(1);
    let is_due =
        record.doubt == Doubt::Sudden || record.doubt == Doubt::Possible && record.wait == 0;
    if pass.by_unit || pass.trial.is_none() || !(is_due || record.is_moving) {
        return Ok(false);
    }
    let time = step.end(&state.graph.clock);
    let member = &mut state.units.members[pass.component];
    let at = (time, trial_length(step.size * member.every as f64, time));
    let (values, counters) = (&state.courses.values, &mut state.counters);
    let measured = measure(pass, values, member.slot.unit(), at, counters)?;
    let has_moved = measured.has_moved;
    if pass.trial.is_none() {
        member.denied.notes.push(FORGETS.to_owned());
    }
    let record = &mut pass.record;
    record.is_moving = has_moved;
    record.patience = match has_moved {
        true => 1,
        false => (2 * record.patience).clamp(1, MEASURED),
    };
    record.wait = record.patience;
    Ok(measured.is_whole)
}

/// What trial steps have shown of D.
#[derive(Default)]
struct Measured {
    has_moved: bool,
    /// All new inputs were tried.
    is_whole: bool,
}

/// Measures D from the outputs under each new input.
fn measure(
    pass: &mut Pass,
    values: &[f64],
    unit: &mut dyn Unit,
    (time, length): (f64, f64),
    counters: &mut Counters,
) -> UnitResult<Measured> {
    let columns = pass.inputs.len();
    let Some(trial) = pass.trial.as_mut() else {
        return Ok(Measured::default());
    };
    if time + length > trial.until || !pass.new_inputs.iter().all(|value| value.is_finite()) {
        return Ok(Measured::default());
    }
    for (tried, input) in trial.inputs.iter_mut().zip(&pass.inputs) {
        *tried = values[*input];
    }
    let saved = match unit.save(trial.saved.take()) {
        Ok(saved) => saved,
        // The run does not need it: a unit that does not save after all is not asked again.
        Err(fault) if matches!(fault.cause, Cause::Unsupported | Cause::Discard) => {
            pass.trial = None;
            return Ok(Measured::default());
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
            row.measured.add(time);
        }
    }
    Ok(Measured {
        has_moved,
        is_whole: is_done && goes_back,
    })
}
