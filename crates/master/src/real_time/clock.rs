//! The clock that a run keeps step with.

use std::time::{Duration, Instant};

/// A clock that never goes back.
pub(super) trait Clock: Send {
    /// Time since any fixed moment.
    fn now(&self) -> Duration;

    /// Gives the core away for about so long.
    fn sleep(&self, duration: Duration);

    /// Passes a moment on the core.
    fn spin(&self);
}

/// The clock of the machine (`CLOCK_MONOTONIC`).
pub(super) struct MonotonicClock(Instant);

impl MonotonicClock {
    pub(super) fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn spin(&self) {
        std::hint::spin_loop();
    }
}
