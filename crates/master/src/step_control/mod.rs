//! Step control: how long the next macro-step is.

mod fixed;

use crate::ledger::Ledger;
use crate::plant::Step;
use crate::registry::Registry;

/// Chooses the size of the macro-steps.
pub trait StepControl: Send {
    /// The size of the first step, s, where the experiment's macro-step is `macro_step`.
    fn first(&mut self, macro_step: f64) -> f64;

    /// The size of the step after `step`, s.
    fn next(&mut self, step: &Step, ledger: &Ledger) -> f64;

    /// Whether all steps but the last are the experiment's macro-step.
    fn is_fixed(&self) -> bool;
}

/// Every step control, by its word in a system file.
pub const STEP_CONTROLS: &Registry<dyn StepControl> = &[fixed::ENTRY];
