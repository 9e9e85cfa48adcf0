//! Stale outputs plus D·(u − ũ), with D the derivative of the outputs by the inputs, u the new input and ũ that of the
//! step: exact where outputs are linear in the inputs, and within the order of calls of FMI 2.0 §4.2.4.
//!
//! Source: own; D from `fmi2GetDirectionalDerivative` (FMI 2.0 §2.1.9) at each communication point, else from central
//! differences at the start; [`review`](super::review) finds another D if that has moved, and leaves outputs stale that D does not predict
//! if `auto` has chosen the mode.
//! Use it if outputs may not be read again. Limits: D is taken at ũ, so the rest is of second order in u − ũ, and first order until a D
//! that has moved is found, which only units show that go back.

use super::modes::{Mode, Words};
use super::trial::{estimate, try_inputs};
use crate::exchange_mode::Exchange;
use crate::fault::UnitFault;
use crate::registry::Entry;
use crate::state::SystemState;
use crate::step::Step;

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
fn compensate(state: &mut SystemState, pass: usize, step: &Step) -> Result<(), Box<UnitFault>> {
    for &output in &state.exchange.passes[pass].outputs {
        state.signals.exchanged[output] = 0.0;
    }
    estimate(state, pass, step, |signals, output, difference| {
        signals.exchanged[output] += difference;
        signals.reals[output] += difference;
    })?;
    let treated = &state.exchange.passes[pass];
    if !treated.is_smooth && treated.may_read_again {
        try_inputs(state, pass)?;
    }
    Ok(())
}
