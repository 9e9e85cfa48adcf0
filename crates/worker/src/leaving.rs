//! The end of a worker.

#![expect(unsafe_code, reason = "calls the C library")]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use gyrator_fmu::flight_recorder::{self, Slot};

use crate::{crash_handler, death};

/// Ends the process without running what FMUs have registered for its end, which often crashes
/// . Their output through the C library appears.
pub(crate) fn leave(code: u8) -> ! {
    // SAFETY: NULL stands for all open streams.
    // Output that cannot be written is lost.
    let _ = unsafe { libc::fflush(ptr::null_mut()) };
    // SAFETY: ends the process.
    unsafe { libc::_exit(code.into()) }
}

/// The program ends by itself.
static IS_LEAVING: AtomicBool = AtomicBool::new(false);

/// The process that reports how an FMU has ended it, and the slots with the calls in progress.
static REPORTED: OnceLock<(libc::pid_t, &'static [Slot])> = OnceLock::new();

/// Lets the process end with `code` and a message where an FMU calls `exit`, which would otherwise
/// pass for the end of the program, and with a message where it crashes. For runs without a supervisor;
/// [`program_ends`] says that the program itself is about to end.
pub fn report_exit_of_fmus(code: u8) {
    static CODE: AtomicU8 = AtomicU8::new(0);
    extern "C" fn report_exit() {
        if IS_LEAVING.load(Ordering::Relaxed) {
            return;
        }
        report("an FMU called exit");
        // SAFETY: ends the process.
        unsafe { libc::_exit(CODE.load(Ordering::Relaxed).into()) }
    }
    CODE.store(code, Ordering::Relaxed);
    let mut is_first = false;
    REPORTED.get_or_init(|| {
        is_first = true;
        // SAFETY: the call takes nothing and cannot fail.
        (unsafe { libc::getpid() }, flight_recorder::record_here())
    });
    if is_first {
        // SAFETY: the function stays where it is until the end.
        // Where it cannot be registered, exit is as without.
        let _ = unsafe { libc::atexit(report_exit) };
        crash_handler::handle(report_crash);
    }
}

/// The handler of crashes.
extern "C" fn report_crash(signal: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the default action runs no code of this process.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: the call takes nothing and cannot fail.
    let process = unsafe { libc::getpid() };
    // Copies that an FMU has made of the process may crash as they like.
    if REPORTED
        .get()
        .is_some_and(|(reported, _)| *reported == process)
    {
        report(death::known_signal(signal).unwrap_or("a signal"));
    }
    // SAFETY: raising a signal is sound; its default action waits for the end of the handler.
    unsafe { libc::raise(signal) };
}

/// Writes what has ended the process, and the calls in progress. Takes no memory: a crash may have spoilt it.
fn report(what: &str) {
    // Where it cannot be written, the end of the process still reports it.
    let write = |text: &[u8]| {
        // SAFETY: the text has that length.
        let _ = unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    };
    write(b"error: ");
    write(what.as_bytes());
    write(b"; without a supervisor nothing more is known");
    let mut separator = &b" than the calls in progress: "[..];
    let slots = REPORTED.get().map_or(&[][..], |(_, slots)| slots);
    flight_recorder::each_call(slots, |activity, name| {
        for text in [separator, activity.name().as_bytes(), b" of ", name] {
            write(text);
        }
        separator = b", ";
    });
    write(b"\n");
}

/// Says that what comes is the end of the program, not an FMU's.
pub fn program_ends() {
    IS_LEAVING.store(true, Ordering::Relaxed);
}
