//! The operations of a plan. Methods write them, the verifier reads their effects, the engine executes them; they hold no state.

use super::effect::Store;
use crate::step::Phase;

/// The components on which an operation acts where they are due, as indices of the graph, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) components: Vec<usize>,
    pub(crate) phase: Phase,
    /// [Groups](crate::state::Group) that they have all of, as far as the operation acts on them, and those in none of these.
    pub(crate) groups: Vec<usize>,
    pub(crate) others: Vec<usize>,
}

impl Selection {
    /// Each component by itself.
    pub(crate) fn new(components: Vec<usize>, phase: Phase) -> Self {
        Self {
            others: components.clone(),
            components,
            phase,
            groups: Vec::new(),
        }
    }
}

/// An act of a macro-step. The functions of [`engine`](crate::engine) do them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Learned feed-forward is set for the coming courses.
    FeedForward,
    /// The corrections of the due bonds are set for the coming courses.
    Correct,
    /// Inputs that a scenario replaces lose these additions.
    TakeBack,
    /// The courses of the inputs over the communication step, from the published outputs.
    Prepare(Selection),
    /// The values at the start of the courses are set on the units that do not follow the courses by themselves.
    Give(Selection),
    /// Inputs of connections with an end that is not real are set.
    GiveSignals(Selection),
    /// The start of the component's communication step is kept, and its inputs that are not real, until the step is
    /// made at its end.
    Postpone(usize),
    /// Values that wait for the component's communication step are set.
    GiveHeld(usize),
    /// The communication steps, on all threads at once. A postponed one starts where it was kept.
    Step(Selection),
    /// Real outputs are read from the units.
    Read(Selection, Store),
    /// Outputs that are not real are read from the units, as far as components after them in the macro-step receive them.
    ReadSignalsAhead(Selection),
    /// Real outputs that were read ahead are published.
    Show(Selection),
    /// Outputs that are not real are read and published.
    ReadSignals,
    /// Derivatives of outputs are read.
    ReadSlopes,
    /// Pasts that take every communication step receive those within the macro-step.
    ObserveSubsteps,
    /// The actions of the scenario move on to the end of the macro-step.
    Scenario,
    /// In a draft: all outputs with direct feed-through are exchanged by their modes.
    ExchangeAll,
    /// A pass of the exchange.
    Exchange(usize),
    /// The published real outputs are finite.
    Check,
    /// The pasts receive the published outputs.
    Observe,
    /// A stage of a method or an interface model.
    Own(usize),
    /// Equal parts of the macro-step, one after the other; ends early where a unit ends the simulation.
    Repeat { parts: u32, body: Vec<Operation> },
    /// The body again and again from the saved states of the components, until the stage `test` is content with it or
    /// the `limit` is reached.
    Iterate {
        components: Vec<usize>,
        limit: u32,
        test: usize,
        body: Vec<Operation>,
    },
}

impl Operation {
    /// Its word, as `inspect --plan` prints it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::FeedForward => "feed-forward",
            Self::Correct => "correct",
            Self::TakeBack => "take back",
            Self::Prepare(_) => "prepare",
            Self::Give(_) => "give",
            Self::GiveSignals(_) => "give signals",
            Self::Postpone(_) => "postpone",
            Self::GiveHeld(_) => "give held",
            Self::Step(_) => "step",
            Self::Read(..) => "read",
            Self::ReadSignalsAhead(_) => "read signals ahead",
            Self::Show(_) => "publish",
            Self::ReadSignals => "read signals",
            Self::ReadSlopes => "read slopes",
            Self::ObserveSubsteps => "observe sub-steps",
            Self::Scenario => "scenario",
            Self::ExchangeAll | Self::Exchange(_) => "exchange",
            Self::Check => "check",
            Self::Observe => "observe",
            Self::Own(_) => "stage",
            Self::Repeat { .. } => "repeat",
            Self::Iterate { .. } => "iterate",
        }
    }
}
