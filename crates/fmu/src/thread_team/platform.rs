//! Atomics and sleep, which the model check has in place of these.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, fence};
pub(crate) use std::sync::{Mutex, PoisonError};
pub(crate) use std::thread::{Thread, current, park};
