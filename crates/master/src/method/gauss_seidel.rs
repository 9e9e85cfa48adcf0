//! Gauss-Seidel coupling: units step one after the other. An input whose source has stepped already
//! receives that source's new value: the line y(t) → y(t + H) where the unit takes sub-steps or
//! input derivatives, else y(t + H), held. All other inputs are extrapolated, as with `jacobi`.
//!
//! Source: Rahikainen et al. (2020) §1 names the method; derivatives of inputs: FMI 2.0 §4.2.3. Use
//! it where one unit has direct feed-through and can step last, or is much stiffer than the others.
//! Limits: one unit at a time, so threads do not help; the order of the units changes the result;
//! inputs look ahead, which `hinfinity`, interface models and learned feed-forward refuse.

use super::turns::{FAST_FIRST, FEEDTHROUGH_LAST, Order};
use super::{Method, MethodFacts};
use crate::engine::{self, Passing, Turns};
use crate::fault::Fault;
use crate::registry::{Entry, ParameterInfo, ParameterKind};
use crate::state::SystemState;
use crate::state_stream::StateStream;
use crate::step::Step;

/// Units step one after the other, each with the outputs that those before it have just computed.
#[derive(Clone)]
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
        summary: "order of the units: those with direct feed-through last, fast ones first, or names separated by commas",
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
    fn begin(&mut self, state: &mut SystemState) {
        let order = self.order.components(&state.graph);
        self.turns = Some(Turns::new(state, order, Passing::End));
    }

    fn step(&mut self, state: &mut SystemState, step: &Step) -> Result<(), Fault> {
        match &mut self.turns {
            Some(turns) => engine::step_in_turns(state, turns, step),
            None => Ok(()),
        }
    }

    fn duplicate(&self) -> Option<Box<dyn Method>> {
        Some(Box::new(self.clone()))
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        if let Some(turns) = &mut self.turns {
            stream.keep(turns);
        }
    }
}
