//! Misdeeds on request, for FMUs that test importers.

#![expect(unsafe_code, reason = "calls the C library")]

use std::ffi::c_int;
use std::ops::Range;
use std::ptr;
use std::sync::Mutex;

use fmi2_abi::{CallbackFunctions, Logger};

/// Ends the process as a write through a wild pointer does: by the signal SIGSEGV, raised by the
/// processor in the code of the FMU.
pub fn segmentation_fault() -> ! {
    #[cfg(unix)]
    {
        // SAFETY: the system chooses the place of a page that must not be accessed.
        let page = unsafe {
            let (access, kind) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(ptr::null_mut(), 4096, access, kind, -1, 0)
        };
        if page != libc::MAP_FAILED {
            // SAFETY: the page is there and used by nothing else; the processor refuses the write.
            unsafe { page.cast::<u8>().write_volatile(1) };
        }
    }
    // An importer has caught the signal and gone on.
    loop {
        raise(libc::SIGSEGV);
    }
}

fn raise(signal: c_int) {
    // SAFETY: raising a signal is sound, whatever its handler does.
    unsafe { libc::raise(signal) };
}

/// Ends the process as an unexpected breakpoint does: by the signal SIGTRAP. A handler that
/// catches it finds the code going on behind the breakpoint.
pub fn trap() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction changes nothing.
    unsafe {
        std::arch::asm!("int3");
    }
    #[cfg(not(target_arch = "x86_64"))]
    raise(libc::SIGTRAP);
}

/// Ends the process as the system does when memory runs out: by the signal SIGKILL.
pub fn kill_process() {
    raise(libc::SIGKILL);
}

/// Uses the whole stack, and more.
pub fn stack_overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == u64::MAX {
        return 0;
    }
    stack_overflow(depth + 1).wrapping_add(std::hint::black_box(frame)[0])
}

/// Uses the whole stack of a thread that has no other one for signal handlers, and waits for it. Threads of Rust have one only
/// if the program is Rust's: the standard library of a `cdylib` installs no handlers, and so makes none.
pub fn stack_overflow_in_thread() {
    let thread = std::thread::spawn(|| std::hint::black_box(stack_overflow(0)));
    drop(thread.join());
}

/// Closes standard input, output and error.
pub fn close_standard_streams() {
    close(0..3);
}

fn close(descriptors: Range<c_int>) {
    for descriptor in descriptors {
        // SAFETY: the descriptors belong to the process; that their owners still need them is the
        // point.
        unsafe { libc::close(descriptor) };
    }
}

/// Lets new files have no rights at all.
pub fn set_strict_mask() {
    // SAFETY: sets a number.
    unsafe { libc::umask(0o777) };
}

/// Sets a locale that writes decimal commas, if the system has one.
pub fn set_locale() {
    for name in [c"de_DE.UTF-8", c"de_DE.utf8", c"fr_FR.UTF-8", c""] {
        // SAFETY: the name is a C string.
        let found = unsafe { libc::setlocale(libc::LC_ALL, name.as_ptr()) };
        if !found.is_null() {
            return;
        }
    }
}

/// Rounds upwards from now on, in this thread.
pub fn round_upwards() {
    unsafe extern "C" {
        fn fesetround(direction: c_int) -> c_int;
    }
    const UPWARDS: c_int = if cfg!(target_arch = "aarch64") {
        0x40_0000
    } else {
        0x800
    };
    // SAFETY: sets a control word, as the C library has it.
    unsafe { fesetround(UPWARDS) };
}

/// Changes, or does not change, how this thread computes from now on: another rounding mode, or denormal
/// numbers taken for zero, or a lower precision of the x87.
pub fn change_float_control_at_random() {
    match (shared_random_number() * 4.0) as u32 {
        0 => round_upwards(),
        #[cfg(target_arch = "x86_64")]
        1 => {
            let flushes_denormals = 0x9fc0_u32;
            // SAFETY: sets a control word, all traps of which are off.
            unsafe {
                std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const flushes_denormals);
            };
        }
        #[cfg(target_arch = "x86_64")]
        2 => {
            let single_precision = 0x007f_u16;
            // SAFETY: as above.
            unsafe {
                std::arch::asm!("fldcw [{}]", in(reg) &raw const single_precision);
            };
        }
        _ => {}
    }
}

/// Ignores Ctrl-C and other wishes that the process ends.
pub fn ignore_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: ignoring a signal runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// A number from the generator that the whole process shares, from 0 to 1.
pub fn shared_random_number() -> f64 {
    // SAFETY: takes nothing; that other threads call it as well is the point.
    f64::from(unsafe { libc::rand() }) / f64::from(libc::RAND_MAX)
}

/// Crashes when the process ends by `exit`.
pub fn crash_at_exit() {
    extern "C" fn crash() {
        segmentation_fault();
    }
    // SAFETY: the library stays loaded, so the function is there.
    unsafe { libc::atexit(crash) };
}

/// Overwrites all memory of this process that other processes may see, as a loop does that runs past
/// the end of its array. Does nothing if the system does not report which it is.
pub fn overwrite_shared_memory() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    // Lines are `start-end rights offset device inode path`; the last of the rights is `s`.
    for line in maps.lines().filter(|line| line.contains(" rw-s ")) {
        let range = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'));
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        let ends = range.and_then(|(start, end)| number(start).zip(number(end)));
        if let Some((start, end)) = ends {
            let start = ptr::with_exposed_provenance_mut::<u8>(start);
            let length = end - start.addr();
            // SAFETY: the memory is mapped and may be written; what becomes of it is the point.
            unsafe { start.write_bytes(0xff, length) };
        }
    }
}

fn fork() -> libc::pid_t {
    // SAFETY: the new processes of this file call nothing but functions that are allowed after a fork, or crash.
    unsafe { libc::fork() }
}

/// Starts a process that has left its parent, its session and its terminal, and never ends by itself.
pub fn start_daemon() {
    if fork() != 0 {
        return;
    }
    // SAFETY: leaves the session.
    unsafe { libc::setsid() };
    if fork() != 0 {
        // SAFETY: ends the process in between, as a daemon's parent does.
        unsafe { libc::_exit(0) };
    }
    loop {
        // SAFETY: waits for a signal.
        unsafe { libc::pause() };
    }
}

/// Starts a process that is a copy of this one and crashes, and waits for its end.
pub fn crash_in_fork() {
    let child = fork();
    if child == 0 {
        segmentation_fault();
    }
    // SAFETY: the status is not asked for.
    unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
}

/// Closes all descriptors of the process, also those that it does not know.
pub fn close_all_descriptors() {
    close(0..1024);
}

/// The logger that the last instance was given, and its environment.
static LOGGER: Mutex<Option<(Logger, usize)>> = Mutex::new(None);

/// Remembers callbacks for [`misuse_logger`].
pub(crate) fn remember(functions: &CallbackFunctions) {
    if let Ok(mut remembered) = LOGGER.lock() {
        let environment = functions.component_environment.expose_provenance();
        *remembered = functions.logger.map(|logger| (logger, environment));
    }
}

/// Calls the importer's logger as no FMU should (C-18 to C-22): with NULL for texts, stray percent
/// signs, bytes other than UTF-8, enormous widths and a negative precision; also with fifty million
/// characters, line breaks before a message of another, and sequences that change a terminal.
pub fn misuse_logger() {
    let remembered = LOGGER.lock().ok().and_then(|logger| *logger);
    let Some((logger, environment)) = remembered else {
        return;
    };
    let environment = ptr::with_exposed_provenance_mut(environment);
    let mut endless = vec![b'x'; 50_000_000];
    endless.push(0);
    let null = ptr::null();
    let (usual, endless) = (c"category".as_ptr(), endless.as_ptr().cast());
    let number: c_int = 7;
    for (status, category, format) in [
        (fmi2_abi::OK, null, c"text".as_ptr()),
        (fmi2_abi::OK, usual, null),
        (42, usual, c"100%".as_ptr()),
        (fmi2_abi::OK, usual, c"\xff\xfe".as_ptr()),
        (fmi2_abi::ERROR, usual, c"wide %999999999d".as_ptr()),
        (
            fmi2_abi::ERROR,
            c"\x1b[2J".as_ptr(),
            c"first\r\nerror: good: forged".as_ptr(),
        ),
        (fmi2_abi::ERROR, endless, c"short".as_ptr()),
        (fmi2_abi::ERROR, usual, endless),
    ] {
        // SAFETY: texts are closed by NUL or NULL, and no format has more than this argument.
        unsafe { logger(environment, null, status, category, format, number) };
    }
    let (format, precision): (_, c_int) = (c"precise %.*s".as_ptr(), -1);
    let text = c"whole".as_ptr();
    // SAFETY: the arguments fit the format.
    unsafe {
        logger(
            environment,
            null,
            fmi2_abi::ERROR,
            usual,
            format,
            precision,
            text,
        );
    }
    let format = c"%s".as_ptr();
    // SAFETY: as above.
    unsafe {
        logger(environment, null, fmi2_abi::ERROR, usual, format, endless);
    };
}
