//! Runs simulations in their own processes, so that an FMU that crashes, hangs or exits ends nothing else.
//!
//! The command line, the validator and remote hosts call it. The parent loads no FMU, and trusts nothing in the
//! shared memory to be more than bits.
//!
//! A supervised run has two processes. The parent is the program that the user started. The one worker is a copy of
//! it, or the same program started again, and does all the work as without a parent.
//! They share memory with the present call of each FMU, the progress of the run, and the rows of the result that are
//! not yet on disk. A step costs these notes and a second copy of its row; the parent looks at the worker fifty times
//! a second, and measures each step if the worker's memory has grown much. When the worker dies, the parent reports
//! which FMU it was, in which call and when, writes the last rows, and removes what the worker had unpacked.
//!
//! A component of a run can have a process of its own besides ([`isolated`]), a child of the process
//! that carries out the run. The calls to an FMU can be recorded and made again ([`replay`]), in any process.
//!
//! A program calls [`hook`] first thing in its `main`, then [`Supervisor::supervise`] for each run, or
//! [`Supervisor::fork`] inside of [`end_if_worker`].
//! Without these a run stays in the process of the caller, which is what the library
//! [`gyrator`](https://docs.rs/gyrator) does by itself.
//!
//! Linux only: elsewhere the crate is empty.

#![cfg(target_os = "linux")]

mod address_space;
mod board;
mod channel;
mod crash_handler;
mod death;
mod descendants;
mod equipment;
pub mod isolated;
mod kept_file;
mod leaving;
mod memory_watch;
mod process;
pub mod replay;
mod rows;
mod shared_memory;
pub mod signals;
mod stall;
mod supervisor;
pub mod surroundings;
mod worker;

pub use address_space::{met_limit, tell_panics_apart};
pub use board::Position;
pub use channel::{Channel, MAX_FILES, MAX_MESSAGE, Received};
pub use death::{Cause, Death, Place};
pub use descendants::{adopt_orphans, end_orphans};
pub use kept_file::KeptFile;
pub use leaving::{before_exit_of_fmus, program_ends, report_exit_of_fmus};
pub use process::raise_descriptor_limit;
pub use shared_memory::{Shareable, SharedMemory, wait, wake};
pub use supervisor::{GRACE, KeptResults, Stop, Supervised, Supervisor, WorkerEnd, WorkerOutcome};
pub use worker::{Worker, end_if_worker, hook};
