//! A clock by which several threads are always worth it.

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use gyrator::StepClock;

/// A clock on which each look comes 3 % sooner than the one before: units take long by it, and steps that are measured later are
/// faster, which are those on several threads. So the threads of [`RunOptions`](gyrator::RunOptions) step the units from the
/// ninth macro-step on, however short they are.
pub fn ticking() -> StepClock {
    let looks = AtomicI32::new(0);
    StepClock::new(move || {
        let look = looks.fetch_add(1, Ordering::Relaxed);
        Duration::from_secs_f64(1e9 * (1.0 - 0.97_f64.powi(look)))
    })
}
