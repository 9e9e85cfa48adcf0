//! The floating-point control words of a thread (C-77, R-33).
//!
//! FMI 2.0 (section 2.1.1) forbids an FMU to leave them changed, but some do: a library that was
//! linked with `-ffast-math` switches denormal numbers off when it is loaded, a numeric library
//! sets the rounding mode, a debugging aid turns traps on. All other FMUs of the thread would then
//! silently compute something else.
//!
//! Reading MXCSR takes 4 ns on some processors (AMD Zen), as long as a step of a small FMU; reading
//! the control word of the x87 less than 1 ns, and `fesetround` and `feenableexcept` change both. So
//! both are looked at after every call that comes a few times a run, the first step of an instance and
//! every 16th; the x87 after every step and every call but `fmi2SetReal` and `fmi2GetReal`. From the
//! first change on everything is looked at after every call.

#![expect(unsafe_code, reason = "reads and writes control registers")]

#[cfg(target_arch = "x86_64")]
use std::arch::asm;
use std::sync::atomic::{AtomicU16, Ordering};

/// Control words as they are, or should be. Nothing but x86-64 is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct FloatControl {
    sse: u32,
    x87: u16,
}

/// Bits of MXCSR that are no control: flags of what has happened.
const SSE_FLAGS: u32 = 0x3f;
const SSE_DENORMALS_ARE_ZERO: u32 = 1 << 6;
const SSE_MASKS: u32 = 0x3f << 7;
const SSE_ROUNDING: u32 = 3 << 13;
const SSE_FLUSH_TO_ZERO: u32 = 1 << 15;
const X87_MASKS: u16 = 0x3f;
const X87_PRECISION: u16 = 3 << 8;
const X87_ROUNDING: u16 = 3 << 10;

/// Steps that are not looked at have a bit of it in their number; none does once all are watched.
static MASK: AtomicU16 = AtomicU16::new(15);

/// Whether step number `step` of an instance, counted from 0, is one to look at closely.
#[inline(always)]
pub(crate) fn is_due(step: u16) -> bool {
    step & MASK.load(Ordering::Relaxed) == 0
}

/// Whether all calls are watched.
#[inline(always)]
pub(crate) fn all_are_watched() -> bool {
    MASK.load(Ordering::Relaxed) == 0
}

/// From now on all calls are watched. Says whether they were before.
pub(crate) fn watch_all() -> bool {
    MASK.swap(0, Ordering::Relaxed) == 0
}

impl FloatControl {
    /// The control words of the calling thread.
    #[inline(always)]
    pub(crate) fn current() -> Self {
        Self {
            sse: sse() & !SSE_FLAGS,
            x87: x87(),
        }
    }

    /// Whether the calling thread has these control words, as far as can be told cheaply.
    #[inline(always)]
    pub(crate) fn seems_to_hold(self) -> bool {
        self.x87 == x87()
    }

    /// Gives the calling thread these control words again.
    pub(crate) fn restore(self) {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: sets a word that this thread had before; reads four bytes.
            unsafe {
                asm!("ldmxcsr [{}]", in(reg) &raw const self.sse, options(nostack, readonly));
            };
            // SAFETY: as above; reads two bytes.
            unsafe {
                asm!("fldcw [{}]", in(reg) &raw const self.x87, options(nostack, readonly));
            };
        }
    }

    /// What is different in `other`, as the end of a sentence.
    pub(crate) fn changes_to(self, other: Self) -> String {
        let (sse, x87) = (self.sse ^ other.sse, self.x87 ^ other.x87);
        let changes = [
            (
                sse & SSE_ROUNDING != 0 || x87 & X87_ROUNDING != 0,
                "the rounding mode",
            ),
            (
                sse & (SSE_FLUSH_TO_ZERO | SSE_DENORMALS_ARE_ZERO) != 0,
                "the treatment of denormal numbers",
            ),
            (
                sse & SSE_MASKS != 0 || x87 & X87_MASKS != 0,
                "floating-point traps",
            ),
            (x87 & X87_PRECISION != 0, "the precision of the x87"),
        ];
        let named: Vec<&str> = changes
            .into_iter()
            .filter_map(|(is_changed, name)| is_changed.then_some(name))
            .collect();
        if named.is_empty() {
            "the floating-point control word".to_owned()
        } else {
            named.join(" and ")
        }
    }
}

#[inline(always)]
fn sse() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut word = 0_u32;
        // SAFETY: writes four bytes to a place that is ours.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags));
        };
        word
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

#[inline(always)]
fn x87() -> u16 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut word = 0_u16;
        // SAFETY: writes two bytes to a place that is ours.
        unsafe {
            asm!("fnstcw [{}]", in(reg) &raw mut word, options(nostack, preserves_flags));
        };
        word
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn c77_changes_are_seen_named_and_taken_back() {
        let usual = FloatControl::current();
        let cases = [
            (0x4000, 0, "the rounding mode"),
            (0x8040, 0, "the treatment of denormal numbers"),
            (0, 0x0c00, "the rounding mode"),
            (0, 0x0100, "the precision of the x87"),
        ];
        for (sse, x87, name) in cases {
            let odd = FloatControl {
                sse: usual.sse ^ sse,
                x87: usual.x87 ^ x87,
            };
            odd.restore();
            let seen = FloatControl::current();
            usual.restore();
            assert_eq!(FloatControl::current(), usual);
            assert_eq!(seen, odd);
            assert_eq!(usual.changes_to(seen), name);
        }
    }

    #[test]
    fn c77_flags_of_what_has_happened_are_no_change() {
        let usual = FloatControl::current();
        let third = std::hint::black_box(1.0) / std::hint::black_box(3.0);
        assert!(third > 0.0 && usual == FloatControl::current());
    }
}
