//! Outputs read again after the new inputs were set. FMI 2.0 does not allow that order of calls between steps (§4.2.4,
//! C-28), so a unit has to declare it safe, or the user to ask for it.
//!
//! Source: Thielemans et al. (2023) §3.1. Use it where FMUs allow it: nothing of the outputs is stale. Limits: FMUs that
//! compute outputs in `fmi2DoStep` only return the stale ones.

use super::modes::{Mode, Words};
use super::trial::only_change;
use crate::exchange_mode::Exchange;
use crate::fault::UnitFault;
use crate::registry::Entry;
use crate::state::SystemState;
use crate::step::Step;

pub(super) const MODE: Mode = Mode {
    entry: Entry {
        name: Exchange::FRESH.word(),
        summary: "outputs read again after the new inputs were set; FMI 2.0 does not promise that they are right",
        source: "Thielemans 2023 §3.1",
        parameters: &[],
        facts: |_, ()| Exchange::FRESH.facts(),
        build: |_| Exchange::FRESH,
    },
    act: read_again,
    words: |Words {
                outputs, sources, ..
            }| format!("fresh: sets {sources} and reads {outputs} again"),
};

fn read_again(state: &mut SystemState, index: usize, _: &Step) -> Result<(), Box<UnitFault>> {
    state.counters.set_calls += 1;
    state.counters.get_calls += 1;
    let pass = &mut state.exchange.passes[index];
    let slot = &mut state.units.members[pass.component].slot;
    slot.set_reals(&pass.input_handles, &pass.new_inputs)?;
    slot.get_reals(&pass.output_handles, &mut pass.new_outputs)?;
    // The D of the ledger.
    let step = only_change(pass, &state.courses.values);
    let outputs = pass.outputs.iter().zip(&pass.new_outputs);
    for (row, (&output, &value)) in outputs.enumerate() {
        let change = value - state.signals.reals[output];
        state.signals.exchanged[output] = change;
        state.signals.reals[output] = value;
        if let Some(step) = step {
            pass.gains[row] = change / step;
        }
    }
    Ok(())
}
