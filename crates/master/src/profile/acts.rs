//! Times of what a run does by itself: operations of its plan, ledger, observers.

use super::trace::MACRO_STEP;
use super::{OperationTime, Profile, lock, seconds};

/// The act of a macro-step where nothing else is measured.
const OTHER: &str = "other";

/// Measures the acts of a macro-step, or does them alone.
pub(crate) trait Probe {
    /// Does an act under a word.
    fn act<T>(&mut self, word: &'static str, act: impl FnOnce(&mut Self) -> T) -> T;
}

/// No profile: an act is done, and nothing more.
pub(crate) struct Unprofiled;

impl Probe for Unprofiled {
    #[inline(always)]
    fn act<T>(&mut self, _: &'static str, act: impl FnOnce(&mut Self) -> T) -> T {
        act(self)
    }
}

/// Measures the acts of a run.
pub(crate) struct Acts {
    profile: Profile,
    times: ActTimes,
}

/// Times of acts.
#[derive(Debug, Clone, Default)]
pub(super) struct ActTimes {
    acts: Vec<Act>,
    macro_steps: u64,
    /// Of all macro-steps, with all that is in them, ns.
    nanoseconds: u64,
}

#[derive(Debug, Clone, Copy)]
struct Act {
    word: &'static str,
    calls: u64,
    /// Without what is measured within it.
    nanoseconds: u64,
}

impl Probe for Acts {
    #[inline]
    fn act<T>(&mut self, word: &'static str, act: impl FnOnce(&mut Self) -> T) -> T {
        let begun = self.profile.0.begin();
        let result = act(self);
        let stretch = self.profile.0.end(begun);
        self.times.add(word, stretch.own);
        self.profile.0.trace(None, word, stretch);
        result
    }
}

impl Acts {
    pub(crate) fn new(profile: &Profile) -> Self {
        Self {
            profile: profile.clone(),
            times: lock(&profile.0.acts).clone(),
        }
    }

    /// Makes a macro-step, which begins at a simulated time, s.
    pub(crate) fn macro_step<T>(&mut self, time: f64, make: impl FnOnce(&mut Self) -> T) -> T {
        let profile = self.profile.clone();
        if let Some(trace) = &profile.0.trace {
            lock(trace).begin_macro_step(self.times.macro_steps, time);
        }
        let (result, stretch) = profile.0.measure(|| make(self));
        self.times.add(OTHER, stretch.own);
        self.times.macro_steps += 1;
        self.times.nanoseconds += stretch.end.saturating_sub(stretch.begin);
        profile.0.trace(None, MACRO_STEP, stretch);
        if let Some(trace) = &profile.0.trace {
            lock(trace).end_macro_step();
        }
        lock(&profile.0.acts).clone_from(&self.times);
        result
    }
}

impl ActTimes {
    fn add(&mut self, word: &'static str, nanoseconds: u64) {
        // Equal words nearly always lie at the same place.
        let is_same = |act: &Act| std::ptr::eq(act.word, word);
        let place = self.acts.iter().position(is_same);
        let place = place.or_else(|| self.acts.iter().position(|act| act.word == word));
        let place = place.unwrap_or_else(|| {
            self.acts.push(Act {
                word,
                calls: 0,
                nanoseconds: 0,
            });
            self.acts.len() - 1
        });
        let act = &mut self.acts[place];
        act.calls += 1;
        act.nanoseconds += nanoseconds;
    }

    pub(super) const fn macro_steps(&self) -> u64 {
        self.macro_steps
    }

    pub(super) fn seconds(&self) -> f64 {
        seconds(self.nanoseconds)
    }

    /// In the order in which they came first, with the rest behind them.
    pub(super) fn times(&self) -> impl Iterator<Item = OperationTime> {
        let (rest, named): (Vec<&Act>, Vec<&Act>) =
            self.acts.iter().partition(|act| act.word == OTHER);
        named.into_iter().chain(rest).map(|act| OperationTime {
            component: None,
            operation: act.word,
            calls: act.calls,
            seconds: seconds(act.nanoseconds),
        })
    }
}
