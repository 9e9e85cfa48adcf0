//! The live page of a run, for a browser that follows the run and sends commands.
//!
//! The command line calls it. It never lets a browser hold up the run.
//!
//! ```text
//!  the thread that steps            threads of the run's process       the process with the server
//!  SignalSink ──ring of buckets──▶  RunEnd ────── lines of JSON ─────▶ ServerEnd ─▶ Events ─▶ each browser
//!  Run::act ◀──── commands ───────  RunEnd ◀───── lines of JSON ────── Server ◀──── POST
//! ```
//!
//! The thread that steps puts each row into a [bucket](Bucket): least and greatest value of each signal over a stretch
//! of time. It hands a bucket over when that is full or wanted, and neither waits, nor locks, nor allocates; if the ring
//! has no room, the bucket grows. All that a browser may delay happens in the process with the server, where a
//! connection that reads too slowly is closed. The two ends are joined by a pair of sockets, so that the server may be
//! in the parent of a supervised run and survive the run's process.
//!
//! Neither a line of a run, whose memory an FMU may have overwritten, nor a request is taken for more than bytes before
//! it was read as what it should be.
//!
//! The server is in the parent so that it shows the crash of an FMU, and no FMU can reach its sockets. The worker
//! sends one end of a pair of sockets over the channel that there is; a run without a supervisor joins the two ends
//! in one process. A ring of rows would have to drop some when it is full, and peaks with them; here the bucket in
//! progress grows instead. The report is made on the thread that steps, since it looks at the whole state of the run,
//! two and a half times a second; another thread makes its JSON. Drawings are made for all browsers together, and
//! only if there is one.
//!
//! An override acts from the next communication point on, as an action of a scenario does that begins there, so that
//! the scenario of the summary makes the same bits.

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

/// The script that a page follows a run with. It draws by `gyrator.replace`, if the page has that.
pub const SCRIPT: &str = include_str!("assets/live.js");

/// A page without drawings.
pub fn plain_page() -> String {
    include_str!("assets/page.html").replace("{{script}}", SCRIPT)
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
