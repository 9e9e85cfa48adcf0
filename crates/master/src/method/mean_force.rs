use super::Method;
use super::turns::{FAST_FIRST, FEEDTHROUGH_LAST, Order};
use crate::engine::{self, Passing, Turns};
use crate::fault::Fault;
use crate::graph::Graph;
use crate::registry::{Entry, Maker, ParameterInfo, ParameterKind};
use crate::state::State;
use crate::step::Step;

/// Units step one after the other; later ones receive means, so that both sides of a force see the
/// same impulse.
struct MeanForce {
    order: Order,
    turns: Option<Turns>,
}

pub(super) const ENTRY: Entry<Maker<dyn Method>> = Entry {
    name: "mean-force",
    summary: "units step one after the other, fast ones first; a later one receives the means of those before it over \
              their communication steps",
    source: "Gauss-Seidel, with equal impulses: mean by the trapezoidal rule",
    parameters: &[ParameterInfo {
        name: "order",
        summary: "who steps first: fast units first, units with direct feed-through last, or names separated by commas",
        kind: ParameterKind::Names(&[FAST_FIRST, FEEDTHROUGH_LAST]),
    }],
    build: |arguments| {
        let order = Order::new(arguments.text("order"));
        Box::new(MeanForce { order, turns: None })
    },
};

impl Method for MeanForce {
    fn misfits(&self, graph: &Graph) -> Vec<String> {
        let mut misfits = self.order.misfits("mean-force", graph);
        misfits.extend(graph.bonds.iter().filter_map(|bond| {
            let (correction, _) = bond.correction.as_ref()?;
            Some(format!(
                "method `mean-force` and correction `{}` of bond `{}` do not go together: the correction takes the \
                 difference between a mean and the last value for an error; use method `jacobi` or `gauss-seidel`, \
                 or no correction",
                correction.name, bond.name
            ))
        }));
        misfits
    }

    fn begin(&mut self, state: &mut State) {
        let order = self.order.components(&state.graph);
        self.turns = Some(Turns::new(state, order, Passing::Mean));
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn step(&mut self, state: &mut State, step: &Step) -> Result<(), Fault> {
        match &mut self.turns {
            Some(turns) => engine::step_in_turns(state, turns, step),
            None => Ok(()),
        }
    }
}
