//! Examines how a system is coupled, by runs of it.
//!
//! The verb `doctor` calls it, and starts the runs for it. It never writes a file.
//!
//! [`examine`] finds whether the coupling is stable at the macro-step of the system, and up to which one. It finds how the
//! coupling error depends on the macro-step, and which other method, exchange, extrapolation or correction has a smaller one.
//! Short runs suggest; whole runs decide on stability, and on every proposal. [`rewrite`] puts a proposal into a system file,
//! whose comments stay.
//!
//! Why whole runs in pairs, and which rules were dropped: docs/dev/coupling.md. A coupling's cost is the number of
//! steps of units, not the time that was measured, so that the proposal is the same on every machine.

mod accuracy;
mod coupling;
mod disturbance;
mod examine;
mod gains;
mod modes;
mod probe;
mod rewrite;
mod stability;
mod transfer;
mod verification;

pub use accuracy::{Accuracy, SignalError};
pub use coupling::Coupling;
pub use examine::{BondSlope, Candidate, Diagnosis, Options, Proposal, examine};
pub use gains::{BondMargins, LoopGain};
pub use probe::{ExamineError, Limits, StartRuns};
pub use rewrite::{RewriteError, rewrite};
pub use stability::{Finding, Level, Stability};
pub use transfer::HostTime;
pub use verification::Verification;
