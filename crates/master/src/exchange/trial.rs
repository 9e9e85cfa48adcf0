//! The work that exchange modes share: D·(u − ũ), and outputs read under the new inputs.

use crate::counters::Counters;
use crate::exchange_mode::Exchange;
use crate::fault::UnitFault;
use crate::state::{Pass, Signals, SystemState};
use crate::unit::{Unit, UnitResult};

/// Computes D·(u − ũ), and gives `add` each output with its share.
pub(super) fn estimate(
    state: &mut SystemState,
    index: usize,
    add: fn(&mut Signals, usize, f64),
) -> Result<(), Box<UnitFault>> {
    let SystemState {
        exchange,
        signals,
        courses,
        units,
        counters,
        ..
    } = state;
    let pass = &mut exchange.passes[index];
    let pairs = pass.inputs.iter().zip(&pass.new_inputs);
    for (change, (&input, new)) in pass.changes.iter_mut().zip(pairs) {
        *change = new - courses.values[input];
    }
    if pass.by_unit {
        let member = &mut units.members[pass.component];
        let unit = member.slot.unit();
        // Compensation keeps its own D, and the ledger needs it where inputs move within steps, or begin them with other
        // values than the new ones.
        let are_held = || {
            pass.inputs
                .iter()
                .all(|input| courses.inputs[*input].is_held())
        };
        let is_one_call = pass.mode == Exchange::STALE && pass.inputs.len() > 1 && are_held();
        let read = match is_one_call {
            true => read_response(unit, pass, counters).map(|()| true),
            false => read_columns(unit, pass, counters).map(|()| false),
        };
        match read {
            Ok(true) => {
                let responses = pass.outputs.iter().zip(&pass.new_outputs);
                responses.for_each(|(&output, &response)| add(signals, output, response));
                return Ok(());
            }
            Ok(false) => {}
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
    }
    let columns = pass.inputs.len();
    for (column, change) in pass.changes.iter().enumerate() {
        for (row, &output) in pass.outputs.iter().enumerate() {
            add(signals, output, pass.gains[row * columns + column] * change);
        }
    }
    Ok(())
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

/// The change of the input of a pass that has one, unless it is 0.
pub(super) fn only_change(pass: &Pass, values: &[f64]) -> Option<f64> {
    match (&*pass.inputs, &*pass.new_inputs) {
        (&[input], &[new]) => Some(new - values[input]).filter(|change| *change != 0.0),
        _ => None,
    }
}
