//! Methods: which units are fed, stepped and published in which order.
//!
//! A method that passes on outputs of a step that is not over declares it ([`MethodFacts::looks_ahead`]). A unit that
//! steps after another may then receive the other's values up to the end of its communication step. The conformance
//! suite checks each method against its declaration. Published outputs never run ahead: values passed on within a
//! macro-step are kept beside them. A slow unit that is fed by faster ones steps when the last macro-step of its
//! communication step is made, so that it can receive all of theirs; in between the difference cannot be seen.
//!
//! The start of a system asks a method for its plan once. A method never steps a unit by itself.

mod auto;
mod gauss_seidel;
mod iterative;
mod jacobi;
mod linear_implicit;
mod loops;
mod mean_force;
mod serial;

pub(crate) use auto::choice;

pub use crate::curve::Curve;
use crate::need::{Facts, Need, where_true};
pub use crate::plan::{Broken, Draft, Effect, Instant, Phase, Rule, Stage, StageView, Store};
use crate::registry::{Entry, EntryKind};
pub use crate::step::Step;

/// Facts about a method before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MethodFacts {
    /// An input may carry outputs of the end of its source's communication step before that is
    /// over: if components are stepped one after the other.
    pub looks_ahead: bool,
    /// Such an input carries means over the step, and not the values of its end.
    pub passes_means: bool,
    /// Components that feed each other make steps again: they save and restore their states, and step with the macro-step.
    pub iterates: bool,
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

/// Plans a macro-step: which units are fed, stepped and published in which order.
pub trait Method: Send {
    /// Writes the plan of a macro-step for the system of the draft.
    fn plan(&self, draft: &mut Draft<'_>);
}

/// Every method, by its word in a system file.
pub const METHODS: &[Entry<dyn Method>] = &[
    jacobi::ENTRY,
    gauss_seidel::ENTRY,
    mean_force::ENTRY,
    iterative::ENTRY,
    linear_implicit::ENTRY,
    auto::ENTRY,
];
