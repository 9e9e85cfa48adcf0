//! Current activity of each instance, for another process or for the report on a crash.
//!
//! Every instance has a [`Slot`] in which it notes each call before and after it is made: two
//! relaxed stores, a third one before a step for its time. Calls that come in every step read none of
//! it again: a load of what was just stored would cost more than the stores. The slots are memory of
//! this process, unless [`record_to`] gave others first, which another process can read when this one
//! has died in a call, or does not come back from it.

mod cursor;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Mutex, PoisonError};

use fmi2_abi::Function;

use crate::memory::resident_bytes;
pub(crate) use cursor::{Cursor, Tag};
pub use cursor::{each_call, readings};

/// Activity of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// A function of the FMU was called and has not returned.
    Call(Function),
    /// `fmi2Instantiate` was called and has not returned.
    Instantiate,
    /// The archive and the description are being read.
    Open,
    /// Resources and binaries are being written to disk.
    Unpack,
    /// Its sources are being compiled.
    Compile,
    /// The library is being loaded; its initialisers may run.
    LoadLibrary,
    /// A process of its own was asked for something and has not answered.
    OwnProcess,
}

impl Activity {
    const PHASES: [Self; 6] = [
        Self::Instantiate,
        Self::Open,
        Self::Unpack,
        Self::LoadLibrary,
        Self::OwnProcess,
        Self::Compile,
    ];
    /// Codes of functions begin after 0 (idle); codes of the other phases begin here.
    const FIRST_PHASE: u8 = 0xf0;

    /// The C name of the function, or the phase in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call(function) => function.name(),
            Self::Instantiate => "fmi2Instantiate",
            Self::Open => "reading the archive",
            Self::Unpack => "unpacking the archive",
            Self::Compile => "compiling the sources",
            Self::LoadLibrary => "loading the library",
            Self::OwnProcess => "a call in its own process",
        }
    }

    /// Whether code of the FMU may be running.
    const fn runs_the_fmu(self) -> bool {
        !matches!(
            self,
            Self::Open | Self::Unpack | Self::Compile | Self::OwnProcess
        )
    }

    #[inline]
    const fn code(self) -> u8 {
        match self {
            Self::Call(function) => function as u8 + 1,
            Self::Instantiate => Self::FIRST_PHASE,
            Self::Open => Self::FIRST_PHASE + 1,
            Self::Unpack => Self::FIRST_PHASE + 2,
            Self::LoadLibrary => Self::FIRST_PHASE + 3,
            Self::OwnProcess => Self::FIRST_PHASE + 4,
            Self::Compile => Self::FIRST_PHASE + 5,
        }
    }

    /// `None` for idleness, and for codes that are never written.
    fn from_code(code: u8) -> Option<Self> {
        let functions = Function::ALL.into_iter().map(Self::Call);
        functions
            .chain(Self::PHASES)
            .find(|activity| activity.code() == code)
    }
}

/// Bytes of a name that are kept.
const NAME_BYTES: usize = 80;
/// An odd number whose multiples differ in all bits: 2⁶⁴ by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Current activity of one instance. A slot that is all zero is free.
///
/// Another process may share it and change it at any time: nothing in it is trusted.
#[repr(C, align(64))]
pub struct Slot {
    /// The code of the activity; 0 between calls.
    activity: AtomicU64,
    /// Simulated time at which the last step began, or the run; bits of a double, plus 1: 0 is none.
    time: AtomicU64,
    /// Not 0: each step measures by how much the memory of the process grows in it.
    measures_memory: AtomicU32,
    /// Length of the name; 0 if the slot is free.
    name_length: AtomicU32,
    /// Bytes by which the memory of the process has grown while it was measured.
    grown: AtomicU64,
    /// Steps during which it was measured.
    measured_steps: AtomicU64,
    name: [AtomicU64; NAME_BYTES / 8],
    /// Activities so far, without the calls that come in every step.
    count: AtomicU64,
}

/// A slot as it was at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Name of the instance, or of the file while it is being opened. Cut after 80 bytes.
    pub name: String,
    /// Current activity; `None` between calls.
    pub activity: Option<Activity>,
    /// Changes with the activity, the time of the step, and each call that does not come in every
    /// step: equal in two readings means that nothing happened, or hardly anything.
    pub marker: u64,
    /// Simulated time at which its last step began, or the run before the first step; in the unit
    /// of time of the FMU, usually s.
    pub time: Option<f64>,
    /// By how many bytes its steps have let the memory grow, and how many steps were measured
    /// ([`Slot::measure_memory`]).
    pub growth: (u64, u64),
}

impl Slot {
    /// A free slot.
    const fn new() -> Self {
        Self {
            activity: AtomicU64::new(0),
            time: AtomicU64::new(0),
            measures_memory: AtomicU32::new(0),
            name_length: AtomicU32::new(0),
            grown: AtomicU64::new(0),
            measured_steps: AtomicU64::new(0),
            name: [const { AtomicU64::new(0) }; NAME_BYTES / 8],
            count: AtomicU64::new(0),
        }
    }

    /// Notes the activity while `work` is done.
    pub fn during<T>(&self, activity: Activity, work: impl FnOnce() -> T) -> T {
        self.count_one();
        self.quickly(activity, work)
    }

    /// Notes a call of a function while it is made.
    pub(crate) fn call<T>(&self, function: Function, call: impl FnOnce() -> T) -> T {
        self.during(Activity::Call(function), call)
    }

    /// As [`call`](Self::call), for the calls of every step: its time distinguishes them.
    #[inline(always)]
    pub(crate) fn call_of_step<T>(&self, function: Function, call: impl FnOnce() -> T) -> T {
        self.quickly(Activity::Call(function), call)
    }

    #[inline(always)]
    fn quickly<T>(&self, activity: Activity, work: impl FnOnce() -> T) -> T {
        self.activity.store(u64::from(activity.code()), Relaxed);
        let result = work();
        self.activity.store(0, Relaxed);
        result
    }

    /// Lets what comes next differ from what was before.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_one(&self) {
        // One thread at a time uses an instance, so nothing else writes between load and store.
        let count = self.count.load(Relaxed).wrapping_add(1);
        self.count.store(count, Relaxed);
    }

    /// Notes the simulated time of the instance.
    #[inline(always)]
    pub(crate) fn set_time(&self, time: f64) {
        self.time.store(time.to_bits().wrapping_add(1), Relaxed);
    }

    /// Notes a step from `time`.
    #[inline(always)]
    pub(crate) fn step<T>(&self, time: f64, call: impl FnOnce() -> T) -> T {
        self.set_time(time);
        self.call_of_step(Function::DoStep, call)
    }

    /// As [`step`](Self::step); measures what was asked for.
    pub(crate) fn measured_step<T>(&self, time: f64, call: impl FnOnce() -> T) -> T {
        if self.is_asked_to_measure() {
            self.step(time, || self.measured(call))
        } else {
            self.step(time, call)
        }
    }

    /// Whether the growth of the memory in each step is to be measured.
    pub(crate) fn is_asked_to_measure(&self) -> bool {
        self.measures_memory.load(Relaxed) != 0
    }

    /// Adds up by how much the memory of the process grows, and counts the call.
    #[cold]
    #[inline(never)]
    fn measured<T>(&self, call: impl FnOnce() -> T) -> T {
        let before = resident_bytes();
        let result = call();
        if let (Some(before), Some(after)) = (before, resident_bytes()) {
            self.grown.fetch_add(after.saturating_sub(before), Relaxed);
            self.measured_steps.fetch_add(1, Relaxed);
        }
        result
    }

    /// Asks the instance to measure the growth of the memory in each step, which takes some
    /// microseconds a step, or to do so no longer. It follows within 16 steps.
    pub fn measure_memory(&self, is_wanted: bool) {
        self.measures_memory.store(u32::from(is_wanted), Relaxed);
    }

    /// Reads the slot; `None` if it is free, or its name makes no sense: an FMU may have written
    /// over it.
    #[must_use]
    pub fn read(&self) -> Option<Reading> {
        let (bytes, length) = self.name_bytes();
        if length == 0 {
            return None;
        }
        let name = std::str::from_utf8(&bytes[..length]).ok()?.to_owned();
        let (activity, time, marker) = self.words();
        Some(Reading {
            name,
            activity: u8::try_from(activity).ok().and_then(Activity::from_code),
            marker,
            time: time_of(time),
            growth: (self.grown.load(Relaxed), self.measured_steps.load(Relaxed)),
        })
    }

    /// The bytes of the name; none if it makes no sense.
    fn name_bytes(&self) -> ([u8; NAME_BYTES], usize) {
        let mut bytes = [0; NAME_BYTES];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&self.name) {
            *place = word.load(Relaxed).to_le_bytes();
        }
        let length = self.name_length.load(Relaxed) as usize;
        (bytes, if length > NAME_BYTES { 0 } else { length })
    }

    /// The [marker](Reading::marker), and whether code of the FMU may be running.
    #[must_use]
    pub fn progress(&self) -> (u64, bool) {
        let (activity, _, marker) = self.words();
        let activity = u8::try_from(activity).ok().and_then(Activity::from_code);
        (marker, activity.is_some_and(Activity::runs_the_fmu))
    }

    /// The activity, the time and the [marker](Reading::marker).
    fn words(&self) -> (u64, u64, u64) {
        let activity = self.activity.load(Relaxed);
        let time = self.time.load(Relaxed);
        let count = self.count.load(Relaxed);
        let marker = (time ^ count.wrapping_mul(SPREAD)).wrapping_mul(SPREAD) ^ activity;
        (activity, time, marker)
    }

    /// Forgets the last user, but counts on: a new marker is equal to no old one.
    fn reset(&self) {
        // A panic in a call leaves its activity behind.
        self.activity.store(0, Relaxed);
        self.count_one();
        self.time.store(0, Relaxed);
        self.measures_memory.store(0, Relaxed);
        self.grown.store(0, Relaxed);
        self.measured_steps.store(0, Relaxed);
    }

    fn set_name(&self, name: &str) {
        let mut bytes = [0; NAME_BYTES];
        let length = name.floor_char_boundary(NAME_BYTES);
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        for (word, bytes) in self.name.iter().zip(bytes.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Relaxed);
        }
        self.name_length.store(length as u32, Relaxed);
    }
}

/// The simulated time that a slot's word holds, s.
fn time_of(word: u64) -> Option<f64> {
    (word != 0).then(|| f64::from_bits(word.wrapping_sub(1)))
}

/// Free slots.
static FREE: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Whether another process watches the calls of this one, and ends it if one takes too long.
pub(crate) fn is_watched() -> bool {
    IS_WATCHED.load(Relaxed)
}

/// Lets instances that are made from now on use these slots first. They all have to be zero. The
/// process that shares them has to limit the time of calls: steps in the background have no limit
/// of their own then.
pub fn record_to(slots: &'static [Slot]) {
    IS_WATCHED.store(true, Relaxed);
    add(slots);
}

/// Lets instances that are made from now on use slots of this process first, which it [reads](each_call) if it crashes.
#[must_use]
pub fn record_here() -> &'static [Slot] {
    /// A system has fewer components, or the rest goes without a name.
    const OWN: usize = 256;
    let slots = Box::leak(Box::new([const { Slot::new() }; OWN]));
    add(slots);
    slots
}

fn add(slots: &'static [Slot]) {
    cursor::share(slots);
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    // The last one is taken first.
    free.extend(slots.iter().rev());
}

/// A slot in use, free again when this is dropped.
pub struct SlotGuard(&'static Slot);

impl SlotGuard {
    /// Takes a slot for an instance of this name, or for a file.
    pub fn new(name: &str) -> Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = free
            .pop()
            // Kept for the next instance, so that no more are made than are used at a time.
            .unwrap_or_else(|| Box::leak(Box::new(Slot::new())));
        slot.reset();
        slot.set_name(name);
        Self(slot)
    }

    /// The slot.
    #[inline(always)]
    #[must_use]
    pub fn slot(&self) -> &'static Slot {
        self.0
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.0.name_length.store(0, Relaxed);
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct() {
        let functions = Function::ALL.into_iter().map(Activity::Call);
        let all: Vec<Activity> = functions.chain(Activity::PHASES).collect();
        for activity in &all {
            assert_eq!(Activity::from_code(activity.code()), Some(*activity));
        }
        assert_eq!(Activity::from_code(0), None);
        assert_eq!(Activity::from_code(0xff), None);
    }

    #[test]
    fn a_slot_holds_the_call_in_progress() {
        let slot = Slot::new();
        assert_eq!(slot.read(), None);
        slot.set_name("wheel");
        let during = slot.step(0.0, || slot.read()).unwrap();
        assert_eq!(during.name, "wheel");
        assert_eq!(during.activity, Some(Activity::Call(Function::DoStep)));
        assert_eq!(during.time, Some(0.0));
        let after = slot.read().unwrap();
        assert_eq!(after.activity, None);
        assert_eq!(after.time, Some(0.0), "where it was last");
        let next = slot.call(Function::GetReal, || slot.read()).unwrap();
        assert!(next.marker != during.marker && next.marker != after.marker);
        let again = slot.call(Function::GetReal, || slot.read()).unwrap();
        assert_ne!(again.marker, next.marker);
        let markers = [0.1, 0.2].map(|time| slot.step(time, || slot.progress().0));
        assert_ne!(markers[0], markers[1]);
        let get = || slot.call_of_step(Function::GetReal, || slot.progress());
        let set = slot.call_of_step(Function::SetReal, || slot.progress());
        assert!(get().1 && get() != set && get().0 != markers[1]);
    }

    #[test]
    fn r25_unpacking_is_no_call_of_the_fmu() {
        let slot = Slot::new();
        for (activity, is_timed) in [
            (Activity::Open, false),
            (Activity::Unpack, false),
            (Activity::Compile, false),
            (Activity::LoadLibrary, true),
            (Activity::Instantiate, true),
            (Activity::Call(Function::DoStep), true),
        ] {
            let (_, is_call) = slot.during(activity, || slot.progress());
            assert_eq!(is_call, is_timed, "{activity:?}");
        }
        assert!(!slot.progress().1);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let slot = Slot::new();
        slot.set_name(&"ä".repeat(60));
        assert_eq!(slot.read().unwrap().name, "ä".repeat(NAME_BYTES / 2));
        slot.set_name(&format!("x{}", "ä".repeat(60)));
        assert_eq!(slot.read().unwrap().name.len(), NAME_BYTES - 1);
    }

    #[test]
    fn r47_a_name_that_was_overwritten_is_none() {
        let slot = Slot::new();
        slot.set_name("wheel");
        slot.name_length.store(u32::MAX, Relaxed);
        assert_eq!(slot.read(), None);
        slot.name_length.store(5, Relaxed);
        slot.name[0].store(u64::MAX, Relaxed);
        assert_eq!(slot.read(), None);
    }

    #[test]
    fn a_slot_forgets_its_last_user() {
        let slot = Slot::new();
        slot.set_name("first");
        slot.set_time(3.0);
        slot.measure_memory(true);
        slot.measured(|| ());
        let call = || slot.call(Function::GetReal, || panic!("in a call"));
        assert!(std::panic::catch_unwind(call).is_err());
        let old = slot.read().unwrap();
        assert!(old.activity.is_some(), "the panic leaves it");
        slot.reset();
        slot.set_name("second");
        let new = slot.read().unwrap();
        assert_eq!((new.activity, new.time, new.growth), (None, None, (0, 0)));
        assert_ne!(new.marker, old.marker);
        slot.measured_step(0.0, || ());
        assert_eq!(slot.read().unwrap().growth, (0, 0), "no longer measured");
    }

    /// Nanoseconds per call of the least of many short stretches, which other programs disturb least.
    fn nanoseconds(mut call: impl FnMut(u64)) -> f64 {
        const CALLS: u64 = 20_000;
        let stretch = |_| {
            let begin = std::time::Instant::now();
            (0..CALLS).for_each(&mut call);
            begin.elapsed().as_secs_f64() * 1e9 / CALLS as f64
        };
        (0..500).map(stretch).fold(f64::INFINITY, f64::min)
    }

    /// The price of supervision per call (docs/reliability.md). Of use in a release build only:
    /// `cargo test --release -p gyrator-fmu price -- --ignored --nocapture`.
    #[test]
    #[ignore = "measures"]
    fn price_of_a_note() {
        // An FMU that does nearly nothing, behind a pointer that the compiler cannot resolve.
        let function: fn(u64) -> u64 = std::hint::black_box(|number| number ^ 1);
        let slot: &'static Slot = std::hint::black_box(Box::leak(Box::new(Slot::new())));
        let bare = nanoseconds(|number| {
            std::hint::black_box(function(number));
        });
        let call = nanoseconds(|number| {
            std::hint::black_box(slot.call_of_step(Function::GetReal, || function(number)));
        });
        let step = nanoseconds(|number| {
            std::hint::black_box(slot.step(number as f64, || function(number)));
        });
        println!(
            "bare call {bare:.2} ns; a note costs {:.2} ns, that of a step {:.2} ns",
            call - bare,
            step - bare
        );
        assert!(call - bare <= 1.0 && step - bare <= 1.0);
    }

    #[test]
    fn memory_is_measured_on_request_only() {
        let slot = Slot::new();
        slot.set_name("leak");
        let leak = || std::mem::forget(std::hint::black_box(vec![1_u8; 8 << 20]));
        slot.measured_step(0.0, leak);
        assert_eq!(slot.read().unwrap().growth, (0, 0));
        if resident_bytes().is_none() {
            return;
        }
        slot.measure_memory(true);
        slot.measured_step(0.1, leak);
        let (grown, steps) = slot.read().unwrap().growth;
        assert_eq!(steps, 1);
        assert!(grown > 6 << 20, "{grown}");
        slot.measure_memory(false);
        slot.measured_step(0.2, leak);
        assert_eq!(slot.read().unwrap().growth, (grown, steps));
    }
}
