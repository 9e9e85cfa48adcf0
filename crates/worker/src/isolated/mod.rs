//! Components in processes of their own: one worker per FMU, over shared memory.
//!
//! | file | what it is |
//! |---|---|
//! | `maker.rs` | which components get a process, and how it is made: [`Isolation`] |
//! | `link.rs` | the way to a process that hosts an FMU, which may lead to another machine |
//! | `served.rs` | a process of this kind for a run on another machine |
//! | `unit.rs` | the component as the run sees it; `read_ahead.rs`: the outputs that come with a step |
//! | `journal.rs` | the requests repeated to a new worker after the old one was lost |
//! | `connection.rs` | the worker's process as the run sees it |
//! | `host.rs` | the worker's own side |
//! | `mailbox.rs` | messages through shared memory; `wait_policy.rs`: spinning and sleeping |
//! | `request.rs`, `reply.rs` | what is in the messages; `bytes.rs`: numbers and texts |
//! | `log_lines.rs` | the FMU's log on its way to the run |
//!
//! A step is one message there and one back: the inputs, their derivatives, the step, and the reads
//! that followed the last step. Everything else is a message of its own.
//!
//! Neither side trusts the other: a message of a process that an FMU has broken is an error, never a
//! panic ([`check_request`], [`check_reply`]).
//!
//! A typical FMU computes for 0.2 µs in a step. Pipes, sockets and sleeping on a futex take 3 to 50 µs a round trip,
//! most of it for waking a process; two sides that spin on shared memory take 0.2 µs, with all that is in the
//! message. Reads are sent ahead only as often as the run made them before: one read more could change the bits of an
//! FMU that iterates from its last value.

mod bytes;
mod calls;
mod connection;
mod host;
mod hosted;
mod journal;
mod layout;
mod link;
mod log_lines;
mod mailbox;
mod maker;
mod read_ahead;
mod reply;
mod request;
mod served;
mod unit;
mod wait_policy;

pub use bytes::Malformed;
pub(crate) use host::serve_if_asked;
pub use link::{Host, Link, Loss, NotStarted};
pub use log_lines::pass_on as pass_log_on;
pub use maker::Isolation;
pub use reply::check_reply;
pub use request::{Request, check_request};
pub use served::{Progress, ServedFmu, ServedProcess};
pub use unit::IsolatedUnit;

/// The role of a worker that hosts one component.
const ROLE: &str = "isolated";
