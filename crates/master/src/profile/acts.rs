//! Times of what a run does by itself: operations of its plan, ledger, observers.

use std::sync::Arc;

use super::sampling::{Tally, Timing};
use super::trace::MACRO_STEP;
use super::{OperationTime, Profile, lock};

/// The act of a macro-step while nothing else is measured.
const OTHER: &str = "other";

/// Measures the acts of a macro-step, or does them alone.
pub(crate) trait Probe {
    /// Does an act under a word.
    fn act<T>(&mut self, word: &'static str, act: impl FnOnce(&mut Self) -> T) -> T;

    /// Does an act whose time a sample would not show, such as writing many rows at once now and then.
    fn rare_act<T>(&mut self, word: &'static str, act: impl FnOnce(&mut Self) -> T) -> T;
}

/// No profile: an act is done, and nothing more.
pub(crate) struct Unprofiled;

impl Probe for Unprofiled {
    #[inline(always)]
    fn act<T>(&mut self, _: &'static str, act: impl FnOnce(&mut Self) -> T) -> T {
        act(self)
    }

    #[inline(always)]
    fn rare_act<T>(&mut self, _: &'static str, act: impl FnOnce(&mut Self) -> T) -> T {
        act(self)
    }
}

/// Measures the acts of a run.
pub(crate) struct Acts {
    profile: Profile,
    times: ActTimes,
    /// Timing of the macro-step.
    timing: Timing,
}

/// Times of acts; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct ActTimes {
    acts: Vec<Act>,
    /// With all that is in them.
    macro_steps: Arc<Tally>,
}

#[derive(Debug, Clone)]
struct Act {
    word: &'static str,
    /// Without what is measured within it.
    tally: Arc<Tally>,
}

impl Probe for Acts {
    #[inline]
    fn act<T>(&mut self, word: &'static str, act: impl FnOnce(&mut Self) -> T) -> T {
        let place = self.place(word);
        let tally = &self.times.acts[place].tally;
        tally.count();
        if self.timing == Timing::Long {
            return act(self);
        }
        let begun = self.profile.0.begin();
        let result = act(self);
        let stretch = self.profile.0.end(begun);
        if let Some(stands) = Tally::stands_around(self.timing) {
            self.times.acts[place].tally.add(stands, stretch.own);
        }
        self.profile.0.trace(None, word, stretch);
        result
    }

    fn rare_act<T>(&mut self, word: &'static str, act: impl FnOnce(&mut Self) -> T) -> T {
        let timing = std::mem::replace(&mut self.timing, Timing::All);
        self.profile.0.timing.set(Timing::All);
        let result = self.act(word, act);
        self.timing = timing;
        self.profile.0.timing.set(timing);
        result
    }
}

impl Acts {
    pub(crate) fn new(profile: &Profile) -> Self {
        Self {
            profile: profile.clone(),
            times: lock(&profile.0.acts).clone(),
            timing: Timing::All,
        }
    }

    /// Makes a macro-step, which begins at a simulated time, s.
    pub(crate) fn macro_step<T>(&mut self, time: f64, make: impl FnOnce(&mut Self) -> T) -> T {
        let profile = self.profile.clone();
        let macro_steps = Arc::clone(&self.times.macro_steps);
        self.timing = profile.0.begin_macro_step(macro_steps.calls(), time);
        macro_steps.count();
        let result = match macro_steps.stands(self.timing) {
            None => make(self),
            Some(stands) => {
                let (result, stretch) = profile.0.measure(|| make(self));
                macro_steps.add(stands, stretch.end.saturating_sub(stretch.begin));
                let place = self.place(OTHER);
                let other = &self.times.acts[place].tally;
                if let Some(stands) = Tally::stands_around(self.timing) {
                    other.add(stands, stretch.own);
                    profile.0.trace(None, MACRO_STEP, stretch);
                }
                result
            }
        };
        let place = self.place(OTHER);
        self.times.acts[place].tally.count();
        self.timing = Timing::All;
        profile.0.end_macro_step();
        result
    }

    /// Where the times of an act are.
    #[inline]
    fn place(&mut self, word: &'static str) -> usize {
        // Equal words nearly always lie at the same place.
        let is_same = |act: &Act| std::ptr::eq(act.word, word);
        let place = self.times.acts.iter().position(is_same);
        place.unwrap_or_else(|| self.place_of_text(word))
    }

    #[cold]
    fn place_of_text(&mut self, word: &'static str) -> usize {
        let acts = &mut self.times.acts;
        let place = acts.iter().position(|act| act.word == word);
        place.unwrap_or_else(|| {
            acts.push(Act {
                word,
                tally: Arc::default(),
            });
            lock(&self.profile.0.acts).acts.clone_from(acts);
            acts.len() - 1
        })
    }
}

impl ActTimes {
    pub(super) fn macro_steps(&self) -> &Tally {
        &self.macro_steps
    }

    /// Stretches that were measured.
    pub(super) fn stretches(&self) -> u64 {
        let acts = self.acts.iter().filter(|act| act.word != OTHER);
        let in_macro_steps: u64 = acts.map(|act| act.tally.timed_calls()).sum();
        in_macro_steps + self.macro_steps.timed_calls()
    }

    /// In the order in which they came first, with the rest behind them.
    pub(super) fn times(&self) -> impl Iterator<Item = OperationTime> {
        let (rest, named): (Vec<&Act>, Vec<&Act>) =
            self.acts.iter().partition(|act| act.word == OTHER);
        named.into_iter().chain(rest).map(|act| OperationTime {
            component: None,
            operation: act.word,
            calls: act.tally.calls(),
            seconds: act.tally.seconds(),
        })
    }
}
