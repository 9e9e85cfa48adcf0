//! The calls to an FMU, recorded with their answers and made again, so that a fault of one FMU can be shown without
//! the system around it.
//!
//! The command line calls it. A recording changes no value of a run.
//!
//! [`RecordCalls`] makes the units of a run and lets each write its [`Recording`]; [`replay`] makes the calls
//! of one again, with a recorder of its own, and [`compare`] finds the differences between the two.

mod call;
mod comparison;
mod fingerprint;
mod recorder;
mod recording;
mod replaying;
#[cfg(test)]
mod tests;

pub use call::{Answer, Call, Datum};
pub use comparison::{Agreement, Comparison, Difference, Exchange, compare};
pub use fingerprint::fingerprint;
pub use recorder::{CallRecorder, RecordCalls};
pub use recording::{CallLog, Head, ReadError, Recording};
pub use replaying::{Replayed, replay};
