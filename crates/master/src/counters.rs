//! Numbers of steps and calls of a run.

use crate::state_stream::stored;

/// Numbers of steps and calls of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counters {
    /// Macro-steps.
    pub macro_steps: u64,
    /// Communication steps of all units.
    pub unit_steps: u64,
    /// Calls that set real inputs between steps.
    pub set_calls: u64,
    /// Calls that read real outputs between steps.
    pub get_calls: u64,
    /// Calls that read directional derivatives between steps.
    pub derivative_calls: u64,
    /// Times that a macro-step was made again: with a smaller size, or in parts.
    pub repeated_steps: u64,
    /// Passes of iterations within macro-steps.
    pub iterations: u64,
    /// Macro-steps in which an iteration ended by its limit, unconverged.
    pub unconverged_steps: u64,
    /// Communication points at which a correction added to an input, also if the step was made again.
    pub corrected_steps: u64,
    /// Warnings that units returned.
    pub unit_warnings: u64,
}

stored!(Counters {
    macro_steps,
    unit_steps,
    set_calls,
    get_calls,
    derivative_calls,
    repeated_steps,
    iterations,
    unconverged_steps,
    corrected_steps,
    unit_warnings
});
