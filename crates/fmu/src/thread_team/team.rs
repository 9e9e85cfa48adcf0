//! The threads, and the work that they borrow.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::thread_team::gate::Gate;
use crate::thread_team::wait_policy::WaitPolicy;

/// Longest time that a thread spins before it sleeps: longer than what usually happens between two rounds.
const LONGEST_SPIN: Duration = Duration::from_micros(100);

/// Work of a round, which every thread that takes part calls once.
type Work<'a> = &'a (dyn Fn() + Sync + 'a);

/// Threads that stay.
///
/// Dropping it ends them.
#[derive(Debug)]
pub struct ThreadTeam {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    wait_policy: WaitPolicy,
}

#[derive(Debug)]
struct Shared {
    gate: Gate,
    /// The work of the round, a `Work` on the stack of the caller; it is there while the gate is open or a helper is inside.
    work: AtomicPtr<()>,
    /// The panic of a helper.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl ThreadTeam {
    /// Starts so many threads, which help the one that hands out work.
    ///
    /// # Errors
    /// The system starts no more threads.
    pub fn start(helpers: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            gate: Gate::new(helpers),
            work: AtomicPtr::default(),
            panic: Mutex::default(),
        });
        let mut team = Self {
            shared,
            threads: Vec::with_capacity(helpers),
            wait_policy: WaitPolicy::new(LONGEST_SPIN),
        };
        for helper in 0..helpers {
            let shared = Arc::clone(&team.shared);
            let thread = std::thread::Builder::new().name(format!("step {helper}"));
            team.threads
                .push(thread.spawn(move || help(&shared, helper))?);
        }
        Ok(team)
    }

    /// Threads that help.
    pub fn helpers(&self) -> usize {
        self.threads.len()
    }

    /// Calls `work` on this thread, and on each of the team that comes before this call has returned. Returns when all calls
    /// have. Which threads come depends on the machine, so `work` takes pieces of something until none is left.
    ///
    /// # Panics
    /// If a call of `work` panics, with what it panicked with.
    pub fn run(&mut self, work: &(dyn Fn() + Sync)) {
        let shared = &*self.shared;
        let place: *const Work<'_> = &work;
        shared.work.store(place.cast_mut().cast(), Relaxed);
        shared.gate.open();
        let result = catch_unwind(AssertUnwindSafe(work));
        shared
            .gate
            .close(|is_empty| self.wait_policy.spin(is_empty));
        let mut panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner);
        let of_helper = panic.take();
        drop(panic);
        if let Some(payload) = result.err().or(of_helper) {
            resume_unwind(payload);
        }
    }
}

impl Drop for ThreadTeam {
    fn drop(&mut self) {
        self.shared.gate.end();
        for thread in self.threads.drain(..) {
            // Helpers do not panic: what the work panics with is kept for the caller.
            let _ = thread.join();
        }
    }
}

fn help(shared: &Shared, helper: usize) {
    let mut wait_policy = WaitPolicy::new(LONGEST_SPIN);
    let mut seen = 0;
    while let Some(round) = shared
        .gate
        .enter(helper, seen, |is_due| wait_policy.spin(is_due))
    {
        seen = round;
        let place: *const Work<'_> = shared.work.load(Relaxed).cast();
        // SAFETY: the caller has stored the place of its work before it opened the gate, which this thread has passed, and
        // returns from `run` only when this thread has left; until then the work and what it borrows live.
        #[expect(unsafe_code, reason = "threads that stay borrow the work of a round")]
        let work = unsafe { *place };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            let mut panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner);
            panic.get_or_insert(payload);
        }
        shared.gate.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc;

    use super::*;

    /// Each round every piece is made once, on however many threads, and the caller sees all of it.
    #[test]
    fn every_piece_is_made_once_a_round() {
        for helpers in [0, 1, 2, 7] {
            let mut team = ThreadTeam::start(helpers).unwrap();
            assert_eq!(team.helpers(), helpers);
            for round in 0..2000_usize {
                let mut pieces = vec![0_usize; round % 13];
                let claims: Vec<_> = pieces.iter_mut().map(Mutex::new).collect();
                let next = AtomicUsize::new(0);
                team.run(&|| {
                    while let Some(piece) = claims.get(next.fetch_add(1, Relaxed)) {
                        **piece.lock().unwrap() += round + 1;
                    }
                });
                drop(claims);
                assert!(pieces.iter().all(|piece| *piece == round + 1), "{pieces:?}");
                // Now and then the helpers have gone to sleep.
                if round % 500 == 499 {
                    std::thread::sleep(2 * LONGEST_SPIN);
                }
            }
        }
    }

    /// The work waits until all threads are there.
    #[test]
    fn all_threads_take_part() {
        let mut team = ThreadTeam::start(3).unwrap();
        for _ in 0..20 {
            let here = Mutex::new(BTreeSet::new());
            let all = AtomicUsize::new(0);
            team.run(&|| {
                let thread = format!("{:?}", std::thread::current().id());
                here.lock().unwrap().insert(thread);
                all.fetch_add(1, Relaxed);
                while all.load(Relaxed) < 4 {
                    std::thread::yield_now();
                }
            });
            assert_eq!(here.into_inner().unwrap().len(), 4);
        }
    }

    /// A panic on any thread reaches the caller when all threads have left, and the team stays usable.
    #[test]
    fn a_panic_reaches_the_caller() {
        let mut team = ThreadTeam::start(1).unwrap();
        let caller = std::thread::current().id();
        for of_helper in [true, false, true, false] {
            let (inside, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let result = catch_unwind(AssertUnwindSafe(|| {
                team.run(&|| {
                    inside.fetch_add(1, Relaxed);
                    while inside.load(Relaxed) < 2 {
                        std::thread::yield_now();
                    }
                    if (std::thread::current().id() != caller) == of_helper {
                        resume_unwind(Box::new(of_helper));
                    }
                    left.fetch_add(1, Relaxed);
                });
            }));
            let payload = result.unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&of_helper));
            assert_eq!(left.into_inner(), 1);
        }
        let calls = AtomicUsize::new(0);
        team.run(&|| {
            calls.fetch_add(1, Relaxed);
        });
        assert!(calls.into_inner() >= 1);
    }

    /// Whether helpers spin or sleep, the end of the team is their end.
    #[test]
    fn a_team_ends_while_its_threads_wait() {
        for pause in [Duration::ZERO, 3 * LONGEST_SPIN] {
            for _ in 0..50 {
                let mut team = ThreadTeam::start(2).unwrap();
                team.run(&|| {});
                std::thread::sleep(pause);
                let shared = Arc::downgrade(&team.shared);
                drop(team);
                assert!(shared.upgrade().is_none(), "a thread still lives");
            }
        }
    }

    /// A team goes with its owner to another thread.
    #[test]
    fn another_thread_hands_out_work() {
        let mut team = ThreadTeam::start(1).unwrap();
        for _ in 0..20 {
            let (sender, receiver) = mpsc::channel();
            team = std::thread::spawn(move || {
                let count = AtomicUsize::new(0);
                team.run(&|| {
                    count.fetch_add(1, Relaxed);
                    while count.load(Relaxed) < 2 {
                        std::thread::yield_now();
                    }
                });
                sender.send(count.into_inner()).unwrap();
                team
            })
            .join()
            .unwrap();
            assert_eq!(receiver.recv().unwrap(), 2);
        }
    }
}
