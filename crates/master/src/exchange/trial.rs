//! The work that exchange modes share: D·(u − ũ), and outputs read under the new inputs.

use super::review::{observe, review};
use crate::counters::Counters;
use crate::exchange_mode::Exchange;
use crate::fault::{Cause, UnitFault};
use crate::state::{Pass, Signals, SystemState};
use crate::step::Step;
use crate::unit::{Handle, SavedState, StepOutcome, Unit, UnitResult};

/// Computes D·(u − ũ) at the end of a macro-step, and gives `add` each output with its share.
pub(super) fn estimate(
    state: &mut SystemState,
    index: usize,
    step: &Step,
    add: fn(&mut Signals, usize, f64),
) -> Result<(), Box<UnitFault>> {
    let pass = &mut state.exchange.passes[index];
    let is_reviewed = pass.mode == Exchange::COMPENSATED;
    if is_reviewed {
        observe(pass, &state.courses.values, &state.signals.reals);
    }
    let pairs = pass.inputs.iter().zip(&pass.new_inputs);
    for (change, (&input, new)) in pass.changes.iter_mut().zip(pairs) {
        *change = new - state.courses.values[input];
    }
    if pass.by_unit && read_by_unit(state, index)? {
        let pass = &state.exchange.passes[index];
        let responses = pass.outputs.iter().zip(&pass.new_outputs);
        responses.for_each(|(&output, &response)| add(&mut state.signals, output, response));
        return Ok(());
    }
    if is_reviewed {
        review(state, index, step)?;
    }
    let pass = &state.exchange.passes[index];
    let columns = pass.inputs.len();
    for (column, change) in pass.changes.iter().enumerate() {
        for (row, &output) in pass.outputs.iter().enumerate() {
            let passed_on = 1.0 - pass.record.rows[row].left_out;
            let gain = pass.gains[row * columns + column];
            if passed_on > 0.0 {
                add(&mut state.signals, output, gain * change * passed_on);
            }
        }
    }
    Ok(())
}

/// Asks the unit for D, or for D·(u − ũ) if nothing else is wanted: returns whether it was. D stays if it denies both.
fn read_by_unit(state: &mut SystemState, index: usize) -> Result<bool, Box<UnitFault>> {
    let SystemState {
        exchange,
        courses,
        units,
        counters,
        ..
    } = state;
    let pass = &mut exchange.passes[index];
    let member = &mut units.members[pass.component];
    let unit = member.slot.unit();
    // Compensation keeps its own D, and the ledger needs it where inputs move within steps, or begin them with other
    // values than the new ones.
    let are_held = || {
        let mut inputs = pass.inputs.iter();
        inputs.all(|input| courses.inputs[*input].is_held())
    };
    let is_one_call = pass.mode == Exchange::STALE && pass.inputs.len() > 1 && are_held();
    let read = match is_one_call {
        true => read_response(unit, pass, counters),
        false => read_columns(unit, pass, counters),
    };
    match read {
        Ok(()) if is_one_call => follow_response(pass),
        Ok(()) => {}
        // The last ones that are known stay.
        Err(fault)
            if member
                .denied
                .takes(|denied| &mut denied.directional, &fault) =>
        {
            pass.by_unit = false;
        }
        Err(fault) => return Err(fault),
    }
    Ok(is_one_call && pass.by_unit)
}

/// Reads D·(u − ũ) in one call.
fn read_response(unit: &mut dyn Unit, pass: &mut Pass, counters: &mut Counters) -> UnitResult {
    counters.derivative_calls += 1;
    unit.directional_derivative(
        &pass.output_handles,
        &pass.input_handles,
        &pass.changes,
        &mut pass.new_outputs,
    )
}

/// Corrects D by as little as makes it say what the unit has said of the last changes (Broyden 1965): the ledger goes on with it where
/// an action begins on an input, and the errors of stale outputs where the unit denies its derivatives.
fn follow_response(pass: &mut Pass) {
    /// Below this part of the response, a difference is rounding. A choice.
    const ROUNDING: f64 = 1e-9;
    let size: f64 = pass.changes.iter().map(|change| change * change).sum();
    let rows = pass.gains.chunks_exact_mut(pass.changes.len());
    for (gains, response) in rows.zip(&pass.new_outputs) {
        let terms = gains.iter().zip(&pass.changes);
        let error = response - terms.map(|(gain, change)| gain * change).sum::<f64>();
        if error.abs() > ROUNDING * response.abs() && size > 0.0 {
            let pairs = gains.iter_mut().zip(&pass.changes);
            pairs.for_each(|(gain, change)| *gain += error * change / size);
        }
    }
}

/// Reads D, a call for each input.
fn read_columns(unit: &mut dyn Unit, pass: &mut Pass, counters: &mut Counters) -> UnitResult {
    let columns = pass.inputs.len();
    for column in 0..columns {
        counters.derivative_calls += 1;
        unit.directional_derivative(
            &pass.output_handles,
            &pass.input_handles[column..=column],
            &[1.0],
            &mut pass.new_outputs,
        )?;
        for (row, &gain) in pass.new_outputs.iter().enumerate() {
            pass.gains[row * columns + column] = gain;
        }
    }
    Ok(())
}

/// Reads the outputs under the new inputs, and puts the inputs back.
pub(super) fn try_inputs(state: &mut SystemState, index: usize) -> Result<(), Box<UnitFault>> {
    state.counters.set_calls += 2;
    state.counters.get_calls += 1;
    let pass = &mut state.exchange.passes[index];
    let slot = &mut state.units.members[pass.component].slot;
    slot.set_reals(&pass.input_handles, &pass.new_inputs)?;
    slot.get_reals(&pass.output_handles, &mut pass.new_outputs)?;
    let values = &state.courses.values;
    for (&input, handle) in pass.inputs.iter().zip(&pass.input_handles) {
        slot.set_reals(std::slice::from_ref(handle), &values[input..=input])?;
    }
    // Compensation keeps its own D.
    let step = only_change(pass, values).filter(|_| pass.mode == Exchange::STALE);
    let outputs = pass.outputs.iter().zip(&pass.new_outputs);
    for (row, (&output, &value)) in outputs.enumerate() {
        let change = value - state.signals.reals[output];
        state.signals.start_changes[output] = change;
        if let Some(step) = step {
            pass.gains[row] = change / step;
        }
    }
    Ok(())
}

/// Makes a step of a length from a time, s, from a saved state with other inputs, and reads the outputs after it. Returns whether the
/// unit has finished it; if not, it is back at the state.
pub(super) fn outputs_after(
    unit: &mut dyn Unit,
    saved: &SavedState,
    (time, length): (f64, f64),
    (inputs, values): (&[Handle], &[f64]),
    (outputs, found): (&[Handle], &mut [f64]),
) -> UnitResult<bool> {
    let mut attempt = || -> UnitResult<bool> {
        unit.restore(saved)?;
        unit.set_reals(inputs, values)?;
        let is_done = unit.step(time, length)? == StepOutcome::Done;
        if is_done {
            unit.get_reals(outputs, found)?;
        }
        Ok(is_done)
    };
    match attempt() {
        Err(fault) if !matches!(fault.cause, Cause::Error | Cause::Discard) => Err(fault),
        Ok(true) => Ok(true),
        Ok(false) | Err(_) => unit.restore(saved).map(|()| false),
    }
}

/// The change of the input of a pass that has one, unless it is 0.
pub(super) fn only_change(pass: &Pass, values: &[f64]) -> Option<f64> {
    match (&*pass.inputs, &*pass.new_inputs) {
        (&[input], &[new]) => Some(new - values[input]).filter(|change| *change != 0.0),
        _ => None,
    }
}
