//! The step plan: the order of everything that happens in a macro-step, as data.
//!
//! A [method](crate::method) writes a [`Draft`] from the resolved system alone. Once the units are initialised, the
//! draft becomes the plan: operations that have nothing to do are left out, the exchange of direct feed-through
//! gets its passes, and the FMUs that an operation steps are put into groups. Draft and final plan are verified by the same
//! [rules](Rule).
//!
//! A plan covers one macro-step. Components that communicate more slowly are in its operations with the
//! [phase](Phase) of their communication step, so that no plan depends on how many macro-steps a rate takes.

mod decisions;
mod draft;
mod effect;
mod finish;
mod operation;
mod stage;
mod verify;
mod words;

pub(crate) use decisions::decisions;
pub use draft::Draft;
pub use effect::{Effect, Instant, Store};
#[cfg(test)]
pub(crate) use effect::{Known, effects};
pub(crate) use finish::{Extras, finish, possible};
pub(crate) use operation::{Operation, Selection};
pub(crate) use stage::{Declared, replace};
pub use stage::{Stage, StageView};
pub(crate) use verify::verify;
pub use verify::{Broken, Rule};
pub use words::{PlanLine, PlanText};

pub use crate::step::Phase;

use crate::state_stream::StateStream;

/// The operations of a macro-step, in their order, and the stages of methods among them.
#[derive(Default)]
pub(crate) struct StepPlan {
    pub(crate) operations: Vec<Operation>,
    pub(crate) stages: Vec<Box<dyn Stage>>,
    /// Wires whose source makes its step before the receiver is given its value, in [`Graph::signal_wires`](crate::graph::Graph).
    pub(crate) led_wires: Vec<usize>,
    /// The values that each stage may touch.
    pub(crate) declared: Vec<Declared>,
}

impl StepPlan {
    /// The memory of its stages in the same state; `None` where one cannot give it.
    pub(crate) fn duplicate_stages(&self) -> Option<Vec<Box<dyn Stage>>> {
        self.stages.iter().map(|stage| stage.duplicate()).collect()
    }

    /// Writes the memory of its stages to a stream, or reads it from there.
    pub(crate) fn transfer(&mut self, stream: &mut StateStream) {
        for stage in &mut self.stages {
            stage.transfer(stream);
        }
    }
}
