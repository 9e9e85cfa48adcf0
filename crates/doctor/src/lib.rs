//! Examines how a system is coupled, by runs of it.
//!
//! [`examine`] finds whether the coupling is stable at the macro-step of the system and up to which one, how the error of the
//! coupling depends on the macro-step, and which other method, exchange, extrapolation or correction has a smaller one. Short
//! runs suggest; whole runs decide on stability, and on every proposal. [`rewrite`] puts a proposal into a system file, whose
//! comments stay.

#![forbid(unsafe_code)]

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
