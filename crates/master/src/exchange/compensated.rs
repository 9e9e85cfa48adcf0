//! Stale outputs plus D·(u − ũ), D being the derivative of the outputs by the inputs: exact where they are linear in the
//! inputs, and within the order of calls of FMI 2.0 §4.2.4.

use super::modes::{Mode, Words};
use super::trial::{estimate, try_inputs};
use crate::exchange_mode::Exchange;
use crate::fault::UnitFault;
use crate::registry::Entry;
use crate::state::SystemState;

pub(super) const MODE: Mode = Mode {
    entry: Entry {
        name: Exchange::COMPENSATED.word(),
        summary: "stale plus D·(u − ũ), D being the derivative of outputs by inputs",
        source: "own; D: FMI 2.0 §2.1.9",
        parameters: &[],
        facts: |_, ()| Exchange::COMPENSATED.facts(),
        build: |_| Exchange::COMPENSATED,
    },
    act: compensate,
    words: |Words {
                outputs, sources, ..
            }| {
        format!("compensated: adds D·(u − ũ) to {outputs}, with u from {sources}")
    },
};

/// Adds D·(u − ũ); where D is not smooth, the new inputs are tried, too, for the ledger, if the unit allows it.
fn compensate(state: &mut SystemState, pass: usize) -> Result<(), Box<UnitFault>> {
    for &output in &state.exchange.passes[pass].outputs {
        state.signals.exchanged[output] = 0.0;
    }
    estimate(state, pass, |signals, output, difference| {
        signals.exchanged[output] += difference;
        signals.reals[output] += difference;
    })?;
    let treated = &state.exchange.passes[pass];
    if !treated.is_smooth && treated.may_read_again {
        try_inputs(state, pass)?;
    }
    Ok(())
}
