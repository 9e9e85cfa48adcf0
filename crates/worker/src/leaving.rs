//! The end of a worker.

#![expect(unsafe_code, reason = "calls the C library")]

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

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

/// Lets the process end with `code` and a message where an FMU calls `exit`, which would otherwise
/// pass for the end of the program. For runs without a supervisor; [`program_ends`] says that
/// the program itself is about to end.
pub fn report_exit_of_fmus(code: u8) {
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
    static CODE: AtomicU8 = AtomicU8::new(0);
    extern "C" fn report_exit() {
        if IS_LEAVING.load(Ordering::Relaxed) {
            return;
        }
        const TEXT: &[u8] =
            b"error: an FMU called exit; without a supervisor nothing more is known\n";
        // SAFETY: the text has that length.
        // Where it cannot be written, the exit code still reports it.
        let _ = unsafe { libc::write(2, TEXT.as_ptr().cast(), TEXT.len()) };
        // SAFETY: ends the process.
        unsafe { libc::_exit(CODE.load(Ordering::Relaxed).into()) }
    }
    CODE.store(code, Ordering::Relaxed);
    if !IS_REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the function stays where it is until the end.
        // Where it cannot be registered, exit is as without.
        let _ = unsafe { libc::atexit(report_exit) };
    }
}

/// Says that what comes is the end of the program, not an FMU's.
pub fn program_ends() {
    IS_LEAVING.store(true, Ordering::Relaxed);
}
