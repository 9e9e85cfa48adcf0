//! What the C library keeps between calls, for each instance apart.
//!
//! `rand` and its kin have one state for all of a process. An FMU that uses them would get numbers that depend on
//! who else draws some: other instances, other FMUs, other runs, the program itself. So each instance that is not alone in its
//! process and whose library imports one of [`FUNCTIONS`] has its own state, which begins as in a new process. Its calls
//! install it and finally put the former one back. They hold one lock of the process meanwhile, so that no two threads
//! use the C library's state at once. `strtok` is safe within a call; its place in a text from one call to the next is
//! not kept apart.
//!
//! Such an instance gets the functions of this file, and its component is an [`OwnState`]. The calls of all
//! other instances cost nothing.

#![expect(
    unsafe_code,
    reason = "calls the C library and the functions of the FMU"
)]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{c_char, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fmi2_abi::Component;

use crate::functions::{Functions, Guarded};

/// Functions of the C library with a state of the process, which this file keeps for each instance (POSIX.1-2024: they
/// "need not be thread-safe").
const FUNCTIONS: &[&str] = &[
    "drand48",
    "erand48",
    "initstate",
    "jrand48",
    "lrand48",
    "mrand48",
    "nrand48",
    "rand",
    "random",
    "seed48",
    "setstate",
    "srand",
    "srand48",
    "srandom",
    "strtok",
];

/// Functions of the C library with a state of the process that cannot be read and put back.
const WITHOUT_ACCESS: &[&str] = &["hcreate", "hsearch", "lcong48"];

/// The functions among these symbols that are kept apart for each instance.
pub(crate) fn kept_apart(undefined: &BTreeSet<String>) -> Vec<&'static str> {
    used(FUNCTIONS, undefined)
}

/// The functions among these symbols that instances in one process share, whatever one does.
pub(crate) fn shared(undefined: &BTreeSet<String>) -> Vec<&'static str> {
    used(WITHOUT_ACCESS, undefined)
}

fn used(functions: &[&'static str], undefined: &BTreeSet<String>) -> Vec<&'static str> {
    let functions = if cfg!(unix) { functions } else { &[] };
    let used = functions.iter().filter(|name| undefined.contains(**name));
    used.copied().collect()
}

/// Held by the thread that calls an FMU with a state of its own.
static IN_USE: Mutex<()> = Mutex::new(());

thread_local! {
    /// Whether this thread holds it: what an FMU calls back may call another instance.
    static IS_HELD: Cell<bool> = const { Cell::new(false) };
}

/// Bytes of the state of `random`: as many as a new process has (glibc's `TYPE_3`).
const RANDOM_BYTES: usize = 128;

/// The seed that a new process has.
const FIRST_SEED: c_uint = 1;

#[cfg(unix)]
unsafe extern "C" {
    fn initstate(seed: c_uint, state: *mut c_char, bytes: usize) -> *mut c_char;
    fn setstate(state: *mut c_char) -> *mut c_char;
    fn seed48(seed: *mut [u16; 3]) -> *mut [u16; 3];
}

/// Other systems have other functions: none of [`FUNCTIONS`] is kept apart there.
#[cfg(not(unix))]
mod other {
    use super::{c_char, c_uint};

    pub(super) unsafe fn initstate(_: c_uint, state: *mut c_char, _: usize) -> *mut c_char {
        state
    }

    pub(super) unsafe fn setstate(state: *mut c_char) -> *mut c_char {
        state
    }

    pub(super) unsafe fn seed48(seed: *mut [u16; 3]) -> *mut [u16; 3] {
        seed
    }
}
#[cfg(not(unix))]
use other::{initstate, seed48, setstate};

/// What the C library keeps, for one instance. The lock keeps its users apart.
pub(crate) struct CState {
    /// The memory of the state of `random`: in `bytes`, or given by the FMU to `initstate`.
    random: AtomicPtr<c_char>,
    /// The state of `drand48`.
    drand48: [AtomicU16; 3],
    _bytes: Box<[AtomicU64; RANDOM_BYTES / 8]>,
}

/// A call with a state in place.
struct Call<'a> {
    state: &'a CState,
    /// The states that were in place before.
    random: *mut c_char,
    drand48: [u16; 3],
    lock: Lock,
}

impl CState {
    /// The state that a new process has.
    pub(crate) fn new() -> Self {
        let bytes = Box::new([const { AtomicU64::new(0) }; RANDOM_BYTES / 8]);
        let place = (&raw const *bytes).cast::<c_char>().cast_mut();
        let lock = Lock::take();
        // SAFETY: there are so many bytes, which live as long as the state is in use, and the lock is held.
        let before = unsafe { initstate(FIRST_SEED, place, RANDOM_BYTES) };
        set_random(before, &lock);
        drop(lock);
        Self {
            random: AtomicPtr::new(place),
            drand48: Default::default(),
            _bytes: bytes,
        }
    }

    /// Does something with the state in place.
    pub(crate) fn during<T>(&self, act: impl FnOnce() -> T) -> T {
        let _call = Call::begin(self);
        act()
    }
}

/// The lock of the C library's state; no more than one a thread.
struct Lock(Option<MutexGuard<'static, ()>>);

impl Lock {
    fn take() -> Self {
        let is_held = IS_HELD.replace(true);
        Self((!is_held).then(|| IN_USE.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.0.is_some() {
            IS_HELD.set(false);
        }
    }
}

impl<'a> Call<'a> {
    #[inline]
    fn begin(state: &'a CState) -> Self {
        let lock = Lock::take();
        let random = set_random(state.random.load(Relaxed), &lock);
        let own = state.drand48.each_ref().map(|part| part.load(Relaxed));
        let drand48 = set_drand48(own, &lock);
        Self {
            state,
            random,
            drand48,
            lock,
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let random = set_random(self.random, &self.lock);
        self.state.random.store(random, Relaxed);
        let own = set_drand48(self.drand48, &self.lock);
        for (part, own) in self.state.drand48.iter().zip(own) {
            part.store(own, Relaxed);
        }
    }
}

/// Puts a state of `random` into place: one that `initstate` has made, or that was in place before. Returns the former one.
fn set_random(state: *mut c_char, _lock: &Lock) -> *mut c_char {
    // SAFETY: such a state lives as long as its instance, and the lock is held.
    unsafe { setstate(state) }
}

/// Puts a state of `drand48` into place. Returns the former one.
fn set_drand48(mut state: [u16; 3], _lock: &Lock) -> [u16; 3] {
    // SAFETY: the seed lives during the call, and the lock is held.
    let former = unsafe { seed48(&raw mut state) };
    // SAFETY: the C library returns a pointer to the former seed; the lock is held.
    unsafe { *former }
}

/// An instance with a state of its own: the component that the functions of this file are given.
#[repr(C)]
pub(crate) struct OwnState {
    /// The component that the FMU has made.
    component: AtomicPtr<c_void>,
    functions: &'static Functions,
    state: CState,
}

impl OwnState {
    pub(crate) fn new(functions: &'static Functions, state: CState) -> Self {
        Self {
            component: AtomicPtr::default(),
            functions,
            state,
        }
    }

    /// The state that a function of this file was given as its component.
    ///
    /// # Safety
    /// The component is one that [`make`](Self::make) has returned, and its instance is alive.
    #[inline(always)]
    unsafe fn of<'a>(component: Component) -> &'a Self {
        // SAFETY: by the contract of this function.
        unsafe { &*component.cast::<Self>() }
    }

    /// Makes the component of an instance: calls `make` with its state in place.
    pub(crate) fn make(&self, make: impl FnOnce() -> Component) -> Component {
        let made = self.state.during(make);
        self.component.store(made, Relaxed);
        match made.is_null() {
            true => made,
            false => ptr::from_ref(self).cast_mut().cast(),
        }
    }

    /// The component that the FMU knows.
    pub(crate) fn component(&self) -> Component {
        self.component.load(Relaxed)
    }
}

/// Makes the component: [`OwnState::make`] calls it.
impl Guarded for fmi2_abi::signature::Instantiate {
    fn guarded<const AT: usize>(self) -> Self {
        self
    }
}

macro_rules! guarded {
    ($($argument:ident: $kind:ident),*) => {
        impl<Answer, $($kind),*> Guarded for unsafe extern "C" fn(Component, $($kind),*) -> Answer {
            fn guarded<const AT: usize>(self) -> Self {
                unsafe extern "C" fn call<const AT: usize, Answer, $($kind),*>(
                    component: Component,
                    $($argument: $kind),*
                ) -> Answer {
                    type Function<Answer, $($kind),*> = unsafe extern "C" fn(Component, $($kind),*) -> Answer;
                    // SAFETY: the caller passes what `make` has returned.
                    let own = unsafe { OwnState::of(component) };
                    let call = Call::begin(&own.state);
                    let function = ptr::from_ref(own.functions).wrapping_byte_add(AT);
                    // SAFETY: there is a function of this type at that place.
                    let function = unsafe { function.cast::<Function<Answer, $($kind),*>>().read() };
                    // SAFETY: the caller answers for all else.
                    let answer = unsafe { function(own.component(), $($argument),*) };
                    drop(call);
                    answer
                }
                call::<AT, Answer, $($kind),*>
            }
        }
    };
}

guarded!();
guarded!(a: A);
guarded!(a: A, b: B);
guarded!(a: A, b: B, c: C);
guarded!(a: A, b: B, c: C, d: D);
guarded!(a: A, b: B, c: C, d: D, e: E);
guarded!(a: A, b: B, c: C, d: D, e: E, f: F);
