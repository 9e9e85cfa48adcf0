//! How long to spin before going to sleep.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

/// Looks between two looks at the clock.
const LOOKS: u32 = 32;
/// The longest time divided by this is the shortest, used if spinning has not helped for long.
const LEAST: u32 = 16;

/// Spins for a while, for as long as that has helped lately.
///
/// Sleeping and being woken takes some microseconds on a core that both sides share, and tens of
/// them from an idle core: many times what most FMUs compute in a step. Spinning takes a core.
#[derive(Debug, Clone)]
pub struct WaitPolicy {
    longest: Duration,
    current: Duration,
}

impl WaitPolicy {
    /// Spins for `longest` at most; zero never spins.
    pub fn new(longest: Duration) -> Self {
        Self {
            longest,
            current: longest,
        }
    }

    /// Spins until `is_there`; false if that has taken too long.
    #[inline]
    pub fn spin(&mut self, is_there: impl Fn() -> bool) -> bool {
        if is_there() {
            return true;
        }
        if self.longest.is_zero() {
            return false;
        }
        for _ in 0..LOOKS {
            spin_loop();
            if is_there() {
                return true;
            }
        }
        self.spin_by_the_clock(is_there)
    }

    fn spin_by_the_clock(&mut self, is_there: impl Fn() -> bool) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < self.current {
            for _ in 0..LOOKS {
                spin_loop();
                if is_there() {
                    self.current = self.longest;
                    return true;
                }
            }
        }
        self.current = (self.current / 2).max(self.longest / LEAST);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_wears_off_and_comes_back() {
        let mut wait_policy = WaitPolicy::new(Duration::from_micros(160));
        for _ in 0..8 {
            assert!(!wait_policy.spin(|| false));
        }
        assert_eq!(wait_policy.current, Duration::from_micros(10));
        let looks = std::cell::Cell::new(0);
        let later = || looks.replace(looks.get() + 1) > 2 * LOOKS;
        // The clock may pass on a busy machine before enough looks were taken.
        if wait_policy.spin(later) {
            assert_eq!(wait_policy.current, Duration::from_micros(160));
        }
        assert!(!WaitPolicy::new(Duration::ZERO).spin(|| false));
    }
}
