use super::turns::{FAST_FIRST, FEEDTHROUGH_LAST, Order};
use super::{Method, MethodFacts};
use crate::engine::{self, Passing, Turns};
use crate::fault::Fault;
use crate::registry::{Entry, ParameterInfo, ParameterKind};
use crate::state::State;
use crate::step::Step;

/// Units step one after the other, each with the outputs that those before it have just computed.
struct GaussSeidel {
    order: Order,
    turns: Option<Turns>,
}

pub(super) const ENTRY: Entry<dyn Method> = Entry {
    name: "gauss-seidel",
    summary: "units step one after the other; a later one receives the end values of those before it, on a line where \
              it can follow one",
    source: "Rahikainen 2020 §1 names it; line to the end value: FMI 2.0 §4.2.3",
    parameters: &[ParameterInfo {
        name: "order",
        summary: "who steps first: units with direct feed-through last, fast units first, or names separated by commas",
        kind: ParameterKind::Names(&[FEEDTHROUGH_LAST, FAST_FIRST]),
    }],
    facts: |_, ()| MethodFacts {
        looks_ahead: true,
        passes_means: false,
    },
    build: |arguments| {
        let order = Order::new(arguments.text("order"));
        Box::new(GaussSeidel { order, turns: None })
    },
};

impl Method for GaussSeidel {
    fn begin(&mut self, state: &mut State) {
        let order = self.order.components(&state.graph);
        self.turns = Some(Turns::new(state, order, Passing::End));
    }

    fn step(&mut self, state: &mut State, step: &Step) -> Result<(), Fault> {
        match &mut self.turns {
            Some(turns) => engine::step_in_turns(state, turns, step),
            None => Ok(()),
        }
    }
}
