use super::turns::{FAST_FIRST, FEEDTHROUGH_LAST, Order};
use super::{Method, MethodFacts};
use crate::engine::{self, Passing, Turns};
use crate::fault::Fault;
use crate::registry::{Entry, ParameterInfo, ParameterKind};
use crate::state::State;
use crate::step::Step;

/// Units step one after the other; later ones receive means, so that both sides of a force see the
/// same impulse.
struct MeanForce {
    order: Order,
    turns: Option<Turns>,
}

pub(super) const ENTRY: Entry<dyn Method> = Entry {
    name: "mean-force",
    summary: "units step one after the other, fast ones first; a later one receives the means of those before it over \
              their communication steps",
    source: "Gauss-Seidel, with equal impulses: mean by the trapezoidal rule",
    parameters: &[ParameterInfo {
        name: "order",
        summary: "who steps first: fast units first, units with direct feed-through last, or names separated by commas",
        kind: ParameterKind::Names(&[FAST_FIRST, FEEDTHROUGH_LAST]),
    }],
    facts: |_, ()| MethodFacts {
        looks_ahead: true,
        passes_means: true,
    },
    build: |arguments| {
        let order = Order::new(arguments.text("order"));
        Box::new(MeanForce { order, turns: None })
    },
};

impl Method for MeanForce {
    fn begin(&mut self, state: &mut State) {
        let order = self.order.components(&state.graph);
        self.turns = Some(Turns::new(state, order, Passing::Mean));
    }

    fn step(&mut self, state: &mut State, step: &Step) -> Result<(), Fault> {
        match &mut self.turns {
            Some(turns) => engine::step_in_turns(state, turns, step),
            None => Ok(()),
        }
    }
}
