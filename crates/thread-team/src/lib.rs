//! Persistent threads for work that is handed out every few microseconds.
//!
//! The engine calls it, and workers use its waits. It never decides what work there is, nor in which order results
//! are used.
//!
//! Between two rounds of work they spin for a short time and then sleep, so that a machine with other work keeps its cores. The
//! thread that hands out the work does it, too, and never waits for one that has not come: a helper that sleeps or has lost its
//! core costs no more than the attempt to wake it.

#![doc = include_str!("../README.md")]

mod gate;
mod platform;
mod team;
mod wait_policy;

pub use team::ThreadTeam;
pub use wait_policy::WaitPolicy;
