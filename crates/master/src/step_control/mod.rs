//! Step control: how long the next macro-step is.

mod ecco;
mod fixed;

use crate::defect::Defects;
use crate::ledger::Ledger;
use crate::need::{Facts, Need, where_true};
use crate::registry::{Entry, EntryKind};
use crate::state_stream::StateStream;
pub use crate::step::Step;

/// The step that was made, as passed to a step control.
#[derive(Debug, Clone, Copy)]
pub struct StepAudit<'a> {
    /// The step.
    pub step: &'a Step,
    /// Powers and energies of the bonds at its end.
    pub ledger: &'a Ledger,
    /// Defects of the connections at its end.
    pub defects: &'a Defects,
    /// Lowest order of extrapolation in use at the inputs of the bonds.
    pub order: usize,
    /// A discontinuity was found at its end.
    pub had_event: bool,
    /// All components communicate at its end, so that the size may change here.
    pub may_change: bool,
}

/// Decision of a step control.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// Go on with steps of this size, s.
    Continue(f64),
    /// Make the step again with this size, s; where that is not possible, go on with it.
    Repeat(f64),
}

/// Facts about a step control before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepControlFacts {
    /// All steps but the last are the experiment's macro-step.
    pub is_fixed: bool,
    /// It looks at power bonds and needs at least one.
    pub needs_bonds: bool,
    /// It may ask for a [repetition](Decision::Repeat).
    pub may_repeat: bool,
    /// The last step may go beyond the stop time instead of being shortened.
    pub may_overshoot: bool,
    /// The time of a step is the sum of the steps before it instead of a point of the clock.
    pub sums_time: bool,
}

impl Facts for StepControlFacts {
    fn needs(&self) -> Vec<Need> {
        where_true([
            (Need::AnyStepSize, !self.is_fixed),
            (Need::PowerBonds, self.needs_bonds),
            (Need::SavedStates, self.may_repeat),
        ])
    }

    fn withholds(&self) -> Vec<Need> {
        where_true([(Need::EqualSteps, !self.is_fixed)])
    }
}

impl EntryKind for dyn StepControl {
    const NAME: &'static str = "step control";
    type Made = Box<dyn StepControl>;
    type Context = ();
    type Facts = StepControlFacts;
    const USUAL: () = ();
}

/// Chooses the size of the macro-steps.
pub trait StepControl: Send {
    /// The size of the first step, s, where the experiment's macro-step is `macro_step`.
    fn first(&mut self, macro_step: f64, has_bonds: bool) -> f64;

    /// The size of the steps after the one that was made.
    fn next(&mut self, audit: &StepAudit<'_>) -> Decision;

    /// Signals that it records at each communication point: names and values.
    fn signals(&self) -> &[(&'static str, f64)] {
        &[]
    }

    /// Another one in the same state, for a [`Snapshot`](crate::Snapshot); `None`, the default, where there can be
    /// none.
    fn duplicate(&self) -> Option<Box<dyn StepControl>> {
        None
    }

    /// Writes the state to a stream, or reads it from there into one that was made and begun alike: all that changes in a
    /// run. The default refuses: the state of a run with it is not kept in a file.
    fn transfer(&mut self, stream: &mut StateStream) {
        stream.unable();
    }
}

/// Every step control, by its word in a system file.
pub const STEP_CONTROLS: &[Entry<dyn StepControl>] = &[fixed::ENTRY, ecco::ENTRY];
