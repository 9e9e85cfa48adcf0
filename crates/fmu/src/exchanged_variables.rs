//! One load of a library for many instances, whose variables are exchanged between calls.
//!
//! Copies of a library evict each other from what the processor knows by the address of code: branch predictors, the cache of
//! decoded instructions, the translation of addresses. Where [`Variables`] says that a library has few variables
//! and that nothing but calls uses them, many instances call one load of it. Each keeps the variables while another one's are in
//! place: a call finds them as it would find those of a copy.
//!
//! The functions of such an instance are those of this file, and its component is an [`OwnVariables`]. A call takes the load
//! for itself, brings in the variables if another instance has called last, and calls the FMU's function with the FMU's component.
//! Instances may be used by several threads: their calls wait for each other. That would make one of many threads, so
//! that each thread that makes instances has a load of its own ([`Load::is_of_this_thread`]), where calls of this thread cost
//! least ([`HomeLock`]).
//!
//! An FMU whose function calls another instance of the same FMU through gyrator would wait for itself. There is no way to that:
//! its callbacks log, allocate and end steps in the background, and FMUs with such steps have copies.

#![expect(
    unsafe_code,
    reason = "exchanges the variables of libraries and calls their functions"
)]

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_void};
use std::ptr;

use fmi2_abi::{Component, ValueReference};

use crate::home_lock::{HomeLock, Inside};
use crate::library::{Functions, Library};
use crate::stateless::{MOST_EXCHANGED, Variables};

/// The unit in which variables are copied.
type Word = u64;

/// Words that a loop copies.
const SHORT: usize = 4;

const WORDS: usize = MOST_EXCHANGED / size_of::<Word>();

/// A library that serves several instances. It stays for ever, as libraries do.
pub(crate) struct Load {
    /// Held by the thread that uses the variables, in place and kept, and calls functions.
    lock: HomeLock,
    /// The instance whose variables are in place; NULL before the first call.
    in_place: UnsafeCell<*const OwnVariables>,
    variables: NewVariables,
    /// The functions of the FMU.
    functions: &'static Functions,
    /// Functions that call those.
    exchanging: &'static Functions,
    library: Library,
}

/// The variables of a load of a library, as they are before its first call.
pub(crate) struct NewVariables {
    /// Where they lie, and how many words of them.
    places: Box<[(*mut Word, usize)]>,
    /// One place after the other.
    words: Box<[Word]>,
}

/// The variables of an instance, of a library that it has in common with others.
#[repr(C)]
pub(crate) struct OwnVariables {
    load: &'static Load,
    /// The component that the FMU has made.
    component: UnsafeCell<Component>,
    /// Its variables while they are not in place.
    kept: UnsafeCell<[Word; WORDS]>,
    /// Texts that the FMU has given from its variables.
    texts: UnsafeCell<Vec<CString>>,
}

// SAFETY: `in_place` and the places are used inside of the lock alone.
unsafe impl Sync for Load {}
// SAFETY: see above; all else is for all threads.
unsafe impl Send for Load {}
// SAFETY: `component` and `texts` are used by calls of the instance, of which there is one at a time, and `kept` inside of
// the lock alone.
unsafe impl Sync for OwnVariables {}

// SAFETY: the places are used by the instance that has the library, or inside of the lock of a load.
unsafe impl Sync for NewVariables {}
// SAFETY: as above.
unsafe impl Send for NewVariables {}

impl NewVariables {
    /// Of a library that was loaded at `start` and has not been called; `None` if they are not those that its file says.
    pub(crate) fn new(variables: &Variables, start: *mut c_void) -> Option<Self> {
        let place = |range: &std::ops::Range<u64>| {
            let words = (range.end - range.start) as usize / size_of::<Word>();
            (
                start.wrapping_byte_add(range.start as usize).cast::<Word>(),
                words,
            )
        };
        let places: Box<[_]> = variables.ranges.iter().map(place).collect();
        let mut words = vec![0; places.iter().map(|(_, words)| words).sum()];
        // SAFETY: the loader has mapped the variables there, writable, and there is no call that uses them.
        unsafe { copy_out(&places, words.as_mut_ptr()) };
        let found: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let words = words.into_boxed_slice();
        variables
            .are_untouched(&found, start.addr() as u64)
            .then_some(Self { places, words })
    }

    /// Puts them into place again.
    ///
    /// # Safety
    /// No instance uses the library.
    pub(crate) unsafe fn restore(&self) {
        // SAFETY: by the contract of this function.
        unsafe { copy_in(self.words.as_ptr(), &self.places) };
    }
}

impl Load {
    /// A library for many instances, which was loaded at `start` and has not been called; `None` if its variables are not
    /// those that its file says, or [too many](MOST_EXCHANGED).
    pub(crate) fn new(
        library: Library,
        variables: &Variables,
        start: *mut c_void,
    ) -> Option<&'static Self> {
        let variables = NewVariables::new(variables, start)?;
        if variables.words.len() > WORDS {
            return None;
        }
        let mut exchanging = library.functions.with_exchanged_variables();
        exchanging.get_string = get_string;
        exchanging.get_string_status = exchanging.get_string_status.map(|_| get_string_status as _);
        Some(Box::leak(Box::new(Self {
            lock: HomeLock::new(),
            in_place: UnsafeCell::new(ptr::null()),
            variables,
            functions: library.functions,
            exchanging: Box::leak(Box::new(exchanging)),
            library,
        })))
    }

    /// The variables of a new instance.
    fn new_words(&self) -> [Word; WORDS] {
        let mut words = [0; WORDS];
        let new = &self.variables.words;
        words[..new.len()].copy_from_slice(new);
        words
    }

    /// The library for one more instance.
    pub(crate) fn library(&'static self) -> Library {
        let own = OwnVariables {
            load: self,
            component: UnsafeCell::new(ptr::null_mut()),
            kept: UnsafeCell::new(self.new_words()),
            texts: UnsafeCell::default(),
        };
        self.library
            .with_variables(self.exchanging, Box::leak(Box::new(own)))
    }

    /// Whether calls of this thread cost least.
    pub(crate) fn is_of_this_thread(&self) -> bool {
        self.lock.is_at_home()
    }

    /// Puts the variables of `own` into place, for a call.
    #[inline(always)]
    fn enter(&self, own: &OwnVariables) -> Inside<'_> {
        let inside = self.lock.enter();
        // SAFETY: this thread is inside of the lock.
        let before = unsafe { self.in_place.get().replace(own) };
        if !ptr::eq(before, own) {
            self.exchange(before, own);
        }
        inside
    }

    fn exchange(&self, before: *const OwnVariables, own: &OwnVariables) {
        if !before.is_null() {
            // SAFETY: instances stay for ever.
            let kept = unsafe { &*before }.kept.get();
            // SAFETY: this thread is inside of the lock.
            unsafe { copy_out(&self.variables.places, kept.cast()) };
        }
        // SAFETY: the variables lie there, writable; nothing but calls uses them, and this thread is inside of the lock.
        unsafe { copy_in(own.kept.get().cast(), &self.variables.places) };
    }

    /// Whether an address is one of a variable.
    fn has(&self, address: *const c_void) -> bool {
        self.variables.places.iter().any(|(place, words)| {
            let start = place.addr();
            (start..start + words * size_of::<Word>()).contains(&address.addr())
        })
    }
}

/// Copies the variables in place.
///
/// # Safety
/// Variables lie at the places, there is room for them where they are kept, and this thread alone uses both.
unsafe fn copy_out(places: &[(*mut Word, usize)], mut kept: *mut Word) {
    for (place, words) in places {
        // SAFETY: by the contract of this function.
        unsafe { copy(*place, kept, *words) };
        kept = kept.wrapping_add(*words);
    }
}

/// Puts variables that were [copied](copy_out) into place.
///
/// # Safety
/// As of [`copy_out`].
#[inline(always)]
unsafe fn copy_in(mut kept: *const Word, places: &[(*mut Word, usize)]) {
    for (place, words) in places {
        // SAFETY: by the contract of this function.
        unsafe { copy(kept, *place, *words) };
        kept = kept.wrapping_add(*words);
    }
}

/// Copies words, of which there are few: a loop takes less time than a call.
///
/// # Safety
/// As of [`ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn copy(from: *const Word, to: *mut Word, words: usize) {
    if words > SHORT {
        // SAFETY: by the contract of this function.
        unsafe { ptr::copy_nonoverlapping(from, to, words) };
        return;
    }
    for word in 0..words {
        // SAFETY: as above. Volatile, for the compiler to make no call of the loop.
        let value = unsafe { from.wrapping_add(word).read_volatile() };
        // SAFETY: as above.
        unsafe { to.wrapping_add(word).write_volatile(value) };
    }
}

impl OwnVariables {
    /// The instance that a function of this file was given as its component.
    ///
    /// # Safety
    /// The component is one that [`make`](Self::make) has returned.
    #[inline(always)]
    unsafe fn of(component: Component) -> &'static Self {
        // SAFETY: by the contract of this function; instances stay for ever.
        unsafe { &*component.cast::<Self>() }
    }

    /// Makes the component of an instance: calls `make` with its variables in place.
    pub(crate) fn make(&'static self, make: impl FnOnce() -> Component) -> Component {
        let call = self.load.enter(self);
        let made = make();
        // SAFETY: the instance is being made, so that no other call uses it.
        unsafe { *self.component.get() = made };
        drop(call);
        match made.is_null() {
            true => made,
            false => ptr::from_ref(self).cast_mut().cast(),
        }
    }

    /// The component that the FMU knows.
    pub(crate) fn component(&self) -> Component {
        // SAFETY: it is written while the instance is being made, and the calls of an instance come one after the other.
        unsafe { *self.component.get() }
    }

    /// Whether they are of the library that this thread's instances have in common.
    pub(crate) fn are_of_this_thread(&self) -> bool {
        self.load.is_of_this_thread()
    }

    /// Gives the variables of a new instance, where there is no instance of this any more.
    pub(crate) fn renew(&self) {
        let inside = self.load.lock.enter();
        // SAFETY: this thread is inside of the lock.
        let in_place = unsafe { &mut *self.load.in_place.get() };
        if ptr::eq(*in_place, self) {
            *in_place = ptr::null();
        }
        // SAFETY: as above.
        unsafe { *self.kept.get() = self.load.new_words() };
        drop(inside);
    }

    /// Copies texts that lie among the variables, where another call would change them.
    fn keep_texts(&self, given: &mut [fmi2_abi::String]) {
        // SAFETY: the calls of an instance come one after the other.
        let texts = unsafe { &mut *self.texts.get() };
        texts.clear();
        for text in given.iter_mut().filter(|text| self.load.has(text.cast())) {
            // SAFETY: the FMU says that it is a C string.
            texts.push(unsafe { CStr::from_ptr(*text) }.to_owned());
            *text = texts[texts.len() - 1].as_ptr();
        }
    }
}

/// A function of an FMU that has a component.
pub(crate) trait Exchanged: Copy {
    /// A function that calls the one at the byte `AT` of [`Functions`], which is of the same type, with the variables of the
    /// instance in place.
    fn exchanged<const AT: usize>(self) -> Self;
}

/// Makes the component: [`OwnVariables::make`] calls it.
impl Exchanged for fmi2_abi::signature::Instantiate {
    fn exchanged<const AT: usize>(self) -> Self {
        self
    }
}

macro_rules! exchanged {
    ($($argument:ident: $kind:ident),*) => {
        impl<Answer, $($kind),*> Exchanged for unsafe extern "C" fn(Component, $($kind),*) -> Answer {
            fn exchanged<const AT: usize>(self) -> Self {
                unsafe extern "C" fn call<const AT: usize, Answer, $($kind),*>(
                    component: Component,
                    $($argument: $kind),*
                ) -> Answer {
                    type Function<Answer, $($kind),*> = unsafe extern "C" fn(Component, $($kind),*) -> Answer;
                    // SAFETY: the caller passes what `make` has returned.
                    let own = unsafe { OwnVariables::of(component) };
                    let call = own.load.enter(own);
                    let function = ptr::from_ref(own.load.functions).wrapping_byte_add(AT);
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

exchanged!();
exchanged!(a: A);
exchanged!(a: A, b: B);
exchanged!(a: A, b: B, c: C);
exchanged!(a: A, b: B, c: C, d: D);
exchanged!(a: A, b: B, c: C, d: D, e: E);
exchanged!(a: A, b: B, c: C, d: D, e: E, f: F);

/// `fmi2GetString`.
///
/// # Safety
/// As of the FMU's, with a component that [`OwnVariables::make`] has returned.
unsafe extern "C" fn get_string(
    component: Component,
    references: *const ValueReference,
    count: usize,
    values: *mut fmi2_abi::String,
) -> fmi2_abi::Status {
    // SAFETY: the caller passes what `make` has returned.
    let own = unsafe { OwnVariables::of(component) };
    let call = own.load.enter(own);
    let function = own.load.functions.get_string;
    // SAFETY: the caller answers for all else.
    let status = unsafe { function(own.component(), references, count, values) };
    if matches!(status, fmi2_abi::OK | fmi2_abi::WARNING) {
        // SAFETY: the caller has room for so many texts.
        own.keep_texts(unsafe { std::slice::from_raw_parts_mut(values, count) });
    }
    drop(call);
    status
}

/// `fmi2GetStringStatus`.
///
/// # Safety
/// As of the FMU's, with a component that [`OwnVariables::make`] has returned.
unsafe extern "C" fn get_string_status(
    component: Component,
    kind: fmi2_abi::StatusKind,
    value: *mut fmi2_abi::String,
) -> fmi2_abi::Status {
    // SAFETY: the caller passes what `make` has returned.
    let own = unsafe { OwnVariables::of(component) };
    let Some(function) = own.load.functions.get_string_status else {
        return fmi2_abi::ERROR;
    };
    let call = own.load.enter(own);
    // SAFETY: the caller answers for all else.
    let status = unsafe { function(own.component(), kind, value) };
    if matches!(status, fmi2_abi::OK | fmi2_abi::WARNING) {
        // SAFETY: the caller has room for the text.
        own.keep_texts(unsafe { std::slice::from_raw_parts_mut(value, 1) });
    }
    drop(call);
    status
}
