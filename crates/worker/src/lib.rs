//! Runs simulations in processes of their own, so that an FMU that crashes, hangs or leaves takes
//! nothing with it.
//!
//! Works on Linux; elsewhere nothing is offered yet and runs stay in the process of the caller.

#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod shared_memory;

#[cfg(target_os = "linux")]
pub use channel::{Channel, MAX_FILES, MAX_MESSAGE, Received};
#[cfg(target_os = "linux")]
pub use shared_memory::{Shareable, SharedMemory, wait, wake};
