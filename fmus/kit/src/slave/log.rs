//! Log messages and their categories.

use fmi2_abi::Status;

use crate::description::LOG_CATEGORIES;

/// Receives status, category and text of a message.
pub(crate) type Sink = Box<dyn Fn(Status, &'static str, &str)>;

const STATE_CHANGES: usize = 4;

/// Decides which messages are sent.
///
/// The reason of a call that failed and notes are always sent; warnings and debug messages only if
/// logging is on for their category.
pub(super) struct Log {
    enabled: [bool; LOG_CATEGORIES.len()],
    sink: Sink,
}

impl Log {
    pub(super) fn new(on: bool, sink: Sink) -> Self {
        Self {
            enabled: [on; LOG_CATEGORIES.len()],
            sink,
        }
    }

    /// Switches the named categories, or all when none is named; names must exist.
    pub(super) fn select(&mut self, on: bool, categories: &[&str]) -> Result<(), String> {
        if categories.is_empty() {
            self.enabled.fill(on);
        }
        for wanted in categories {
            let found = LOG_CATEGORIES.iter().position(|(name, _)| name == wanted);
            let index = found.ok_or_else(|| format!("there is no log category {wanted}"))?;
            self.enabled[index] = on;
        }
        Ok(())
    }

    /// Says why a call returned `status`.
    pub(super) fn status(&self, status: Status, message: &str) {
        let category = match status {
            fmi2_abi::WARNING => 0,
            fmi2_abi::DISCARD => 1,
            fmi2_abi::ERROR => 2,
            _ => 3,
        };
        if status != fmi2_abi::WARNING || self.enabled[category] {
            (self.sink)(status, LOG_CATEGORIES[category].0, message);
        }
    }

    /// Says what the user has to know, also if logging is off.
    pub(super) fn note(&self, message: &str) {
        (self.sink)(fmi2_abi::WARNING, LOG_CATEGORIES[0].0, message);
    }

    /// Notes a change of the call state.
    pub(super) fn state_change(&self, state: &str) {
        if self.enabled[STATE_CHANGES] {
            let message = format!("state: {state}");
            (self.sink)(fmi2_abi::OK, LOG_CATEGORIES[STATE_CHANGES].0, &message);
        }
    }
}
