//! How outputs with direct feed-through are exchanged: stale, fresh or compensated.
//!
//! An output that depends on an input at the same instant is read after a step with the input of
//! that step still in it. Passed on like this it is *stale*, and a stale force makes energy from
//! nothing. *Fresh* sets the new inputs and reads the output again; FMI 2.0 forbids that order
//! between steps (§4.2.4, C-28), so it is for units that declare it safe, or on request.
//! *Compensated* adds D·(u − ũ), D being the derivative of the output by the input, and stays
//! within the standard. Outputs that depend on each other at one instant form an *algebraic loop*, which is solved at
//! each communication point.

mod algebraic_loop;
mod auto;
mod choice;
mod compensated;
pub(crate) mod derivative;
mod fresh;
mod hidden_feedthrough;
mod linear_equations;
mod loop_report;
mod loop_units;
mod modes;
mod plan;
mod probe;
mod probing;
pub(crate) mod refresh;
mod review;
mod sense;
mod stale;
mod step_response;
#[cfg(test)]
mod tests;
mod trial;
mod two_steps;

pub(crate) use choice::{declares_safe, select_exchange};
pub(crate) use hidden_feedthrough::{Untried, mark_hidden};
pub(crate) use linear_equations::{factor, solve};
pub(crate) use loop_report::{loop_reports, loop_warnings, loop_words, unsolved_at_start};
pub use modes::EXCHANGE_MODES;
pub(crate) use modes::{Words, exchange_of, mode_of};
pub(crate) use plan::{Pass as InitialPass, Stage, exchange_passes, initial_stages};
pub(crate) use probe::Gains;
pub(crate) use probing::CentralDifference;
pub(crate) use refresh::prepare_passes;
pub(crate) use sense::{OpenSenses, likely_wrong_senses};
