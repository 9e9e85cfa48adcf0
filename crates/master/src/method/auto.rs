//! Selects the method that a system needs: `gauss-seidel` with the units with direct feed-through last, if their
//! outputs are exchanged stale, so that they no longer are; otherwise, and if another part of the system needs
//! parallel units, `jacobi`. The choice follows from the description alone, so that a result does not depend on the
//! number of threads.
//!
//! Source: own. Use it if nothing is known about a system. Limits: whether direct feed-through can be compensated is
//! known only after initialization: with `exchange = "auto"` the units step in parallel.

use super::{Method, gauss_seidel, jacobi};
use crate::exchange_mode::Exchange;
use crate::graph::Graph;
use crate::plan::Draft;
use crate::registry::{Arguments, Entry};

/// The plan of the method that is taken if nothing speaks for another one. Before it plans, the engine
/// replaces this entry by the one that [`choice`] finds.
#[derive(Debug)]
struct Auto;

pub(super) const ENTRY: Entry<dyn Method> = Entry {
    name: "auto",
    summary: "gauss-seidel where direct feed-through is exchanged stale and nothing needs steps in parallel, else jacobi",
    source: "own",
    parameters: &[],
    facts: |arguments, context| (jacobi::ENTRY.facts)(arguments, context),
    build: |_| Box::new(Auto),
};

impl Method for Auto {
    fn plan(&self, draft: &mut Draft<'_>) {
        (jacobi::ENTRY.build)(&Arguments::default()).plan(draft);
    }
}

/// The entry that `auto` takes for a system, and why. `is_possible` tells whether a method goes together with
/// all other parts of it.
pub(crate) fn choice(
    graph: &Graph,
    is_possible: impl FnOnce(&Entry<dyn Method>) -> bool,
) -> (&'static Entry<dyn Method>, &'static str) {
    const IN_TURN: &Entry<dyn Method> = &gauss_seidel::ENTRY;
    const IN_PARALLEL: &Entry<dyn Method> = &jacobi::ENTRY;
    let feeds_through = |output: usize| !graph.feedthrough(output, false).is_empty();
    let is_stale = graph
        .components
        .iter()
        .any(|node| node.exchange == Exchange::STALE && node.outputs.clone().any(feeds_through));
    if !is_stale {
        let why = "no direct feed-through has to be exchanged stale";
        return (IN_PARALLEL, why);
    }
    if !is_possible(IN_TURN) {
        let why = "another part of the system needs units that step in parallel";
        return (IN_PARALLEL, why);
    }
    let why = "direct feed-through is exchanged stale, and is not where such units step last";
    (IN_TURN, why)
}
