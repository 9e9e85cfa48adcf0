//! The signals that ask a program to end, and settings of signals that it inherits.

#![expect(unsafe_code, reason = "calls the C library")]

use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// Ctrl-C, the end of a service or a job, the end of a terminal.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Signals that ask to end wait on this thread, and on threads and processes that it starts meanwhile,
/// for as long as this lives.
#[derive(Debug)]
pub struct Held {
    /// `None` if the system did not change the mask.
    previous: Option<SigSet>,
    /// The mask belongs to a thread.
    not_send: PhantomData<*const ()>,
}

/// Holds signals that ask to end: a program that starts a worker and then installs its handlers hears
/// also one that comes in between.
#[must_use]
pub fn hold() -> Held {
    Held {
        previous: ending().thread_swap_mask(SigmaskHow::SIG_BLOCK).ok(),
        not_send: PhantomData,
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            // The only error is a wrong mask.
            let _ = previous.thread_set_mask();
        }
    }
}

fn ending() -> SigSet {
    ENDING.into_iter().collect()
}

/// Lets `install` put handlers of the signals that ask to end in place. SIGHUP stays ignored if it
/// was, as by `nohup`. If `install` fails, the signals act as before.
///
/// # Errors
/// As `install`.
pub fn install_handlers<E>(install: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let before = ENDING.map(|signal| (signal as c_int, action(signal as c_int, None)));
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
    let mut ignoring = no_action();
    ignoring.sa_sigaction = nothing as *const () as usize;
    ignoring.sa_flags = libc::SA_RESTART;
    for signal in ENDING {
        // If it cannot be installed, the signal ends this process, and the parent says so.
        action(signal as c_int, Some(&ignoring));
    }
    // The parent may have held them while it started this process. The only error is a wrong mask.
    let _ = ending().thread_unblock();
}

/// An action without flags, which blocks no other signal.
pub(crate) fn no_action() -> libc::sigaction {
    // SAFETY: all zero is such an action.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Returns the action of a signal, after which a new one is in its place. What is called in a handler may call this.
pub(crate) fn action(signal: c_int, new: Option<&libc::sigaction>) -> libc::sigaction {
    let mut before = no_action();
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the new action is NULL, or it is complete and its handler does what a handler may, or was there before.
    // The only error is a wrong number.
    let _ = unsafe { libc::sigaction(signal, new, &raw mut before) };
    before
}

/// Gives a signal its default action, which runs no code of this process.
pub(crate) fn reset(signal: c_int) {
    action(signal, Some(&no_action()));
}

/// Lets writes beyond the limit on the size of files fail instead of ending the process.
pub fn survive_file_size_limit() {
    let mut ignoring = no_action();
    ignoring.sa_sigaction = libc::SIG_IGN;
    action(libc::SIGXFSZ, Some(&ignoring));
}

/// Lets the system say how the children of this process end, also if the program that started it
/// ignores SIGCHLD and has passed that on.
pub fn hear_of_children() {
    reset(libc::SIGCHLD);
}
