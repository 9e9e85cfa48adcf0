//! The signals that ask a program to end, and settings of signals that it inherits.

#![expect(unsafe_code, reason = "calls the C library")]

use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

/// Ctrl-C, the end of a service or a job, the end of a terminal.
const ENDING: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Signals that ask to end wait on this thread, and on threads and processes that it starts meanwhile,
/// for as long as this lives.
#[derive(Debug)]
pub struct Held {
    previous: libc::sigset_t,
    /// The mask is that of a thread.
    not_send: PhantomData<*const ()>,
}

/// Holds signals that ask to end: a program that starts a worker and then installs its handlers hears
/// also one that comes in between.
#[must_use]
pub fn hold() -> Held {
    Held {
        previous: mask(libc::SIG_BLOCK, &ending()),
        not_send: PhantomData,
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        mask(libc::SIG_SETMASK, &self.previous);
    }
}

fn ending() -> libc::sigset_t {
    // SAFETY: a set is valid with any bits.
    let mut set: libc::sigset_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the set is valid during the call, which cannot fail.
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in ENDING {
        // SAFETY: the set is valid during the call. The only error is a wrong number.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

/// Changes the mask of this thread; returns the one before.
fn mask(how: c_int, set: &libc::sigset_t) -> libc::sigset_t {
    // SAFETY: a set is valid with any bits.
    let mut previous: libc::sigset_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: both sets are valid during the call. The only error is a wrong `how`.
    unsafe { libc::pthread_sigmask(how, set, &raw mut previous) };
    previous
}

/// Lets `install` put handlers of the signals that ask to end in place. SIGHUP stays ignored where it
/// was, as by `nohup`. Where `install` fails, the signals act as before.
///
/// # Errors
/// Those of `install`.
pub fn install_handlers<E>(install: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let before = ENDING.map(|signal| (signal, action(signal, None)));
    let installed = install();
    for (signal, action_before) in before {
        let is_nohup = signal == libc::SIGHUP && action_before.sa_sigaction == libc::SIG_IGN;
        if installed.is_err() || is_nohup {
            action(signal, Some(&action_before));
        }
    }
    installed
}

/// Leaves it to the parent what becomes of signals that ask to end: they may go to all processes of a
/// service or a job. Programs that an FMU starts get the usual action back.
pub(crate) fn leave_ending_to_parent() {
    extern "C" fn nothing(_: c_int) {}
    // SAFETY: all zero is an action without flags.
    let mut ignoring: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    ignoring.sa_sigaction = nothing as *const () as usize;
    ignoring.sa_flags = libc::SA_RESTART;
    for signal in ENDING {
        // Where it cannot be installed, the signal ends this process, and the parent says so.
        action(signal, Some(&ignoring));
    }
    // The parent may have held them while it started this process.
    mask(libc::SIG_UNBLOCK, &ending());
}

/// Returns the action of a signal, after which a new one is in its place.
fn action(signal: c_int, new: Option<&libc::sigaction>) -> libc::sigaction {
    // SAFETY: all zero is an action without flags.
    let mut before: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the new action is NULL, or it is complete and its handler does nothing or was there before.
    // The only error is a wrong number.
    let _ = unsafe { libc::sigaction(signal, new, &raw mut before) };
    before
}

/// Lets writes beyond the limit on the size of files fail instead of ending the process.
pub fn survive_file_size_limit() {
    // SAFETY: ignoring a signal runs no code.
    // The only error is a wrong number.
    let _ = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Lets the system say how the children of this process end, also where the program that started it
/// ignores SIGCHLD and has passed that on.
pub fn hear_of_children() {
    // SAFETY: the default action runs no code.
    // The only error is a wrong number.
    let _ = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}
