//! The end of a worker.

#![expect(unsafe_code, reason = "calls the C library")]

use std::ptr;

/// Ends the process without running what FMUs have registered for its end, which often crashes
/// . What they have printed through the C library appears.
pub(crate) fn leave(code: u8) -> ! {
    // SAFETY: NULL stands for all open streams.
    // What cannot be written is lost.
    let _ = unsafe { libc::fflush(ptr::null_mut()) };
    // SAFETY: ends the process.
    unsafe { libc::_exit(code.into()) }
}
