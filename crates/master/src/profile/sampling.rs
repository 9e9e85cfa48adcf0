//! Which macro-steps are timed, and the time of all calls from the time of some.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::seconds;

/// Macro-steps at the start of a run that are all timed: a short run is measured as a whole, and the first macro-steps are slower.
const FIRST: u64 = 64;

/// Of so many macro-steps after them one is timed.
const INTERVAL: u64 = 16;

/// Of 2⁶⁴ parts.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mean time, ns, from which on each call is timed: two looks at the clock, some 50 ns, are 5 % of it.
const LONG: u64 = 1000;

/// Least time, ns, and least multiple of the mean, of a call that stands for itself alone even in a sample: another program had the
/// core meanwhile, or the call does something rare.
const RARE: (u64, u64) = (10_000, 16);

/// What is timed in a macro-step, or outside of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timing {
    /// Everything, for itself alone.
    All,
    /// Everything, also for the macro-steps that are not timed.
    Sample,
    /// Calls that take long.
    Long,
}

impl Timing {
    /// Timing of a macro-step by its number.
    pub(super) const fn of(macro_step: u64) -> Self {
        let Some(later) = macro_step.checked_sub(FIRST) else {
            return Self::All;
        };
        // Multiples of the golden ratio: at another place in each block, and not in step with what a run does every so many
        // macro-steps.
        let place = (later / INTERVAL).wrapping_mul(GOLDEN_RATIO) / (u64::MAX / INTERVAL + 1);
        match later % INTERVAL == place {
            true => Self::Sample,
            false => Self::Long,
        }
    }
}

/// The timing that all threads of a run see.
#[derive(Debug)]
pub(super) struct SharedTiming(AtomicU8);

impl SharedTiming {
    pub(super) const fn new() -> Self {
        Self(AtomicU8::new(Timing::All as u8))
    }

    #[inline]
    pub(super) fn get(&self) -> Timing {
        const SAMPLE: u8 = Timing::Sample as u8;
        const LONG: u8 = Timing::Long as u8;
        match self.0.load(Ordering::Relaxed) {
            SAMPLE => Timing::Sample,
            LONG => Timing::Long,
            _ => Timing::All,
        }
    }

    pub(super) fn set(&self, timing: Timing) {
        self.0.store(timing as u8, Ordering::Relaxed);
    }
}

/// Calls of one kind: how many, and the times of some. There is one writer at a time.
#[derive(Debug, Default)]
pub(super) struct Tally {
    calls: AtomicU64,
    /// Each of these calls stands for itself.
    all: Timed,
    /// These calls stand for those that were not timed as well.
    sample: Timed,
}

/// Calls that were timed.
#[derive(Debug, Default)]
struct Timed {
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

/// For which calls a timed one stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    Alone,
    ForOthers,
}

#[inline]
fn add(sum: &AtomicU64, term: u64) {
    sum.store(get(sum) + term, Ordering::Relaxed);
}

#[inline]
fn get(sum: &AtomicU64) -> u64 {
    sum.load(Ordering::Relaxed)
}

impl Tally {
    /// Counts a call.
    #[inline]
    pub(super) fn count(&self) {
        add(&self.calls, 1);
    }

    pub(super) fn calls(&self) -> u64 {
        get(&self.calls)
    }

    /// For which calls the next one stands; `None` if it is not timed.
    #[inline]
    pub(super) fn stands(&self, timing: Timing) -> Option<Stands> {
        match timing {
            Timing::All => Some(Stands::Alone),
            _ if self.is_long() => Some(Stands::Alone),
            Timing::Sample => Some(Stands::ForOthers),
            Timing::Long => None,
        }
    }

    /// As [`stands`](Self::stands), of a call whose time is known only if all calls within it are timed.
    #[inline]
    pub(super) const fn stands_around(timing: Timing) -> Option<Stands> {
        match timing {
            Timing::All => Some(Stands::Alone),
            Timing::Sample => Some(Stands::ForOthers),
            Timing::Long => None,
        }
    }

    /// Adds a timed call.
    #[inline]
    pub(super) fn add(&self, stands: Stands, nanoseconds: u64) {
        let (least, multiple) = RARE;
        let is_rare = || {
            nanoseconds > least && nanoseconds * self.timed_calls() > multiple * self.timed_time()
        };
        let timed = match stands {
            Stands::ForOthers if !is_rare() => &self.sample,
            _ => &self.all,
        };
        add(&timed.calls, 1);
        add(&timed.nanoseconds, nanoseconds);
    }

    /// Adds the rest of a call that was added when it began.
    pub(super) fn add_rest(&self, stands: Stands, nanoseconds: u64) {
        let timed = match stands {
            Stands::Alone => &self.all,
            Stands::ForOthers => &self.sample,
        };
        add(&timed.nanoseconds, nanoseconds);
    }

    #[inline]
    pub(super) fn is_long(&self) -> bool {
        self.timed_time() > LONG * self.timed_calls()
    }

    /// Their time, ns.
    #[inline]
    fn timed_time(&self) -> u64 {
        get(&self.all.nanoseconds) + get(&self.sample.nanoseconds)
    }

    /// How many calls were timed.
    #[inline]
    pub(super) fn timed_calls(&self) -> u64 {
        get(&self.all.calls) + get(&self.sample.calls)
    }

    /// Time of all calls, s.
    pub(super) fn seconds(&self) -> f64 {
        let own = seconds(get(&self.all.nanoseconds));
        let sampled = seconds(get(&self.sample.nanoseconds));
        let others = self.calls().saturating_sub(get(&self.all.calls)) as f64;
        match (get(&self.sample.calls), get(&self.all.calls)) {
            (0, 0) => own,
            (0, timed) => own * (1.0 + others / timed as f64),
            (timed, _) => own + sampled * others / timed as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_macro_step_in_sixteen_is_timed_each_time_at_another_place() {
        let timed = |range: std::ops::Range<u64>| {
            let is_timed = |number: &u64| Timing::of(*number) != Timing::Long;
            range.filter(is_timed).collect::<Vec<_>>()
        };
        assert_eq!(timed(0..FIRST).len() as u64, FIRST);
        let blocks = 10 * INTERVAL;
        let mut places = [0; INTERVAL as usize];
        for block in 0..blocks {
            let begin = FIRST + block * INTERVAL;
            let [number] = timed(begin..begin + INTERVAL)[..] else {
                panic!("block {block}");
            };
            places[(number % INTERVAL) as usize] += 1;
        }
        assert!(
            places.iter().all(|count| (8..=12).contains(count)),
            "{places:?}"
        );
    }

    #[test]
    fn a_sample_stands_for_the_calls_that_were_not_timed() {
        let tally = Tally::default();
        let call = |timing: Timing, nanoseconds: u64| {
            tally.count();
            if let Some(stands) = tally.stands(timing) {
                tally.add(stands, nanoseconds);
            }
        };
        // Two slow calls at the start stand for themselves.
        call(Timing::All, 400);
        call(Timing::All, 400);
        for _ in 0..100 {
            call(Timing::Long, 100);
        }
        assert_eq!((tally.calls(), tally.timed_calls()), (102, 2));
        for _ in 0..10 {
            call(Timing::Sample, 100);
        }
        let nanoseconds = 1e9 * tally.seconds();
        assert!((nanoseconds - 11_800.0).abs() < 1e-6, "{nanoseconds}");
        // Another program had the core.
        call(Timing::Sample, 4_000_000);
        let nanoseconds = 1e9 * tally.seconds();
        assert!((nanoseconds - 4_011_800.0).abs() < 1e-3, "{nanoseconds}");
    }

    #[test]
    fn calls_that_take_long_are_all_timed() {
        let tally = Tally::default();
        for nanoseconds in [900, 1200, 5000, 1300] {
            tally.count();
            let timing = match tally.calls() {
                1 | 2 => Timing::All,
                _ => Timing::Long,
            };
            let stands = tally.stands(timing);
            assert_eq!(stands, Some(Stands::Alone));
            tally.add(Stands::Alone, nanoseconds);
        }
        assert!((1e9 * tally.seconds() - 8400.0).abs() < 1e-6);
    }
}
