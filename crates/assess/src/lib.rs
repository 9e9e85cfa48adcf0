//! Judges runs: estimates errors of a result, and checks requirements on it.
//!
//! The command line, studies and Python call it. It changes no run; only the [`doctor`] makes some, and its caller starts them.
//!
//! [`assess`] estimates the error of every signal of a run from two companions, runs of the same system
//! [at other macro-steps](at_other_step), and [`verdict`] puts them into one word. [`Checks`] are requirements on signals, energies and the verdict of a run, which
//! [`Judging`] looks at while it goes on. The [`doctor`] examines how a system is coupled, and proposes better words.

#![forbid(unsafe_code)]

pub mod checks;
mod companions;
mod divergence;
pub mod doctor;
mod error_bars;
mod grid;
mod other_step;
mod size;
mod verdict;
mod verification;

pub use checks::{Check, Checks, EnergyLimit, Finding, Judging, Outcome, Recording};
pub use companions::{Assessment, NoRows, assess};
pub use divergence::{Decision, Difference, decide};
pub use error_bars::{ErrorBar, Levels, Results, error_bars};
pub use other_step::at_other_step;
pub use verdict::verdict;
pub use verification::{Comparing, Course, Keeper, Kept, Verification};
