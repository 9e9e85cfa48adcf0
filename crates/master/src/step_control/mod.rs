//! Step control: how long the next macro-step is.

mod bounded_difference;
mod ecco;
mod fixed;
mod richardson;
mod signals;
mod sizes;
mod zero_crossing;

use crate::defect::Defects;
pub use crate::graph::EnergyLimits;
use crate::graph::Graph;
use crate::ledger::Ledger;
use crate::need::{Facts, Need, where_true};
use crate::registry::{Entry, EntryKind};
use crate::state_stream::StateStream;
pub use crate::step::Step;
pub use signals::ControlledSignal;

/// The step that was made, as passed to a step control.
#[derive(Debug, Clone, Copy)]
pub struct StepAudit<'a> {
    /// The step: as much of it as was made, if a unit has ended the simulation.
    pub step: &'a Step,
    /// Equal parts in which it was made.
    pub parts: u32,
    /// Real outputs published at its end, in the order of [`ControlledSystem::outputs`].
    pub outputs: &'a [f64],
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
    /// A unit has ended the simulation within it.
    pub has_ended: bool,
    /// It can be made [again](StepDecision::Redo).
    pub can_redo: bool,
    /// Sizes of steps are whole multiples of this, s: a step can be made again with one that is shorter by as much.
    pub resolution: f64,
}

impl StepAudit<'_> {
    /// Whether the step would be made again with this size, s.
    pub fn can_shrink_to(&self, size: f64) -> bool {
        self.can_redo && self.step.size - size >= self.resolution
    }
}

/// The system whose steps are controlled, at its start.
#[derive(Debug, Clone, Copy)]
pub struct ControlledSystem<'a> {
    /// Macro-step of the experiment, s.
    pub macro_step: f64,
    /// There are power bonds.
    pub has_bonds: bool,
    /// Limits of their residual energies, in the order of [`Ledger::bonds`].
    pub energy_limits: &'a [EnergyLimits],
    /// All real outputs.
    pub outputs: &'a [ControlledOutput],
    /// Their values at the start, in the same order.
    pub values: &'a [f64],
}

/// A real output of a system whose steps are controlled.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlledOutput {
    /// `component.variable`.
    pub name: String,
    /// Nominal value: of its description, else the least of the inputs that it feeds, else 1 (FMI 2.0 §2.2.7).
    pub nominal: f64,
    /// It changes at events only.
    pub is_discrete: bool,
}

impl ControlledOutput {
    /// All real outputs of a system.
    pub(crate) fn all(graph: &Graph) -> Vec<Self> {
        let of = |(index, output): (usize, &crate::graph::Output)| {
            let component = &graph.components[output.component];
            Self {
                name: graph.output_name(index),
                nominal: graph.nominal_output(index).unwrap_or(1.0),
                is_discrete: component.description.variables[output.variable].is_discrete,
            }
        };
        graph.outputs.iter().enumerate().map(of).collect()
    }
}

/// Decision of a step control after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StepDecision {
    /// Go on with steps of this size, s.
    Continue(f64),
    /// Make the step again from the state before it: with this size, s, in so many equal parts that are shown as one
    /// communication point. The same step is made again only in more parts than before. If the step cannot be made
    /// again, or not shorter, it stands, and the next ones have this size.
    Redo {
        /// Size of the whole step, s.
        size: f64,
        /// Equal parts, at most as many as the [facts](StepControlFacts::parts) allow.
        parts: u32,
    },
}

/// Facts about a step control before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepControlFacts {
    /// All steps but the last are the experiment's macro-step.
    pub is_fixed: bool,
    /// It looks at power bonds and needs at least one.
    pub needs_bonds: bool,
    /// It may ask for a [repetition](StepDecision::Redo).
    pub may_repeat: bool,
    /// Besides, it is useless if steps cannot be made again: units that cannot go back are refused.
    pub always_repeats: bool,
    /// Greatest number of equal parts in which it has steps made; 0 and 1: as a whole only.
    pub parts: u32,
    /// The last step may go beyond the stop time instead of being shortened.
    pub may_overshoot: bool,
    /// The time of a step is the sum of the steps before it instead of a point of the clock.
    pub sums_time: bool,
    /// Reason why its parameters do not go together, in words that follow `step control NAME: `; the system is refused.
    pub contradiction: Option<&'static str>,
}

impl Facts for StepControlFacts {
    fn needs(&self) -> Vec<Need> {
        where_true([
            (Need::AnyStepSize, !self.is_fixed),
            (Need::PowerBonds, self.needs_bonds),
            (Need::SavedStates, self.may_repeat),
            (Need::EveryMacroStep, self.may_repeat),
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
    /// Begins a run, at its start. Returns the size of the first step, s.
    fn first(&mut self, system: &ControlledSystem<'_>) -> f64;

    /// The size of the steps after the one that was made.
    fn next(&mut self, audit: &StepAudit<'_>) -> StepDecision;

    /// A step of this size, s, cannot be made: a unit discards it, or an output is NaN or infinite. Returns the smaller
    /// size with which it is made again from the state before it, if it can be; `None`, the default, ends the run.
    fn refused(&mut self, size: f64) -> Option<f64> {
        let _ = size;
        None
    }

    /// Sentences for the warnings of the report.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Signals that it records at each communication point: names and values.
    fn signals(&self) -> &[(&'static str, f64)] {
        &[]
    }

    /// Another one in the same state, for a [`Snapshot`](crate::Snapshot); `None`, the default, if there can be
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
pub const STEP_CONTROLS: &[Entry<dyn StepControl>] = &[
    fixed::ENTRY,
    ecco::ENTRY,
    richardson::ENTRY,
    zero_crossing::ENTRY,
    bounded_difference::ENTRY,
];
