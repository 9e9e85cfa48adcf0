//! Runs simulations in processes of their own, so that an FMU that crashes, hangs or leaves takes
//! nothing with it.
//!
//! A supervised run has two processes: the parent, which is the program that the user started, and
//! one worker, which is a copy of it or the same program once more, and does all the work as it would
//! be done without a parent. Between the two lies shared memory: what each FMU is doing, how far the run
//! is, and the rows of the result that are not yet on disk. A step costs the notes in it, and a second
//! copy of its row; besides, the parent looks at the worker fifty times a second, and where the
//! worker's memory has grown much, each step is measured. When the worker dies, the parent reports
//! which FMU it was, in which call and when, writes the last rows, and removes what the worker had
//! unpacked.
//!
//! A component of a run can have a process of its own besides ([`isolated`]), a child of the process
//! that carries out the run.
//!
//! A program calls [`hook`] first thing in its `main`, then [`Supervisor::supervise`] for each run, or
//! [`Supervisor::fork`] inside of [`end_if_worker`].
//! Without these a run stays in the process of the caller, which is what the library
//! [`gyrator`](https://docs.rs/gyrator) does by itself.
//!
//! Works on Linux; elsewhere there is nothing here yet.

#![cfg(target_os = "linux")]

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
mod rows;
mod shared_memory;
pub mod signals;
mod stall;
mod supervisor;
pub mod surroundings;
mod worker;

pub use board::Position;
pub use channel::{Channel, MAX_FILES, MAX_MESSAGE, Received};
pub use death::{Cause, Death, Place};
pub use descendants::{adopt_orphans, end_orphans};
pub use kept_file::KeptFile;
pub use leaving::{program_ends, report_exit_of_fmus};
pub use shared_memory::{Shareable, SharedMemory, wait, wake};
pub use supervisor::{GRACE, KeptResults, Stop, Supervised, Supervisor, WorkerEnd, WorkerOutcome};
pub use worker::{Worker, end_if_worker, hook};
