//! The effects of operations on values: what is read, set, stepped, published, and for which instant.
//!
//! The verification of plans follows them. An effect does nothing.

use super::StepPlan;
use super::operation::{Operation, Selection};
use crate::exchange::declares_safe;
use crate::graph::Graph;
use crate::state::{LoopWay, Member, Pass, Passes, SystemState};
use crate::step::Phase;

/// Where real outputs are read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// They are published at once.
    Shown,
    /// They are kept until their time has come.
    Ahead,
}

/// The end of the macro-step for which a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instant {
    /// The start, or the last time before it at which the output was due.
    Start,
    /// The end, or a later time for which the output is known already.
    End,
}

/// An effect of an operation, by which plans are verified. Numbers are indices of the graph.
///
/// [`Stage`](super::Stage)s declare [`Reads`](Self::Reads), [`Replaces`](Self::Replaces) and
/// [`Estimates`](Self::Estimates); the other effects are those of operations of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// A real output is read from a store.
    Reads {
        /// The output.
        output: usize,
        /// The store.
        store: Store,
        /// The instant for which it stands.
        at: Instant,
    },
    /// The course of an input is replaced in a phase of its component, with the value that its source has ahead of its
    /// time.
    Replaces {
        /// The input.
        input: usize,
        /// Where its component begins its step, or where it ends a postponed one.
        phase: Phase,
        /// Degree of the new course.
        degree: usize,
        /// The new course is the mean of its source over the communication steps of the receiver.
        is_mean: bool,
    },
    /// The test of an iteration puts an estimate in the place of a real output at the end of its component's step.
    Estimates {
        /// The output.
        output: usize,
    },
    /// The course of an input is computed from the outputs of its source that are published.
    #[doc(hidden)]
    Prepares { input: usize },
    /// The course of an input is made for a part of the macro-step.
    #[doc(hidden)]
    Drives { input: usize },
    /// The bond's corrections are computed.
    #[doc(hidden)]
    Corrects { bond: usize },
    /// The connected inputs of a component are set.
    #[doc(hidden)]
    Sets { component: usize },
    /// Inputs are set and outputs read again, with the inputs put back where they were (`true`).
    #[doc(hidden)]
    ReadsAgain { component: usize, puts_back: bool },
    /// A component makes steps from a saved state, to which it goes back.
    #[doc(hidden)]
    Tries { component: usize },
    /// A component makes its communication step; it sets its inputs itself where `sets`.
    #[doc(hidden)]
    Steps { component: usize, sets: bool },
    /// The real outputs of a component are read from its unit.
    #[doc(hidden)]
    Gets { component: usize, store: Store },
    /// The real outputs of a component that were read ahead are published.
    #[doc(hidden)]
    Shows { component: usize },
    /// A published output changes by the exchange.
    #[doc(hidden)]
    Exchanges { output: usize },
    /// Published outputs are checked.
    #[doc(hidden)]
    Checks,
    /// The past of an input receives its source's published output.
    #[doc(hidden)]
    Observes { input: usize },
}

/// The system as far as it is known: after the initialisation with its units.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) state: Option<&'a SystemState>,
}

impl<'a> Known<'a> {
    pub(crate) fn of_graph(graph: &'a Graph) -> Self {
        Self { graph, state: None }
    }

    pub(crate) fn of_state(state: &'a SystemState) -> Self {
        Self {
            graph: &state.graph,
            state: Some(state),
        }
    }

    fn member(&self, component: usize) -> Option<&Member> {
        Some(&self.state?.units.members[component])
    }

    /// Its outputs may be read after its inputs were set.
    pub(super) fn declares_safe(&self, component: usize) -> bool {
        declares_safe(&self.graph.components[component])
    }

    /// The component gets its inputs within its step.
    pub(super) fn sets_by_itself(&self, component: usize) -> bool {
        self.member(component).is_some_and(|m| m.follows_curves)
    }
}

/// Adds the effects of an operation in a macro-step in which the components are due that `is_due` says.
pub(crate) fn effects(
    operation: &Operation,
    plan: &StepPlan,
    known: Known<'_>,
    is_due: &dyn Fn(usize, Phase) -> bool,
    found: &mut Vec<Effect>,
) {
    let graph = known.graph;
    let due = |selection: &Selection| -> Vec<usize> {
        let components = selection.components.iter().copied();
        components
            .filter(|component| is_due(*component, selection.phase))
            .collect()
    };
    let inputs = |component: usize| graph.components[component].inputs.clone();
    match operation {
        Operation::Correct => {
            let bonds = corrected_bonds(graph, is_due);
            found.extend(bonds.map(|bond| Effect::Corrects { bond }));
        }
        Operation::Prepare(selection) => {
            let inputs = due(selection).into_iter().flat_map(inputs);
            found.extend(inputs.map(|input| Effect::Prepares { input }));
        }
        Operation::Give(selection) => {
            let gives = |component: &usize| {
                !inputs(*component).is_empty() && !known.sets_by_itself(*component)
            };
            let given = due(selection).into_iter().filter(gives);
            found.extend(given.map(|component| Effect::Sets { component }));
        }
        Operation::Step(selection) => {
            let stepped = due(selection).into_iter();
            found.extend(stepped.map(|component| Effect::Steps {
                component,
                sets: known.sets_by_itself(component),
            }));
        }
        Operation::Read(selection, store) => {
            let has_outputs = |component: &usize| !graph.components[*component].outputs.is_empty();
            let read = due(selection).into_iter().filter(has_outputs);
            found.extend(read.map(|component| Effect::Gets {
                component,
                store: *store,
            }));
        }
        Operation::Show(selection) => {
            let shown = due(selection).into_iter();
            found.extend(shown.map(|component| Effect::Shows { component }));
        }
        Operation::Exchange(pass) => exchange_effects(*pass, known, is_due, found),
        Operation::Check => found.push(Effect::Checks),
        Operation::Observe => {
            let source = |input: usize| graph.outputs[graph.inputs[input].source].component;
            let inputs = 0..graph.inputs.len();
            let observed = inputs.filter(|input| is_due(source(*input), Phase::End));
            found.extend(observed.map(|input| Effect::Observes { input }));
        }
        Operation::Own(stage) => {
            let stage = plan.stages.get(*stage);
            let declared = stage.map_or_else(Vec::new, |stage| stage.effects(graph));
            let declared = declared.into_iter();
            found.extend(declared.filter(|effect| happens(effect, graph, is_due)));
        }
        // Bodies are followed part by part; the others change no real value that an operation reads, or, as the passes of
        // a draft, are not known yet.
        Operation::FeedForward
        | Operation::TakeBack
        | Operation::Scenario
        | Operation::GiveSignals(_)
        | Operation::Postpone(_)
        | Operation::GiveHeld(_)
        | Operation::ReadSignals
        | Operation::ReadSignalsAhead(_)
        | Operation::ReadSlopes
        | Operation::ObserveSubsteps
        | Operation::ExchangeAll
        | Operation::Repeat { .. }
        | Operation::Iterate { .. } => {}
    }
}

/// The bonds that are corrected where a macro-step begins.
fn corrected_bonds(
    graph: &Graph,
    is_due: &dyn Fn(usize, Phase) -> bool,
) -> impl Iterator<Item = usize> {
    let bonds = graph.bonds.iter().enumerate();
    let due = bonds.filter(|(_, bond)| {
        let sides = [bond.effort_side, bond.flow_side];
        bond.correction.is_some() && sides.into_iter().all(|side| is_due(side, Phase::Begin))
    });
    due.map(|(bond, _)| bond)
}

/// Whether a declared effect happens in this macro-step.
fn happens(effect: &Effect, graph: &Graph, is_due: &dyn Fn(usize, Phase) -> bool) -> bool {
    let of_input = |input: usize| {
        let holds = |c: &crate::graph::Component| c.inputs.contains(&input);
        graph.components.iter().position(holds)
    };
    match *effect {
        Effect::Reads {
            output,
            at: Instant::End,
            ..
        } => {
            let output = graph.outputs.get(output);
            output.is_none_or(|output| is_due(output.component, Phase::End))
        }
        Effect::Replaces { input, phase, .. } => {
            of_input(input).is_none_or(|component| is_due(component, phase))
        }
        _ => true,
    }
}

fn exchange_effects(
    pass: usize,
    known: Known<'_>,
    is_due: &dyn Fn(usize, Phase) -> bool,
    found: &mut Vec<Effect>,
) {
    let Some(Passes { passes, loops, .. }) = known.state.map(|state| &state.exchange) else {
        return;
    };
    let Some(first) = passes.get(pass) else {
        return;
    };
    let Some(algebraic_loop) = first.in_loop.and_then(|index| loops.get(index)) else {
        return pass_effects(first, None, is_due, found);
    };
    let of_loop = passes[algebraic_loop.passes.clone()].iter();
    for (pass, way) in of_loop.zip(&algebraic_loop.ways) {
        pass_effects(pass, Some(*way), is_due, found);
    }
}

/// The effects of a pass, on its own or in an algebraic loop.
fn pass_effects(
    pass: &Pass,
    way: Option<LoopWay>,
    is_due: &dyn Fn(usize, Phase) -> bool,
    found: &mut Vec<Effect>,
) {
    let component = pass.component;
    if !is_due(component, Phase::End) {
        return;
    }
    let reads_again = pass.mode.facts().reads_again;
    let tries = way.is_none() && !pass.is_smooth && pass.may_read_again;
    if reads_again || tries {
        found.push(Effect::ReadsAgain {
            component,
            puts_back: !reads_again,
        });
    }
    if way == Some(LoopWay::TrialStep) || way.is_none() && pass.trial.is_some() {
        found.push(Effect::Tries { component });
    }
    if pass.mode.facts().follows_inputs {
        let outputs = pass.outputs.iter();
        found.extend(outputs.map(|output| Effect::Exchanges { output: *output }));
    }
}
