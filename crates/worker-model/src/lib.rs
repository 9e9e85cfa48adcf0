//! Model check of the memory that the processes of a run share: the mailbox, the ring of log lines
//! and the notes on the rows of the result.
//!
//! Their files in `crates/worker` are compiled here a second time, as they are. Only what they import
//! differs: `shared_memory.rs` has the atomics of loom and a futex made of its locks, and
//! `isolated/layout.rs` has lengths of a few bytes. loom runs each scenario in every order of the
//! threads with two preemptions, and with every value that a load may return under the memory model of C11.
//!
//! The package has no unit tests of its own: those of the files would be among them.

#![forbid(unsafe_code)]
#![cfg_attr(
    feature = "loom",
    expect(
        clippy::missing_panics_doc,
        reason = "a scenario panics where it does not hold"
    )
)]

#[cfg(feature = "loom")]
mod isolated;
#[cfg(feature = "loom")]
#[path = "../../worker/src/rows.rs"]
mod rows;
#[cfg(feature = "loom")]
mod rows_scenarios;
#[cfg(feature = "loom")]
mod shared_memory;

#[cfg(feature = "loom")]
pub use {isolated::scenarios::*, rows_scenarios::*, shared_memory::Orderings};

#[cfg(feature = "loom")]
pub(crate) use shared_memory::shareable;
