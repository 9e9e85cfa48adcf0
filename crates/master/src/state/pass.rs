//! A pass of the exchange, as data. The exchange modes work on it.

use crate::exchange_mode::Exchange;
use crate::state_stream::stored;
use crate::unit::Handle;

/// A pass of the exchange between steps, ready to run: some inputs of a component, and the outputs
/// that depend on them directly.
pub(crate) struct Pass {
    pub(crate) component: usize,
    pub(crate) mode: Exchange,
    pub(crate) inputs: Vec<usize>,
    pub(crate) input_handles: Vec<Handle>,
    pub(crate) outputs: Vec<usize>,
    pub(crate) output_handles: Vec<Handle>,
    /// D: ∂output/∂input, row by row; measured again at each point where the unit gives derivatives.
    pub(crate) gains: Vec<f64>,
    /// D is smooth, as far as it was probed: the errors of stale outputs follow from it.
    pub(crate) is_smooth: bool,
    /// The unit declares that its outputs may be read again between steps.
    pub(crate) may_read_again: bool,
    /// The unit gives directional derivatives.
    pub(crate) by_unit: bool,
    /// The algebraic loop that it is a part of; its first pass stands for it in the plan.
    pub(crate) in_loop: Option<usize>,
    pub(crate) new_inputs: Vec<f64>,
    /// The new inputs less those of the last step.
    pub(crate) changes: Vec<f64>,
    pub(crate) new_outputs: Vec<f64>,
}

/// How the outputs of a component follow its inputs in steps.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum StepResponse {
    /// As the probe shows.
    #[default]
    AsProbed,
    /// These outputs follow these inputs, as pairs of indices of the graph. None where the unit was tried and its
    /// outputs follow by states.
    Tried(Vec<(usize, usize)>),
    /// Direct feed-through is declared and shows nowhere, and the unit cannot be tried.
    Unknown,
}

stored!(Pass {
    gains,
    new_inputs,
    changes,
    new_outputs;
    component,
    mode,
    inputs,
    input_handles,
    outputs,
    output_handles,
    is_smooth,
    may_read_again,
    by_unit,
    in_loop
});
