//! Persistent threads for work that is handed out every few microseconds.
//!
//! The engine calls it, and workers use its waits. It never decides what work there is, nor in which order results
//! are used.
//!
//! Between two rounds of work they spin for a short time and then sleep, so that a machine with other work keeps its cores. The
//! thread that hands out the work also does its share, and never waits for one that has not come. A helper that sleeps or has
//! lost its core costs no more than the attempt to wake it.
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
//!
//! let mut team = gyrator_fmu::thread_team::ThreadTeam::start(1)?;
//! let (next, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
//! team.run(&|| {
//!     // Each thread takes the next piece of work until there is none.
//!     while let piece @ ..100 = next.fetch_add(1, Relaxed) {
//!         sum.fetch_add(piece, Relaxed);
//!     }
//! });
//! assert_eq!(sum.into_inner(), 4950);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! It is here because threads that stay borrow the work of a round: that is `unsafe`, which the engine forbids.

mod gate;
mod platform;
mod team;
mod wait_policy;

pub use team::ThreadTeam;
pub use wait_policy::WaitPolicy;
