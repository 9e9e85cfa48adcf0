//! Jacobi coupling: all units step over the same interval [t, t + H] at the same time. Each input
//! follows the extrapolation of its source's outputs up to t, ũ(t + s) = Φ(y(t), y(t − H), …)(s).
//!
//! Source: FMI 2.0 §4.2; Rodríguez et al. (2022) §2. One pass a macro-step, without iteration and
//! without rolling back; single- and multi-rate. Use it first, with threads, with hardware in the
//! loop and with corrections: it withholds nothing from other entries. Limits: an extrapolated
//! input is wrong by a power of H, and the largest stable H follows from the stiffest loop over the
//! interface.

use super::{Method, MethodFacts};
use crate::engine::{head, step_all};
use crate::fault::Fault;
use crate::registry::Entry;
use crate::state::SystemState;
use crate::state_stream::StateStream;
use crate::step::Step;

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
    fn step(&mut self, state: &mut SystemState, step: &Step) -> Result<(), Fault> {
        head(state, step)?;
        step_all(state, step)
    }

    fn duplicate(&self) -> Option<Box<dyn Method>> {
        Some(Box::new(Self))
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        // It has no memory.
        let _ = stream;
    }
}
