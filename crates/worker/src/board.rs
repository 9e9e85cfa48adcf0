//! What parent and worker of a supervised run share: wishes of the parent, and how far the worker
//! is, in a form that survives it.

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

use crate::shareable;
use crate::shared_memory::{self, Shareable, SharedMemory};

// SAFETY: a slot is a `repr(C)` structure of atomics, made to be shared.
unsafe impl Shareable for Slot {}

/// Instances that are watched at a time. More than these run as well, but a crash of theirs is
/// told without a name.
pub(crate) const SLOTS: usize = 1024;
/// Where the slots begin.
const SLOTS_OFFSET: usize = 4096;
/// Bytes of the name of a library.
pub(crate) const LIBRARY_BYTES: usize = 256;

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
    /// What is told once per run or step; each field has one writer.
    pub(crate) struct Header {
        /// Parent: not 0 asks the run to end at its next communication point. A futex.
        stop: AtomicU32,
        /// Worker: a [`Phase`].
        phase: AtomicU32,
        /// Worker: the exit code that goes with the phase.
        code: AtomicU32,
        /// Worker: not 0 if its own code has panicked.
        panicked: AtomicU32,
        /// Worker: communication points so far, and 1.
        points: AtomicU64,
        /// Worker: simulated time of the last communication point, s, as bits.
        time: AtomicU64,
        pub(crate) rows: Rows,
        pub(crate) crash: Crash,
    }
}

shareable! {
    /// How far the result file is, in bytes from its beginning.
    pub(crate) struct Rows {
        /// Up to the end of the last whole row.
        pub(crate) end: AtomicU64,
        /// What the file has for certain.
        pub(crate) written: AtomicU64,
        /// Rows up to `end`.
        pub(crate) count: AtomicU64,
        /// Not 0 while bytes are being written.
        pub(crate) is_writing: AtomicU32,
        /// Not 0 if the file is written from its beginning, so that rows have places in it.
        pub(crate) has_places: AtomicU32,
    }
}

shareable! {
    /// What the signal handler has seen of a crash; see [`crate::crash_handler`].
    pub(crate) struct Crash {
        /// The signal; 0 for none.
        pub(crate) signal: AtomicI32,
        /// Its `si_code`.
        pub(crate) code: AtomicI32,
        /// The thread.
        pub(crate) thread: AtomicI32,
        /// Not 0 if the stack was full.
        pub(crate) is_overflow: AtomicU32,
        /// The file whose code was running, up to the first 0.
        pub(crate) library: [AtomicU8; LIBRARY_BYTES],
    }
}

const _: () = assert!(size_of::<Header>() <= SLOTS_OFFSET);

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
        is_known.then(|| String::from_utf8_lossy(&name).into_owned())
    }

    /// Whether it was another thread than the first one of this process.
    pub(crate) fn is_in_other_thread(&self, process: u32) -> bool {
        let thread = u32::try_from(self.thread.load(Relaxed)).unwrap_or(0);
        self.is_noted() && thread != process
    }

    fn is_noted(&self) -> bool {
        self.signal.load(Acquire) != 0
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
        self.header.stop.store(1, Release);
        // Nobody waits where the worker does not listen.
        let _ = shared_memory::wake(&self.header.stop, u32::MAX);
    }

    /// Waits until the run is asked to end.
    pub(crate) fn wait_for_stop(&self) {
        while self.header.stop.load(Acquire) == 0 {
            if shared_memory::wait(&self.header.stop, 0, None).is_err() {
                return;
            }
        }
    }

    /// Notes the phase, and the exit code that goes with it.
    pub(crate) fn enter(&self, phase: Phase, code: u8) {
        self.header.code.store(code.into(), Relaxed);
        self.header.phase.store(phase as u32, Release);
    }

    /// The phase, and the exit code that goes with it.
    pub(crate) fn phase(&self) -> (Phase, u8) {
        let phase = match self.header.phase.load(Acquire) {
            1 => Phase::Complete,
            2 => Phase::Leaving,
            _ => Phase::Running,
        };
        (phase, self.header.code.load(Relaxed) as u8)
    }

    /// Notes that code of the worker itself has panicked.
    pub(crate) fn panicked(&self) {
        self.header.panicked.store(1, Release);
    }

    pub(crate) fn has_panicked(&self) -> bool {
        self.header.panicked.load(Acquire) != 0
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
        Some(Position { time, step })
    }
}
