//! Methods: which units are fed, stepped and published in which order.

mod jacobi;

use crate::fault::Fault;
use crate::plant::{Plant, Step};
use crate::registry::Registry;

/// Advances the plant by one macro-step.
pub trait Method: Send {
    /// Makes `step`.
    ///
    /// # Errors
    /// The first fault of a unit; the plant is then not used again.
    fn step(&mut self, plant: &mut Plant, step: &Step) -> Result<(), Fault>;
}

/// Every method, by its word in a system file.
pub const METHODS: &Registry<dyn Method> = &[jacobi::ENTRY];
