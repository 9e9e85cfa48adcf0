//! Outputs as the step left them, with the inputs of that step in them: the order of calls of FMI 2.0 §4.2.4.
//!
//! Source: FMI 2.0 §4.2.4, as most masters. Use it to compare with them, and where FMUs allow nothing else. Limits: at
//! a bond stale outputs make energy; their errors −D·(u − ũ) are kept for ledger, audit and corrections where D is
//! known.

use super::modes::{Mode, Words};
use super::trial::{estimate, try_inputs};
use crate::exchange_mode::Exchange;
use crate::fault::UnitFault;
use crate::registry::Entry;
use crate::state::SystemState;
use crate::step::Step;

pub(super) const MODE: Mode = Mode {
    entry: Entry {
        name: Exchange::STALE.word(),
        summary: "outputs as the step left them",
        source: "FMI 2.0 §4.2.4",
        parameters: &[],
        facts: |_, ()| Exchange::STALE.facts(),
        build: |_| Exchange::STALE,
    },
    act: keep_errors,
    words: |Words {
                outputs,
                sources,
                has_end_values,
            }| {
        if *has_end_values {
            format!(
                "stale: {outputs} stays as the step left it, whose inputs had {sources} of its end already"
            )
        } else {
            format!(
                "stale: {outputs} stays as the inputs of this step made it, one step behind {sources}; its error is kept for the ledger"
            )
        }
    },
};

/// Records the errors of the outputs. Where D is not smooth, that of one point says little about the next: the new inputs
/// are tried where the unit allows it.
fn keep_errors(state: &mut SystemState, pass: usize, step: &Step) -> Result<(), Box<UnitFault>> {
    let treated = &state.exchange.passes[pass];
    if !treated.is_smooth {
        return match treated.may_read_again {
            true => try_inputs(state, pass),
            false => Ok(()),
        };
    }
    for &output in &treated.outputs {
        state.signals.stale_errors[output] = 0.0;
    }
    estimate(state, pass, step, |signals, output, difference| {
        signals.stale_errors[output] -= difference;
        signals.start_changes[output] = -signals.stale_errors[output];
    })
}
