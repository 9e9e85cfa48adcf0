//! Facts about a crash that can be seen only from inside: whether the stack was full, which thread
//! it was and in which library. The process dies of the signal anyway.
//!
//! A handler may use little: it takes no memory and no lock, and calls only functions of the C library
//! that POSIX allows there. An FMU may replace this handler by its own.

#![expect(
    unsafe_code,
    reason = "reads what the system passes to a signal handler"
)]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32};

use nix::sys::signal::{Signal, raise};
use rustix::fs::{Mode, OFlags};
use rustix::thread::Timespec;

use crate::board::Crash;
use crate::signals;

/// Signals that mean that code went wrong.
const SIGNALS: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGSYS,
    libc::SIGTRAP,
];

/// How far from the end of the stack an access is that finds it full: below it at most a large
/// frame, above it less than a page.
const STACK_REACH: (usize, usize) = (1 << 20, 4096);

static CRASH: OnceLock<&'static Crash> = OnceLock::new();
/// The process whose crashes are noted: copies of it that FMUs make are not.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The thread that has installed the handler, and calls FMUs.
static THREAD: AtomicI32 = AtomicI32::new(0);

/// Notes crashes of this process from now on. The thread that calls this is the one that calls FMUs.
pub(crate) fn install(crash: &'static Crash) {
    if CRASH.set(crash).is_err() {
        return;
    }
    PROCESS.store(std::process::id(), Relaxed);
    THREAD.store(thread(), Relaxed);
    handle(note);
}

/// Installs a handler of signals that mean that code went wrong.
pub(crate) fn handle(handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)) {
    let mut action = signals::no_action();
    action.sa_sigaction = handler as *const () as usize;
    // On the stack that Rust's threads have for that, as the usual one may be full. The handler
    // itself makes the next signal of the kind deadly: were it so at once, a second thread that
    // crashes would end the process before the first crash is noted.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    for signal in SIGNALS {
        // If it cannot be installed, less is known of a crash.
        signals::action(signal, Some(&action));
    }
}

/// The handler.
extern "C" fn note(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system gives a valid pointer to a handler with SA_SIGINFO.
    let info = unsafe { &*info };
    let code = info.si_code;
    let is_copy = PROCESS.load(Relaxed) != std::process::id();
    if let Some(crash) = CRASH.get().filter(|_| !is_copy) {
        match crash.thread.compare_exchange(0, thread(), Relaxed, Relaxed) {
            Ok(_) => note_first(crash, signal, info, context),
            Err(first) if first != thread() => wait_until_noted(crash),
            Err(_) => {}
        }
    }
    signals::reset(signal);
    // A signal sent by a process does not come again by itself; nor does a breakpoint or forbidden
    // call of the system: the next instruction would be carried out.
    let comes_again = code > 0 && !matches!(signal, libc::SIGTRAP | libc::SIGSYS);
    if !comes_again {
        end_by(signal);
    }
}

/// Ends the process by a signal that has its default action, which waits for the end of a handler of the same signal.
pub(crate) fn end_by(signal: c_int) {
    if let Ok(signal) = Signal::try_from(signal) {
        let _ = raise(signal);
    }
}

fn note_first(crash: &Crash, signal: c_int, info: &libc::siginfo_t, context: *mut c_void) {
    let (code, place) = (info.si_code, Place::of(context));
    // SAFETY: the field is there for all signals, and has a meaning for faults.
    let address = unsafe { info.si_addr() } as usize;
    let is_fault = code > 0 && (signal == libc::SIGSEGV || signal == libc::SIGBUS);
    if is_fault && place.is_end_of_stack(address) {
        crash.is_overflow.store(1, Relaxed);
    }
    let is_other_thread = thread() != THREAD.load(Relaxed);
    crash
        .is_other_thread
        .store(u32::from(is_other_thread), Relaxed);
    crash.code.store(code, Relaxed);
    if code > 0 {
        note_library(crash, place.instruction);
    }
    crash.signal.store(signal, Release);
}

/// Holds a thread that crashes while another one notes its own crash, for some seconds at most. That
/// one ends the process, and so the pause: there may be thousands of threads here, which must not take
/// its time.
fn wait_until_noted(crash: &Crash) {
    let pause = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    for _ in 0..10 {
        if crash.signal.load(Acquire) != 0 {
            return;
        }
        // An interrupted pause is as good.
        let _ = rustix::thread::nanosleep(&pause);
    }
}

/// A system call: glibc has a function for it since 2.30.
fn thread() -> c_int {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// The place of a thread in its code.
#[derive(Default)]
struct Place {
    instruction: usize,
    stack: usize,
}

impl Place {
    fn of(context: *mut c_void) -> Self {
        let context = context.cast::<libc::ucontext_t>();
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the system gives a valid pointer to a handler with SA_SIGINFO.
            let registers = unsafe { &(*context).uc_mcontext.gregs };
            Self {
                instruction: registers[libc::REG_RIP as usize] as usize,
                stack: registers[libc::REG_RSP as usize] as usize,
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            // SAFETY: the system gives a valid pointer to a handler with SA_SIGINFO.
            let registers = unsafe { &(*context).uc_mcontext };
            Self {
                instruction: registers.pc as usize,
                stack: registers.sp as usize,
            }
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            let _ = context;
            Self::default()
        }
    }

    fn is_end_of_stack(&self, address: usize) -> bool {
        let (below, above) = STACK_REACH;
        self.stack != 0
            && (self.stack.saturating_sub(below)..self.stack.saturating_add(above))
                .contains(&address)
    }
}

/// Notes the file whose code lies at this address.
fn note_library(crash: &Crash, address: usize) {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(c"/proc/self/maps", flags, Mode::empty()) else {
        return;
    };
    let mut search = Search::new(address);
    let mut block = [0_u8; 512];
    while let Ok(count @ 1..) = rustix::io::read(&file, &mut block) {
        if block[..count].iter().any(|byte| search.take(*byte, crash)) {
            break;
        }
    }
}

/// Reads the lines `start-end rights offset device inode path` of `/proc/self/maps`.
struct Search {
    address: usize,
    field: Field,
    start: usize,
    end: usize,
    length: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Field {
    Start,
    End,
    Others,
    Path,
}

impl Search {
    const fn new(address: usize) -> Self {
        Self {
            address,
            field: Field::Start,
            start: 0,
            end: 0,
            length: 0,
        }
    }

    /// Takes the next byte. True when the line with the address has ended; its path is noted.
    fn take(&mut self, byte: u8, crash: &Crash) -> bool {
        let is_here = (self.start..self.end).contains(&self.address);
        match (self.field, byte) {
            (_, b'\n') => {
                let found = is_here && self.field != Field::Start;
                if found && let Some(end) = crash.library.get(self.length) {
                    // Longer names of folders may have been there.
                    end.store(0, Relaxed);
                }
                *self = Self::new(self.address);
                return found;
            }
            (Field::Start, b'-') => self.field = Field::End,
            (Field::End, b' ') => self.field = Field::Others,
            (Field::Start, digit) => self.start = hexadecimal(self.start, digit),
            (Field::End, digit) => self.end = hexadecimal(self.end, digit),
            (Field::Others, b'/') => self.field = Field::Path,
            (Field::Others | Field::Path, _) => {}
        }
        if self.field == Field::Path && is_here {
            // The end of a long path identifies more than its beginning.
            if byte == b'/' {
                self.length = 0;
            } else if let Some(place) = crash.library.get(self.length) {
                place.store(byte, Relaxed);
                self.length += 1;
            }
        }
        false
    }
}

fn hexadecimal(number: usize, digit: u8) -> usize {
    let digit = char::from(digit).to_digit(16).unwrap_or(0);
    number.wrapping_mul(16).wrapping_add(digit as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SharedMemory;

    const MAPS: &str = "\
55d0c0000000-55d0c0001000 r--p 00000000 08:01 42 /usr/bin/long-name-of-a-program
7f0000001000-7f0000002000 r-xp 00001000 08:01 43 /tmp/a folder b/Wheel.so
7f0000003000-7f0000004000 rw-p 00000000 00:00 0
";

    fn library_at(address: usize) -> String {
        let memory = SharedMemory::create("test", 4096).unwrap();
        let crash: &Crash = memory.view(0).unwrap();
        let mut search = Search::new(address);
        MAPS.bytes().any(|byte| search.take(byte, crash));
        let bytes = crash.library.iter().map(|byte| byte.load(Relaxed));
        String::from_utf8(bytes.take_while(|byte| *byte != 0).collect()).unwrap()
    }

    #[test]
    fn the_library_of_an_address() {
        assert_eq!(library_at(0x7f00_0000_1000), "Wheel.so");
        assert_eq!(library_at(0x55d0_c000_0fff), "long-name-of-a-program");
        assert_eq!(library_at(0x7f00_0000_3000), "");
        assert_eq!(library_at(0x7f00_0000_2000), "", "between two");
        assert_eq!(library_at(0), "");
    }

    #[test]
    fn the_end_of_the_stack() {
        let place = Place {
            instruction: 0,
            stack: 0x7ffd_0000_0000,
        };
        assert!(place.is_end_of_stack(0x7ffc_ffff_fff8));
        assert!(!place.is_end_of_stack(0));
        assert!(!place.is_end_of_stack(0x7ffd_0010_0000));
    }
}
