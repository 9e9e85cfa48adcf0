//! The end of a worker.

#![expect(unsafe_code, reason = "calls the C library")]

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use gyrator_fmu::flight_recorder::{self, Slot};

use crate::{crash_handler, death, signals};

/// Ends the process without running what FMUs have registered for its end, which often crashes
/// . Their output through the C library appears.
pub(crate) fn leave(code: u8) -> ! {
    // SAFETY: NULL stands for all open streams.
    // Output that cannot be written is lost.
    let _ = unsafe { libc::fflush(ptr::null_mut()) };
    end_process(code.into())
}

/// The program ends by itself.
static IS_LEAVING: AtomicBool = AtomicBool::new(false);

/// The process that reports how an FMU has ended it, and the slots with the calls in progress.
static REPORTED: OnceLock<(u32, &'static [Slot])> = OnceLock::new();

/// The exit code of a process that an FMU has ended.
static CODE: AtomicU8 = AtomicU8::new(0);

/// Lets the process end with `code` and a message if an FMU calls `exit`, `quick_exit`, `_exit` or `_Exit`. Otherwise
/// that would pass for the end of the program. Also adds a message if it crashes. For runs without a supervisor;
/// [`program_ends`] says that the program itself is about to end.
pub fn report_exit_of_fmus(code: u8) {
    extern "C" fn at_exit() {
        end_if_reported("an FMU called exit");
    }
    CODE.store(code, Ordering::Relaxed);
    let mut is_first = false;
    REPORTED.get_or_init(|| {
        is_first = true;
        (std::process::id(), flight_recorder::record_here())
    });
    if is_first {
        // SAFETY: the function keeps its address until the end.
        // If it cannot be registered, exit is as without.
        let _ = unsafe { libc::atexit(at_exit) };
        report_quick_exit();
        crash_handler::handle(report_crash);
    }
}

/// What is to be done before an FMU ends the process.
static LAST_ACT: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// Does something before the process ends because an FMU has called `exit` or its kin ([`report_exit_of_fmus`]), such as
/// writing the rows of a result. The last function that was given counts.
pub fn before_exit_of_fmus(act: impl Fn() + Send + 'static) {
    *LAST_ACT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(act));
}

/// Whether this is the process that reports how an FMU has ended it. Copies that an FMU has made of the process may end as
/// they like.
fn is_reported() -> bool {
    let reported = REPORTED.get();
    reported.is_some_and(|(reported, _)| *reported == std::process::id())
}

/// Ends the process with a message if an FMU is about to end it.
fn end_if_reported(what: &str) {
    if IS_LEAVING.load(Ordering::Relaxed) || !is_reported() {
        return;
    }
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    while IS_ENDING.swap(true, Ordering::Relaxed) {
        // Another thread ends the process.
        rustix::event::pause();
    }
    report(what);
    // A handler of a signal may have interrupted what the last act needs.
    signals::reset(libc::SIGALRM);
    // Ends a process that does not end by itself.
    nix::unistd::alarm::set(LONGEST_END);
    let act = LAST_ACT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(act) = &*act {
        act();
    }
    end_process(CODE.load(Ordering::Relaxed).into())
}

/// Longest time that the last act may take, s.
const LONGEST_END: c_uint = 60;

unsafe extern "C" {
    fn at_quick_exit(function: extern "C" fn()) -> c_int;
}

fn report_quick_exit() {
    extern "C" fn at_end() {
        end_if_reported("an FMU called quick_exit");
    }
    // SAFETY: the function keeps its address until the end.
    // If it cannot be registered, quick_exit is as without.
    let _ = unsafe { at_quick_exit(at_end) };
}

/// The `_exit` of all code of the process outside of the C library. It calls nothing that is registered for `exit` at the
/// end of a process. Libraries that are loaded later find the functions of the program before the C library's.
// SAFETY: it does what the function of this name does.
#[unsafe(no_mangle)]
extern "C" fn _exit(code: c_int) -> ! {
    end_if_reported("an FMU called _exit");
    end_process(code)
}

/// As above.
// SAFETY: it does what the function of this name does.
#[unsafe(no_mangle)]
extern "C" fn _Exit(code: c_int) -> ! {
    end_if_reported("an FMU called _Exit");
    end_process(code)
}

/// What the C library does in `_exit`.
fn end_process(code: c_int) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, code) };
    }
}

/// The handler of crashes.
extern "C" fn report_crash(signal: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    signals::reset(signal);
    if is_reported() {
        report(death::known_signal(signal).unwrap_or("a signal"));
    }
    crash_handler::end_by(signal);
}

/// Writes what has ended the process, and the calls in progress. Takes no memory: a crash may have spoilt it.
fn report(what: &str) {
    // If it cannot be written, the end of the process still reports it.
    let write = |text: &[u8]| {
        let _ = rustix::io::write(rustix::stdio::stderr(), text);
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
