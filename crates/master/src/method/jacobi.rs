use super::{Method, MethodFacts};
use crate::engine::{head, step_all};
use crate::fault::Fault;
use crate::registry::Entry;
use crate::state::State;
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
    fn step(&mut self, state: &mut State, step: &Step) -> Result<(), Fault> {
        head(state, step)?;
        step_all(state, step)
    }
}
