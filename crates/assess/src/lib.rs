//! Judges runs: how far a result can be trusted.
//!
//! [`error_bars`] estimates the error of every signal of a run from two companions: runs of the same system
//! [at other macro-steps](at_other_step).

#![forbid(unsafe_code)]

mod error_bars;
mod other_step;

pub use error_bars::{ErrorBar, Levels, Results, error_bars};
pub use other_step::at_other_step;
