//! Gauss-Seidel coupling with means: an input whose source has stepped already receives the mean of
//! that output over the n communication steps of the source, by the trapezoidal rule, (1/n)·(y₀/2 +
//! y₁ + … + yₙ₋₁ + yₙ/2), so that both sides of a force get the same impulse.
//!
//! Source: own; the equal impulse is momentum conservation over the macro-step. Use it for a fast
//! force on a slow mass, with the fast units first. Limits: as `gauss-seidel`; a mean is not the
//! last value, so corrections refuse it: they would take the difference for a coupling error.

use super::turns::{FAST_FIRST, FEEDTHROUGH_LAST, Order};
use super::{Method, MethodFacts};
use crate::engine::{self, Passing, Turns};
use crate::fault::Fault;
use crate::registry::{Entry, ParameterInfo, ParameterKind};
use crate::state::SystemState;
use crate::state_stream::StateStream;
use crate::step::Step;

/// Units step one after the other; later ones receive means, so that both sides of a force see the
/// same impulse.
#[derive(Clone)]
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
        summary: "order of the units: fast ones first, those with direct feed-through last, or names separated by commas",
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
    fn begin(&mut self, state: &mut SystemState) {
        let order = self.order.components(&state.graph);
        self.turns = Some(Turns::new(state, order, Passing::Mean));
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
