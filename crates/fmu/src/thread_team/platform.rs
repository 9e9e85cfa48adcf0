//! Atomics and sleep, which the model check replaces by its own.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, fence};
pub(crate) use std::sync::{Mutex, PoisonError};
pub(crate) use std::thread::{Thread, current, park};
