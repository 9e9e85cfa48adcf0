//! How long to spin before going to sleep.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

/// Looks between two looks at the clock.
const LOOKS: u32 = 32;
/// Divisor of the longest time that gives the shortest, where spinning has not helped for long.
const LEAST: u32 = 16;

/// Spins for a while, for as long as that has helped lately.
///
/// Sleeping and being woken takes some microseconds on a core that both sides share, and tens of
/// them from an idle core: many times what most FMUs compute in a step. Spinning takes a core.
#[derive(Debug, Clone)]
pub(super) struct WaitPolicy {
    longest: Duration,
    current: Duration,
}

impl WaitPolicy {
    /// Spins for `longest` at most; zero never spins.
    pub(super) fn new(longest: Duration) -> Self {
        Self {
            longest,
            current: longest,
        }
    }

    /// Spins until `is_there`; false if that has taken too long.
    #[inline]
    pub(super) fn spin(&mut self, is_there: impl Fn() -> bool) -> bool {
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

/// Longest spinning times of the run and its workers, given the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spinning {
    /// Longest time that the run spins for an answer.
    pub(super) run: Duration,
    /// Longest time that a worker spins for its next message.
    pub(super) worker: Duration,
}

impl Spinning {
    /// Longer than what the other components of a system usually take between two messages.
    const LONG: Duration = Duration::from_micros(100);

    /// Where every worker and every thread of the run has a core, all spin. Where only one of the
    /// workers has one while the run waits for it, the run spins, and the workers leave their core
    /// to each other. On one core there is no spinning.
    pub(super) fn on(cores: usize, workers: usize, threads: usize) -> Self {
        let threads = threads.max(1);
        let spin_if = |enough: bool| if enough { Self::LONG } else { Duration::ZERO };
        Self {
            run: spin_if(cores > threads),
            worker: spin_if(cores >= workers + threads),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_spins_follows_the_cores() {
        let spins = |cores, workers, threads| {
            let spinning = Spinning::on(cores, workers, threads);
            (!spinning.run.is_zero(), !spinning.worker.is_zero())
        };
        assert_eq!(spins(1, 1, 1), (false, false));
        assert_eq!(spins(2, 1, 1), (true, true));
        assert_eq!(spins(2, 2, 1), (true, false));
        assert_eq!(spins(4, 3, 0), (true, true));
        assert_eq!(spins(4, 2, 4), (false, false));
    }

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
