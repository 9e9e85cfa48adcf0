//! Methods: which units are fed, stepped and published in which order.

mod gauss_seidel;
mod jacobi;
mod mean_force;
mod turns;

use crate::fault::Fault;
use crate::graph::Graph;
use crate::registry::Registry;
use crate::state::State;
use crate::step::Step;

/// Advances a system by one macro-step.
pub trait Method: Send {
    /// Why the method cannot run this system, in sentences; none where it can.
    fn misfits(&self, graph: &Graph) -> Vec<String> {
        let _ = graph;
        Vec::new()
    }

    /// Prepares the state, before it is initialised.
    fn begin(&mut self, state: &mut State) {
        let _ = state;
    }

    /// Whether an input may carry outputs of the end of its source's communication step before that
    /// is over: where components are stepped one after the other.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Makes `step`.
    ///
    /// # Errors
    /// The first fault of a unit; the state is then not used again.
    fn step(&mut self, state: &mut State, step: &Step) -> Result<(), Fault>;
}

/// Every method, by its word in a system file.
pub const METHODS: &Registry<dyn Method> = &[jacobi::ENTRY, gauss_seidel::ENTRY, mean_force::ENTRY];
