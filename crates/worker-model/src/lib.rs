//! Model check of the memory that the processes of a run share: the mailbox, the ring of log lines
//! and the notes on the rows of the result.
//!
//! Its own tests call it, with the feature `loom`. No other package uses it.
//!
//! Their files in `crates/worker` are compiled here a second time, as they are. Only what they import
//! differs: `shared_memory.rs` has the atomics of loom and a futex made of its locks, and
//! `isolated/layout.rs` has lengths of a few bytes. loom runs each scenario in every order of the
//! threads with two preemptions, and with every value that a load may return under the memory model of C11.
//!
//! All of this is left out of this package's own unit tests, into which those of the files would come.
//!
//! A wrong ordering shows in one order of two threads among thousands, on processors that few test machines have.
//! loom takes `SeqCst` accesses for acquire and release, so its models carry out each by a fence. Because the files
//! are compiled a second time, the code has no `cfg(loom)`, no type parameter for atomics, and no second build of all
//! other crates. loom itself is built only with the feature of this package.

#![forbid(unsafe_code)]
#![cfg_attr(
    all(feature = "loom", not(test)),
    expect(
        clippy::missing_panics_doc,
        reason = "a scenario panics where it does not hold"
    )
)]

#[cfg(all(feature = "loom", not(test)))]
mod isolated;
#[cfg(all(feature = "loom", not(test)))]
#[path = "../../worker/src/rows.rs"]
mod rows;
#[cfg(all(feature = "loom", not(test)))]
mod rows_scenarios;
#[cfg(all(feature = "loom", not(test)))]
mod shared_memory;

#[cfg(all(feature = "loom", not(test)))]
pub use {isolated::scenarios::*, rows_scenarios::*, shared_memory::Orderings};

#[cfg(all(feature = "loom", not(test)))]
pub(crate) use shared_memory::shareable;
