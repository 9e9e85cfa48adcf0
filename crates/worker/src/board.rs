//! Memory shared by parent and worker of a supervised run: wishes of the parent, and how far the
//! worker is, in a form that survives it.

#![expect(
    unsafe_code,
    reason = "says that the slots of the flight recorder may be shared"
)]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64};

use gyrator_fmu::flight_recorder::Slot;

use crate::rows::{Rows, check};
use crate::shareable;
use crate::shared_memory::{self, Shareable, SharedMemory};

// SAFETY: a slot is a `repr(C)` structure of atomics, made to be shared.
unsafe impl Shareable for Slot {}

/// Instances that are watched at a time. More than these run as well, but a crash of theirs is
/// reported without a name.
pub(crate) const SLOTS: usize = 1024;
/// Offset of the slots.
const SLOTS_OFFSET: usize = 4096;
/// Bytes of the name of a library.
pub(crate) const LIBRARY_BYTES: usize = 256;

/// A word that says yes; no other does, so that an FMU that writes somewhere by accident asks for
/// nothing.
const YES: u32 = 0x5eed_a110;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Before its results are complete.
    Running = 0,
    /// All that was asked for is written; instances are being freed.
    Complete = 1,
    /// The worker ends by itself.
    Leaving = 2,
}

shareable! {
    /// Values written once per run or step; each field has one writer.
    pub(crate) struct Header {
        /// Parent: [`YES`] asks the run to end at its next communication point. A futex.
        stop: AtomicU32,
        /// Worker: [`YES`] if its own code has panicked.
        panicked: AtomicU32,
        /// Worker: the limit of its address space, bytes, if that was the reason; 0 if not.
        met_limit: AtomicU64,
        /// Worker: a [`Phase`], and in its second byte the exit code that goes with it.
        phase: AtomicU64,
        /// [`check`] of the phase.
        phase_check: AtomicU64,
        /// Worker: communication points so far, and 1.
        points: AtomicU64,
        /// Worker: simulated time of the last communication point, s, as bits.
        time: AtomicU64,
        pub(crate) rows: Rows,
        pub(crate) crash: Crash,
        /// Worker: text that it could not write to the standard error, up to the first 0.
        unsaid: [AtomicU8; UNSAID_BYTES],
    }
}

/// Steps that no run makes: years of steps of a nanosecond.
const MOST_STEPS: u64 = 1 << 56;

/// Bytes of messages that the parent writes instead of the worker.
const UNSAID_BYTES: usize = 2048;

shareable! {
    /// Facts recorded by the signal handler on a crash; see [`crate::crash_handler`].
    pub(crate) struct Crash {
        /// The signal; 0 for none.
        pub(crate) signal: AtomicI32,
        /// Its `si_code`.
        pub(crate) code: AtomicI32,
        /// The thread.
        pub(crate) thread: AtomicI32,
        /// Not 0 if it was another thread than the one that calls FMUs.
        pub(crate) is_other_thread: AtomicU32,
        /// Not 0 if the stack was full.
        pub(crate) is_overflow: AtomicU32,
        /// The file whose code was running, up to the first 0.
        pub(crate) library: [AtomicU8; LIBRARY_BYTES],
    }
}

const _: () = assert!(size_of::<Header>() <= SLOTS_OFFSET);

/// The name of a library without the marks that Linux gives to mapped files that are in memory or removed.
fn plain_name(name: &str) -> &str {
    let name = name.strip_prefix("memfd:").unwrap_or(name);
    name.strip_suffix(" (deleted)").unwrap_or(name)
}

/// The shared memory, mapped until the process ends.
#[derive(Clone, Copy)]
pub(crate) struct Board {
    memory: &'static SharedMemory,
    pub(crate) header: &'static Header,
    pub(crate) slots: &'static [Slot],
}

impl Crash {
    /// The library whose code was running, if it is known.
    pub(crate) fn library(&self) -> Option<String> {
        let bytes = self.library.iter().map(|byte| byte.load(Relaxed));
        let name: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        let is_known = self.is_noted() && !name.is_empty();
        is_known.then(|| plain_name(&String::from_utf8_lossy(&name)).to_owned())
    }

    /// Whether it was another thread than the one that calls FMUs.
    pub(crate) fn is_in_other_thread(&self) -> bool {
        self.is_noted() && self.is_other_thread.load(Relaxed) != 0
    }

    /// Whether the stack was full, which shows as one of two signals.
    pub(crate) fn is_stack_overflow(&self) -> bool {
        let signal = self.signal.load(Acquire);
        let is_access = signal == libc::SIGSEGV || signal == libc::SIGBUS;
        is_access && self.is_overflow.load(Relaxed) != 0
    }

    pub(crate) fn is_noted(&self) -> bool {
        (1..=64).contains(&self.signal.load(Acquire))
    }
}

/// A position in simulated time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// Simulated time, s.
    pub time: f64,
    /// Macro-steps made until then.
    pub step: u64,
}

impl Board {
    pub(crate) fn create() -> io::Result<Self> {
        let length = SLOTS_OFFSET + SLOTS * size_of::<Slot>();
        Self::of(SharedMemory::create("gyrator-run", length)?)
    }

    pub(crate) fn attach(descriptor: OwnedFd) -> io::Result<Self> {
        Self::of(SharedMemory::attach(descriptor)?)
    }

    fn of(memory: SharedMemory) -> io::Result<Self> {
        let memory = memory.leak();
        let small = || io::Error::other("the shared memory is too small");
        Ok(Self {
            memory,
            header: memory.view(0).ok_or_else(small)?,
            slots: memory.views(SLOTS_OFFSET, SLOTS).ok_or_else(small)?,
        })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'static> {
        self.memory.as_fd()
    }

    /// Asks the run to end at its next communication point.
    pub(crate) fn request_stop(&self) {
        self.header.stop.store(YES, Release);
        // If the worker does not listen, no thread waits.
        let _ = shared_memory::wake(&self.header.stop, u32::MAX);
    }

    /// Waits until the run is asked to end.
    pub(crate) fn wait_for_stop(&self) {
        loop {
            match self.header.stop.load(Acquire) {
                YES => return,
                other if shared_memory::wait(&self.header.stop, other, None).is_err() => return,
                _ => {}
            }
        }
    }

    /// Notes the phase, and the exit code that goes with it.
    pub(crate) fn enter(&self, phase: Phase, code: u8) {
        let word = phase as u64 | u64::from(code) << 8;
        self.header.phase.store(word, Relaxed);
        self.header.phase_check.store(check([word]), Release);
    }

    /// The phase, and the exit code that goes with it; [`Phase::Running`] if the note of it makes
    /// no sense.
    pub(crate) fn phase(&self) -> (Phase, u8) {
        let noted = self.header.phase_check.load(Acquire);
        let word = self.header.phase.load(Relaxed);
        if check([word]) != noted {
            return (Phase::Running, 0);
        }
        let [phase, code, ..] = word.to_le_bytes();
        match phase {
            1 => (Phase::Complete, code),
            2 => (Phase::Leaving, code),
            _ => (Phase::Running, code),
        }
    }

    /// Whether any phase was noted: the worker could do its work, and has loaded FMUs.
    pub(crate) fn has_begun(&self) -> bool {
        let word = self.header.phase.load(Relaxed);
        check([word]) == self.header.phase_check.load(Acquire)
    }

    /// Notes that code of the worker itself has panicked, at a limit of its address space or not.
    pub(crate) fn panicked(&self, limit: Option<u64>) {
        self.header.met_limit.store(limit.unwrap_or(0), Relaxed);
        self.header.panicked.store(YES, Release);
    }

    /// The limit of its address space, bytes, at which it has panicked.
    pub(crate) fn met_limit(&self) -> Option<u64> {
        let limit = self.header.met_limit.load(Relaxed);
        Some(limit).filter(|limit| *limit > 0 && self.has_panicked())
    }

    pub(crate) fn has_panicked(&self) -> bool {
        self.header.panicked.load(Acquire) == YES
    }

    /// Keeps a text for the parent to write, after earlier texts, as far as there is room.
    pub(crate) fn leave_unsaid(&self, text: &str) {
        let bytes = text.bytes().filter(|byte| *byte != 0);
        let free = self.header.unsaid[..UNSAID_BYTES - 1].iter();
        let free = free.skip_while(|place| place.load(Relaxed) != 0);
        free.zip(bytes)
            .for_each(|(place, byte)| place.store(byte, Relaxed));
    }

    /// The text of [`Self::leave_unsaid`].
    pub(crate) fn unsaid(&self) -> Option<String> {
        let bytes = self.header.unsaid.iter().map(|byte| byte.load(Relaxed));
        let text: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        // Text that an FMU has overwritten does not count as a message.
        String::from_utf8(text).ok().filter(|text| !text.is_empty())
    }

    /// Notes a communication point.
    #[inline]
    pub(crate) fn at(&self, position: Position) {
        self.header.time.store(position.time.to_bits(), Relaxed);
        self.header
            .points
            .store(position.step.wrapping_add(1), Relaxed);
    }

    /// The last communication point; `None` before the first one.
    pub(crate) fn position(&self) -> Option<Position> {
        let step = self.header.points.load(Relaxed).checked_sub(1)?;
        let time = f64::from_bits(self.header.time.load(Relaxed));
        // Anything else was written by accident: a run takes years for so many steps.
        let is_likely = time.is_finite() && step < MOST_STEPS;
        is_likely.then_some(Position { time, step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r62_texts_are_kept_one_after_the_other_as_far_as_they_fit() {
        let board = Board::create().unwrap();
        assert_eq!(board.unsaid(), None);
        board.leave_unsaid("error: one\n");
        board.leave_unsaid("two\n");
        assert_eq!(board.unsaid().as_deref(), Some("error: one\ntwo\n"));
        board.leave_unsaid(&"x".repeat(2 * UNSAID_BYTES));
        assert_eq!(board.unsaid().unwrap().len(), UNSAID_BYTES - 1);
    }

    #[test]
    fn a_library_in_memory_has_the_name_of_its_file() {
        assert_eq!(plain_name("memfd:Wheel.so (deleted)"), "Wheel.so");
        assert_eq!(plain_name("Wheel.so (deleted)"), "Wheel.so");
        assert_eq!(plain_name("Wheel.so"), "Wheel.so");
    }

    #[test]
    fn r47_what_was_written_by_accident_says_nothing() {
        let board = Board::create().unwrap();
        for word in [u64::MAX, 1, 2, 0x0202_0202_0202_0202] {
            let half = word as u32;
            let header = board.header;
            for target in [&header.stop, &header.panicked] {
                target.store(half, Relaxed);
            }
            header.phase.store(word, Relaxed);
            header.phase_check.store(word, Relaxed);
            header.rows.fill(word as u8);
            header.crash.signal.store(half.cast_signed() << 8, Relaxed);
            assert_eq!(board.phase().0, Phase::Running);
            assert!(!board.has_panicked());
            assert_eq!(header.rows.last(), None);
            assert_eq!(header.crash.library(), None);
            header.points.store(word, Relaxed);
            header.time.store(u64::MAX, Relaxed);
            assert_eq!(board.position(), None);
            header.crash.is_overflow.store(half, Relaxed);
            assert!(!header.crash.is_stack_overflow());
        }
        let position = Position {
            time: 2.5,
            step: 25,
        };
        board.at(position);
        assert_eq!(board.position(), Some(position));
        board.enter(Phase::Leaving, 5);
        assert_eq!(board.phase(), (Phase::Leaving, 5));
    }
}
