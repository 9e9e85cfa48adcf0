//! A value that waits for the communication step of its component. The run gives it when it is due.

use crate::unit::{Handle, Value};

/// A value that a component receives with its next communication step.
#[derive(Clone)]
pub(crate) struct HeldValue {
    pub(crate) component: usize,
    pub(crate) handle: Handle,
    pub(crate) value: Value,
    /// The macro-step with which that communication step begins.
    pub(crate) from: u64,
}
