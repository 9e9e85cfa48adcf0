//! A crash on request, for FMUs that test importers.

#![expect(unsafe_code, reason = "calls the C library")]

/// Ends the process as a write through a wild pointer does: by the signal SIGSEGV.
pub fn segmentation_fault() -> ! {
    loop {
        // The standard library's handler, if installed, takes itself out and returns at the first
        // signal; the second one is deadly.
        // SAFETY: raising a signal is sound, whatever its handler does.
        unsafe { libc::raise(libc::SIGSEGV) };
    }
}
