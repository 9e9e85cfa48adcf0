//! The gate between the thread that hands out work and its helpers.
//!
//! One word holds the number of the round, whether the gate is open, and how many helpers are inside. A helper enters while the
//! gate is open, once in a round. The caller closes it when it finds no more work, and waits for those inside alone.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::thread_team::platform::{
    AtomicBool, AtomicU64, Mutex, PoisonError, Thread, current, fence, park,
};

/// Helpers inside.
const INSIDE: u64 = (1 << 30) - 1;
const OPEN: u64 = 1 << 30;
/// The rounds have ended.
const ENDED: u64 = 1 << 31;
/// The number of the round.
const ROUND: u64 = !(INSIDE | OPEN | ENDED);
const ONE_ROUND: u64 = 1 << 32;

/// The gate, with the places in which its threads sleep.
#[derive(Debug)]
pub(crate) struct Gate {
    word: Word,
    caller: Sleeper,
    helpers: Vec<Sleeper>,
}

/// A cache line of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Word(AtomicU64);

/// The place in which a thread sleeps.
#[derive(Debug, Default)]
struct Sleeper {
    /// It sleeps, or is about to.
    sleeps: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Gate {
    pub(crate) fn new(helpers: usize) -> Self {
        Self {
            word: Word(AtomicU64::new(0)),
            caller: Sleeper::default(),
            helpers: (0..helpers).map(|_| Sleeper::default()).collect(),
        }
    }

    /// Begins a round, and wakes the helpers that sleep. Helpers that enter see everything that the caller has written
    /// before.
    pub(crate) fn open(&self) {
        let round = self.word.0.load(Relaxed) & ROUND;
        self.word
            .0
            .store(round.wrapping_add(ONE_ROUND) | OPEN, Release);
        self.wake_helpers();
    }

    /// Ends the round: no helper enters any more, and all have left when this returns. Everything that they have written is
    /// there for the caller. `spin` waits for a short time, and returns whether the condition has come true.
    pub(crate) fn close(&self, spin: impl FnOnce(&dyn Fn() -> bool) -> bool) {
        let before = self.word.0.fetch_and(!OPEN, AcqRel);
        if before & INSIDE == 0 {
            return;
        }
        let is_empty = || self.word.0.load(Acquire) & INSIDE == 0;
        if !spin(&is_empty) {
            self.caller.sleep_until(is_empty);
        }
    }

    /// Ends all rounds.
    pub(crate) fn end(&self) {
        self.word.0.fetch_or(ENDED, Release);
        self.wake_helpers();
    }

    /// Waits for a round that this helper has not `seen`, and enters. Returns its number, which the helper has seen then;
    /// `None` after the last round. `spin` is as for [`close`](Self::close).
    pub(crate) fn enter(
        &self,
        helper: usize,
        seen: u64,
        mut spin: impl FnMut(&dyn Fn() -> bool) -> bool,
    ) -> Option<u64> {
        let is_new = |word: u64| word & OPEN != 0 && word & ROUND != seen;
        loop {
            let word = self.word.0.load(Acquire);
            if word & ENDED != 0 {
                return None;
            }
            if is_new(word) {
                let entered = self
                    .word
                    .0
                    .compare_exchange(word, word + 1, Acquire, Relaxed);
                if entered.is_ok() {
                    return Some(word & ROUND);
                }
                continue;
            }
            let is_due = || {
                let word = self.word.0.load(Acquire);
                word & ENDED != 0 || is_new(word)
            };
            if !spin(&is_due) {
                self.helpers[helper].sleep_until(is_due);
            }
        }
    }

    /// A helper that has entered leaves; the last one wakes the caller.
    pub(crate) fn leave(&self) {
        let before = self.word.0.fetch_sub(1, Release);
        if before & (OPEN | INSIDE) == 1 {
            self.caller.wake();
        }
    }

    fn wake_helpers(&self) {
        for helper in &self.helpers {
            helper.wake();
        }
    }
}

impl Sleeper {
    /// Sleeps until `is_due`, which the thread that makes it so tells by [`wake`](Self::wake).
    #[cold]
    fn sleep_until(&self, is_due: impl Fn() -> bool) {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(current());
        loop {
            self.sleeps.store(true, Relaxed);
            // Against `wake`: one of the two sees what the other one has stored.
            fence(SeqCst);
            if is_due() {
                break;
            }
            park();
        }
        self.sleeps.store(false, Relaxed);
    }

    /// Wakes the thread if it sleeps.
    #[inline]
    fn wake(&self) {
        fence(SeqCst);
        if self.sleeps.load(Relaxed) {
            self.unpark();
        }
    }

    #[cold]
    fn unpark(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = &*thread {
            thread.unpark();
        }
    }
}
