//! A clock by which several threads are always worth it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use gyrator::StepClock;

/// A clock on which a millisecond passes between any two looks: units take long by it, and a step on several threads is one look
/// long. So the threads of [`RunOptions`](gyrator::RunOptions) step the units from the sixth macro-step on, however short they are.
pub fn ticking() -> StepClock {
    let looks = AtomicU32::new(0);
    StepClock::new(move || Duration::from_millis(looks.fetch_add(1, Ordering::Relaxed).into()))
}
