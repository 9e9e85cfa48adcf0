//! Shared by the tests of gyrator: models as units in process, a system with a closed-form
//! solution, a spy that watches the order of calls, and the conformance suite.
//!
//! Tests of other packages call it. No program is linked with it.

#![forbid(unsafe_code)]

mod combination;
#[cfg(test)]
mod conformance;
mod double_oscillator;
#[cfg(test)]
mod element;
mod extrapolations;
mod fmu_fixture;
mod model_unit;
mod random_system;
mod sharing_fmu;
mod spy;
mod step_outputs;
mod ticking;
mod trace;

pub use combination::Combination;
pub use double_oscillator::{Coupling, DoubleOscillator, Metrics, OscillatorState, TABLE_1};
pub use extrapolations::{extrapolations_of_any_step, needs_substeps};
pub use fmu_fixture::fmu;
pub use model_unit::ModelUnit;
pub use random_system::{Abilities, ElementKind, RandomSystem, Reach};
pub use sharing_fmu::sharing_fmu;
pub use spy::{GivenInputs, Spied, Spy};
pub use step_outputs::StepOutputs;
pub use ticking::ticking;
pub use trace::Trace;
