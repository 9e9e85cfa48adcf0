//! Jacobi coupling: all units step over the same interval [t, t + H] at the same time. Each input
//! follows the extrapolation of its source's outputs up to t, ũ(t + s) = Φ(y(t), y(t − H), …)(s).
//!
//! Source: FMI 2.0 §4.2; Rodríguez et al. (2022) §2. One pass a macro-step, without iteration and
//! without rolling back; single- and multi-rate. Use it first, with threads, with hardware in the loop and with
//! corrections: every other entry of the registries goes with it. Limits: an extrapolated input is wrong by a power of
//! H, and the largest stable H follows from the stiffest loop over the interface.

use super::{Method, MethodFacts};
use crate::interface_order;
use crate::plan::{Draft, Phase, Store};
use crate::registry::Entry;

/// All units step in parallel over the same interval, with the outputs published before it.
#[derive(Debug)]
struct Jacobi;

pub(super) const ENTRY: Entry<dyn Method> = Entry {
    name: "jacobi",
    summary: "all units step in parallel, single- and multi-rate, explicit and non-iterative",
    source: "FMI 2.0 §4.2; Rodríguez 2022 §2",
    parameters: &[],
    facts: |_, ()| MethodFacts::default(),
    build: |_| Box::new(Jacobi),
};

impl Method for Jacobi {
    fn plan(&self, draft: &mut Draft<'_>) {
        draft.head();
        if draft.has_interface_models() {
            interface_order::plan(draft);
        } else {
            let all = draft.components();
            draft.prepare(&all);
            draft.give(&all, Phase::Begin);
            draft.give_signals(&all);
            draft.step(&all, Phase::Begin);
            draft.read(&all, Store::Shown, Phase::End);
        }
        draft.tail();
    }
}
