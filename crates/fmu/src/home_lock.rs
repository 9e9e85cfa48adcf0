//! A lock that costs hardly anything on one thread.
//!
//! An atomic exchange takes as long as a step of a tiny FMU. So the thread that makes the lock, its *home*, only says that it
//! is inside, and looks whether other threads have come. The first other thread says so, has the system put a memory barrier
//! into all threads (`membarrier`), and waits until the home thread has left; from then on all take a mutex. Whatever
//! the home thread does after the barrier sees that another one has come; and if it has looked before, the other one sees it inside.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock with a home thread.
pub(crate) struct HomeLock {
    home: u64,
    is_home_inside: AtomicBool,
    /// Other threads have come.
    is_shared: AtomicBool,
    /// The lock of all threads once there are several; whether the home thread is known to lock it, too.
    mutex: Mutex<bool>,
}

/// The lock, taken until this is dropped.
pub(crate) struct Inside<'a> {
    lock: &'a HomeLock,
    guard: Option<MutexGuard<'a, bool>>,
}

thread_local! {
    /// Number of this thread, which no other one has had; 0 before it is asked for.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The next number of a thread.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl HomeLock {
    /// A lock at home on this thread.
    pub(crate) fn new() -> Self {
        let is_shared = !can_interrupt_others();
        Self {
            home: this_thread(),
            is_home_inside: AtomicBool::new(false),
            is_shared: AtomicBool::new(is_shared),
            mutex: Mutex::new(is_shared),
        }
    }

    /// Whether it is at home on this thread.
    #[inline(always)]
    pub(crate) fn is_at_home(&self) -> bool {
        NUMBER.get() == self.home
    }

    /// Waits until no other thread is inside. A thread that is inside must not come again.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Inside<'_> {
        if self.is_at_home() {
            self.is_home_inside.store(true, Ordering::Relaxed);
            // The barrier of the other thread keeps the processor from looking first.
            compiler_fence(Ordering::SeqCst);
            if !self.is_shared.load(Ordering::Relaxed) {
                return Inside {
                    lock: self,
                    guard: None,
                };
            }
            self.is_home_inside.store(false, Ordering::Release);
        }
        self.wait()
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) -> Inside<'_> {
        let mut guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        if !*guard {
            self.is_shared.store(true, Ordering::SeqCst);
            interrupt_others();
            while self.is_home_inside.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            *guard = true;
        }
        Inside {
            lock: self,
            guard: Some(guard),
        }
    }
}

impl Drop for Inside<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.guard.is_none() {
            self.lock.is_home_inside.store(false, Ordering::Release);
        }
    }
}

fn this_thread() -> u64 {
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

/// Asks the system for memory barriers in all threads: whether it has them.
#[cfg(target_os = "linux")]
fn can_interrupt_others() -> bool {
    use rustix::thread::{MembarrierCommand, membarrier};
    membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn can_interrupt_others() -> bool {
    false
}

/// Puts a memory barrier into all threads of the process.
#[cfg(target_os = "linux")]
fn interrupt_others() {
    use rustix::thread::{MembarrierCommand, membarrier};
    // A process that was forked since has to ask again.
    let done = can_interrupt_others() && membarrier(MembarrierCommand::PrivateExpedited).is_ok();
    assert!(done, "the system has memory barriers no more");
}

#[cfg(not(target_os = "linux"))]
fn interrupt_others() {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds to a number as no two threads at once can.
    fn count(lock: &HomeLock, number: &AtomicU64, times: u64) {
        for _ in 0..times {
            let inside = lock.enter();
            let before = number.load(Ordering::Relaxed);
            std::hint::spin_loop();
            number.store(before + 1, Ordering::Relaxed);
            drop(inside);
        }
    }

    #[test]
    fn one_thread_at_a_time_is_inside() {
        for _ in 0..50 {
            let (lock, number) = (HomeLock::new(), AtomicU64::new(0));
            assert!(lock.is_at_home());
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        assert!(!lock.is_at_home());
                        count(&lock, &number, 200);
                    });
                }
                count(&lock, &number, 2000);
            });
            assert_eq!(number.load(Ordering::Relaxed), 2400);
        }
    }

    #[test]
    fn the_home_thread_alone_takes_no_mutex() {
        let lock = HomeLock::new();
        let is_free = can_interrupt_others();
        assert_eq!(lock.enter().guard.is_none(), is_free);
        std::thread::scope(|scope| scope.spawn(|| drop(lock.enter())).join().unwrap());
        assert!(lock.enter().guard.is_some());
    }
}
