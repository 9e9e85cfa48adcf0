//! The live page of a run, for a browser that follows the run and sends commands.
//!
//! ```text
//!  the thread that steps            threads of the run's process       the process with the server
//!  SignalSink ──ring of buckets──▶  RunEnd ────── lines of JSON ─────▶ ServerEnd ─▶ Events ─▶ each browser
//!  Run::act ◀──── commands ───────  RunEnd ◀───── lines of JSON ────── Server ◀──── POST
//! ```
//!
//! The thread that steps puts each row into a [bucket](Bucket): least and greatest value of each signal over a stretch of
//! time. It hands a bucket over when that is full or wanted, and neither waits, nor locks, nor allocates; where the ring
//! has no room, the bucket grows. All that a browser may delay happens in the process with the server, where a
//! connection that reads too slowly is closed. The two ends are joined by a pair of sockets, so that the server may be
//! in the parent of a supervised run and survive the run's process.
//!
//! Neither a line of a run, whose memory an FMU may have overwritten, nor a request is taken for more than bytes before
//! it was read as what it should be.

#![cfg(unix)]
#![forbid(unsafe_code)]

mod address;
mod bucket;
mod command;
mod events;
mod history;
mod lines;
mod message;
mod request;
mod run_end;
mod server;
mod server_end;
mod signal_sink;
mod token;

/// The script that a page follows a run with. It draws by `gyrator.replace`, where the page has that.
pub const SCRIPT: &str = include_str!("../assets/live.js");

/// A page without drawings.
pub fn plain_page() -> String {
    include_str!("../assets/page.html").replace("{{script}}", SCRIPT)
}

pub use address::{Address, AddressError};
pub use bucket::{Bucket, Extremes};
pub use command::{Command, CommandValue};
pub use events::Draw;
pub use message::{Answer, Begin, End, Message, Signal, State, Table, Writable};
pub use request::{Limits, Refusal, Request, read_request};
pub use run_end::RunEnd;
pub use server::{ListenError, Listener, Serving};
pub use signal_sink::{SignalSink, Signals};
