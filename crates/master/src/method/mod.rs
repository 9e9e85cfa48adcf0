//! Methods: which units are fed, stepped and published in which order.

mod gauss_seidel;
mod jacobi;
mod mean_force;
mod turns;

use crate::fault::Fault;
use crate::need::{Facts, Need, where_true};
use crate::registry::{Entry, EntryKind};
pub use crate::state::SystemState;
use crate::state_stream::StateStream;
pub use crate::step::Step;

/// Facts about a method before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MethodFacts {
    /// An input may carry outputs of the end of its source's communication step before that is
    /// over: where components are stepped one after the other.
    pub looks_ahead: bool,
    /// Such an input carries means over the step, and not the values of its end.
    pub passes_means: bool,
}

impl Facts for MethodFacts {
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    fn withholds(&self) -> Vec<Need> {
        where_true([
            (Need::WithinStep, self.looks_ahead),
            (Need::StepOrder, self.looks_ahead),
            (Need::Delay, self.looks_ahead),
            (Need::LastValues, self.passes_means),
        ])
    }
}

impl EntryKind for dyn Method {
    const NAME: &'static str = "method";
    type Made = Box<dyn Method>;
    type Context = ();
    type Facts = MethodFacts;
    const USUAL: () = ();
}

/// Advances a system by one macro-step.
pub trait Method: Send {
    /// Prepares the state, before it is initialised.
    fn begin(&mut self, state: &mut SystemState) {
        let _ = state;
    }

    /// Makes `step`.
    ///
    /// # Errors
    /// The first fault of a unit; the state is then not used again.
    fn step(&mut self, state: &mut SystemState, step: &Step) -> Result<(), Fault>;

    /// Another one in the same state, for a [`Snapshot`](crate::Snapshot); `None`, the default, where there can be
    /// none.
    fn duplicate(&self) -> Option<Box<dyn Method>> {
        None
    }

    /// Writes the state to a stream, or reads it from there into one that was made and begun alike: all that changes in a
    /// run. The default refuses: the state of a run with it is not kept in a file.
    fn transfer(&mut self, stream: &mut StateStream) {
        stream.unable();
    }
}

/// Every method, by its word in a system file.
pub const METHODS: &[Entry<dyn Method>] = &[jacobi::ENTRY, gauss_seidel::ENTRY, mean_force::ENTRY];
