//! The names of `crates/worker/src/shared_memory.rs`, for one execution of a model.

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use std::time::Duration;

use loom::sync::atomic::fence;
use loom::sync::{Condvar, Mutex};

/// How the orderings of the code are carried out.
///
/// loom takes accesses that are `SeqCst` for acquire and release, but knows such fences. A fence after
/// each store or before each load orders the accesses as `SeqCst` demands; processors have it in either
/// place. A scenario has to hold with both: with [`Self::FenceAfterStore`] alone a load that is too weak
/// would not be seen, with [`Self::FenceBeforeLoad`] alone a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orderings {
    /// A fence after each store.
    FenceAfterStore,
    /// A fence before each load.
    FenceBeforeLoad,
    /// A mistake on purpose: `SeqCst` is acquire and release only.
    NoFences,
    /// A mistake on purpose: all accesses are relaxed, with fences after stores, so that no wake-up is lost.
    AllRelaxed,
}

thread_local! {
    // loom runs all threads of a model in the thread of the test.
    static ORDERINGS: Cell<Orderings> = const { Cell::new(Orderings::FenceAfterStore) };
}

/// Sets the orderings of the models that this thread checks from now on.
pub(crate) fn set_orderings(orderings: Orderings) {
    ORDERINGS.set(orderings);
}

/// Makes loom try both orders of any two accesses to one place. By itself it compares an access with the last
/// one only, and takes two loads for exchangeable: where one thread loads, and another one loads and
/// stores, it misses that the store may come before the first load.
#[derive(Debug, Default)]
struct Turn(loom::sync::atomic::AtomicU8);

impl Turn {
    fn take(&self) {
        self.0.fetch_or(0, Relaxed);
    }
}

macro_rules! atomics {
    ($($name:ident: $integer:ty),*) => {
        $(
            #[derive(Debug, Default)]
            pub(crate) struct $name {
                value: loom::sync::atomic::$name,
                turn: Turn,
            }

            impl $name {
                #[track_caller]
                pub(crate) fn load(&self, order: Ordering) -> $integer {
                    self.turn.take();
                    self.value.load(prepare_load(order))
                }

                #[track_caller]
                pub(crate) fn store(&self, value: $integer, order: Ordering) {
                    let orderings = ORDERINGS.get();
                    let weak = match (orderings, order) {
                        (Orderings::AllRelaxed, _) | (_, Relaxed) => Relaxed,
                        _ => Release,
                    };
                    self.turn.take();
                    self.value.store(value, weak);
                    let fences = [Orderings::FenceAfterStore, Orderings::AllRelaxed];
                    if order == SeqCst && fences.contains(&orderings) {
                        fence(SeqCst);
                    }
                }
            }
        )*
    };
}

atomics!(AtomicU8: u8, AtomicU32: u32, AtomicU64: u64);

fn prepare_load(order: Ordering) -> Ordering {
    let orderings = ORDERINGS.get();
    if (orderings, order) == (Orderings::FenceBeforeLoad, SeqCst) {
        fence(SeqCst);
    }
    match (orderings, order) {
        (Orderings::AllRelaxed, _) | (_, Relaxed) => Relaxed,
        _ => Acquire,
    }
}

/// Declares a structure of atomics, all of them zero by default.
macro_rules! shareable {
    ($(#[$outer:meta])* $visibility:vis struct $name:ident { $($fields:tt)* }) => {
        $(#[$outer])*
        #[derive(Debug, Default)]
        #[repr(C)]
        $visibility struct $name { $($fields)* }
    };
}
pub(crate) use shareable;

/// Types that lie in the memory of a model.
pub(crate) trait Shareable: Send + Sync + 'static {}
impl<T: Send + Sync + 'static> Shareable for T {}

/// Values by their offsets, which need not be bytes.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    values: BTreeMap<usize, Box<dyn Any + Send + Sync>>,
}

impl SharedMemory {
    /// The memory with `count` values more, all zero.
    pub(crate) fn with<T: Shareable + Default>(mut self, offset: usize, count: usize) -> Self {
        let values: Vec<T> = (0..count).map(|_| T::default()).collect();
        self.values.insert(offset, Box::new(values));
        self
    }

    pub(crate) fn length(&self) -> usize {
        usize::MAX
    }

    pub(crate) fn view<T: Shareable>(&self, offset: usize) -> Option<&T> {
        self.views(offset, 1)?.first()
    }

    pub(crate) fn views<T: Shareable>(&self, offset: usize, count: usize) -> Option<&[T]> {
        let values = self.values.get(&offset)?.downcast_ref::<Vec<T>>()?;
        values.get(..count)
    }
}

/// Threads that wait on words, and how far time is.
#[derive(Debug, Default)]
struct Futexes {
    sleepers: Vec<Sleeper>,
    next_number: usize,
    /// Time goes on for ever: each wait with a timeout ends at once.
    has_run_out: bool,
}

#[derive(Debug)]
struct Sleeper {
    number: usize,
    /// Address of the word.
    word: usize,
    has_timeout: bool,
    /// `Some` once it is to go on; whether because it was woken.
    is_woken: Option<bool>,
}

loom::lazy_static! {
    static ref FUTEXES: Mutex<Futexes> = Mutex::new(Futexes::default());
    static ref CHANGED: Condvar = Condvar::new();
}

fn futexes() -> loom::sync::MutexGuard<'static, Futexes> {
    FUTEXES.lock().expect("no thread panics with the lock")
}

fn address(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word).addr()
}

/// As futex(2): the comparison and the beginning of the sleep are one, for all who wake. Timeouts come
/// only from [`pass_time`] and [`run_out_of_time`], so that a thread whose wake-up is lost sleeps for ever,
/// which loom reports.
pub(crate) fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> io::Result<bool> {
    let mut futexes = futexes();
    if word.load(SeqCst) != expected {
        return Ok(true);
    }
    if timeout.is_some() && futexes.has_run_out {
        return Ok(false);
    }
    let number = futexes.next_number;
    futexes.next_number += 1;
    futexes.sleepers.push(Sleeper {
        number,
        word: address(word),
        has_timeout: timeout.is_some(),
        is_woken: None,
    });
    loop {
        let is_this = |sleeper: &Sleeper| sleeper.number == number && sleeper.is_woken.is_some();
        if let Some(place) = futexes.sleepers.iter().position(is_this) {
            return Ok(futexes.sleepers.remove(place).is_woken == Some(true));
        }
        futexes = CHANGED
            .wait(futexes)
            .expect("no thread panics with the lock");
    }
}

pub(crate) fn wake(word: &AtomicU32, waiters: u32) -> io::Result<()> {
    let word = address(word);
    let is_meant = |sleeper: &Sleeper| sleeper.word == word;
    rouse(waiters as usize, true, is_meant, &mut futexes());
    Ok(())
}

/// Ends the waits with a timeout that there are now.
pub(crate) fn pass_time() {
    rouse(usize::MAX, false, |it| it.has_timeout, &mut futexes());
}

/// Ends all waits with a timeout from now on.
pub(crate) fn run_out_of_time() {
    let mut futexes = futexes();
    futexes.has_run_out = true;
    rouse(usize::MAX, false, |it| it.has_timeout, &mut futexes);
}

fn rouse(most: usize, is_woken: bool, is_meant: impl Fn(&Sleeper) -> bool, futexes: &mut Futexes) {
    let asleep = futexes.sleepers.iter_mut();
    let asleep = asleep.filter(|sleeper| sleeper.is_woken.is_none() && is_meant(sleeper));
    for sleeper in asleep.take(most) {
        sleeper.is_woken = Some(is_woken);
    }
    CHANGED.notify_all();
}
