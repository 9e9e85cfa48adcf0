//! The floating-point control words of a thread (C-77, R-33).
//!
//! FMI 2.0 (section 2.1.1) forbids an FMU to leave them changed, but some do. A library that was
//! linked with `-ffast-math` switches denormal numbers off when it is loaded. A numeric library
//! sets the rounding mode. A debugging aid turns traps on. All other FMUs of the thread would then
//! silently compute something else.
//!
//! So a change must be found before the next call of another FMU. Reading MXCSR
//! takes 4 ns on some processors (AMD Zen), as long as a step of a small FMU. One packed addition
//! shows as much of what can change a result: its four sums differ for every rounding mode, and if
//! denormal numbers are taken for zero. These sums and the control word of the x87 are checked
//! after every call. Only traps need MXCSR itself. It is checked after calls that come a few times
//! a run, after the first step of an instance and every 16th, and after every call from the first
//! change on.

#![expect(unsafe_code, reason = "reads and writes control registers")]

#[cfg(target_arch = "x86_64")]
use std::arch::asm;
use std::sync::atomic::{AtomicU16, Ordering};

/// Control words as they are, or should be. Nothing but x86-64 is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(16))]
pub(crate) struct FloatControl {
    /// The sums of [`TERMS`]; first, so that they are aligned.
    sums: Sums,
    sse: u32,
    x87: u16,
}

type Sums = [u32; 4];

#[repr(C, align(16))]
struct Terms([[f32; 4]; 2]);

/// 1 + ¾ε and 1 + ¼ε are 1 + ε and 1 to nearest, 1 + ε twice upwards, 1 twice downwards and to zero;
/// −1 − ¼ε is −1 to zero only; the denormal sum is 0 if denormal numbers are flushed or taken for 0.
static TERMS: Terms = {
    let epsilon = f32::EPSILON;
    let denormal = f32::from_bits(3);
    Terms([
        [1.0, 1.0, -1.0, denormal],
        [0.75 * epsilon, 0.25 * epsilon, -0.25 * epsilon, denormal],
    ])
};

/// Bits of MXCSR that do not control: flags of what has happened.
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
            sums: sums(),
        }
    }

    /// Whether the calling thread computes as with these control words.
    #[inline(always)]
    pub(crate) fn seems_to_hold(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let equal_bytes: u32;
            let mut x87 = std::mem::MaybeUninit::<u16>::uninit();
            // SAFETY: reads sixteen bytes of each of three places that have them, and are aligned; writes two bytes to a place that
            // is ours.
            unsafe {
                asm!(
                    "fnstcw [{x87}]",
                    "movaps {sums}, [rip + {terms}]",
                    "addps {sums}, [rip + {terms} + 16]",
                    "pcmpeqd {sums}, [{own}]",
                    "pmovmskb {equal:e}, {sums}",
                    sums = out(xmm_reg) _,
                    equal = lateout(reg) equal_bytes,
                    terms = sym TERMS,
                    own = in(reg) &raw const self.sums,
                    x87 = in(reg) x87.as_mut_ptr(),
                    options(nostack, preserves_flags)
                );
            }
            // SAFETY: has just been written.
            equal_bytes == 0xffff && self.x87 == unsafe { x87.assume_init() }
        }
        #[cfg(not(target_arch = "x86_64"))]
        true
    }

    /// Words that never [seem to hold](Self::seems_to_hold), for a close check of each call.
    #[inline(always)]
    pub(crate) fn never_held(self) -> Self {
        Self {
            x87: !self.x87,
            ..self
        }
    }

    /// Whether a change to `other` is seen after every call: not so if only traps differ.
    pub(crate) fn is_seen_at_once(&self, other: &Self) -> bool {
        self.sums != other.sums || self.x87 != other.x87
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

    /// Differences of `other`, as the end of a sentence.
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

/// The sums of [`TERMS`] as the calling thread computes them.
fn sums() -> Sums {
    let mut sums = [0; 4];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the terms, which are aligned, and writes sixteen bytes to a place that is ours.
    unsafe {
        asm!(
            "movaps {sums}, [{terms}]",
            "addps {sums}, [{terms} + 16]",
            "movups [{target}], {sums}",
            sums = out(xmm_reg) _,
            terms = in(reg) &raw const TERMS,
            target = in(reg) &raw mut sums,
            options(nostack, preserves_flags)
        );
    }
    sums
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
            let other = FloatControl {
                sse: usual.sse ^ sse,
                x87: usual.x87 ^ x87,
                ..usual
            };
            other.restore();
            let is_seen = !usual.seems_to_hold();
            let seen = FloatControl::current();
            usual.restore();
            assert_eq!(FloatControl::current(), usual);
            assert_eq!((seen.sse, seen.x87), (other.sse, other.x87));
            assert_eq!(usual.changes_to(seen), name);
            assert!(is_seen && usual.is_seen_at_once(&seen), "{name}");
        }
    }

    /// Every rounding mode, and both ways to treat denormal numbers, from each of the others.
    #[test]
    fn c77_every_mode_is_distinguished_from_every_other() {
        let usual = FloatControl::current();
        let roundings = [0, 1 << 13, 2 << 13, 3 << 13];
        let denormals = [0, SSE_DENORMALS_ARE_ZERO, SSE_FLUSH_TO_ZERO];
        let modes = roundings
            .iter()
            .flat_map(|rounding| denormals.map(|denormal| rounding | denormal));
        let held: Vec<(u32, FloatControl)> = modes
            .map(|mode| {
                let cleared =
                    usual.sse & !(SSE_ROUNDING | SSE_DENORMALS_ARE_ZERO | SSE_FLUSH_TO_ZERO);
                let sse = cleared | mode;
                FloatControl { sse, ..usual }.restore();
                let control = FloatControl::current();
                usual.restore();
                (mode, control)
            })
            .collect();
        for (mode, control) in &held {
            for (other_mode, other) in &held {
                other.restore();
                let holds = control.seems_to_hold();
                usual.restore();
                let is_denormal = |mode: u32| mode & !SSE_ROUNDING != 0;
                let same = mode & SSE_ROUNDING == other_mode & SSE_ROUNDING
                    && is_denormal(*mode) == is_denormal(*other_mode);
                assert_eq!(holds, same, "{mode:#x} {other_mode:#x}");
            }
        }
    }

    /// The price of a look (docs/reliability.md). Of use in a release build only:
    /// `cargo test --release -p gyrator-fmu --lib price -- --ignored --nocapture`.
    #[test]
    #[ignore = "measures"]
    fn price_of_a_look() {
        let usual = FloatControl::current();
        let function: fn(u64) -> u64 = std::hint::black_box(|number| number ^ 1);
        let nanoseconds = |look: &dyn Fn() -> bool| {
            const CALLS: u64 = 20_000;
            let stretch = |_| {
                let begin = std::time::Instant::now();
                for number in 0..CALLS {
                    std::hint::black_box(function(number));
                    assert!(look());
                }
                begin.elapsed().as_secs_f64() * 1e9 / CALLS as f64
            };
            (0..500).map(stretch).fold(f64::INFINITY, f64::min)
        };
        let bare = nanoseconds(&|| true);
        println!(
            "more than a bare call of {bare:.2} ns: x87 {:.2} ns, that and sums {:.2} ns, MXCSR {:.2} ns",
            nanoseconds(&|| usual.x87 == x87()) - bare,
            nanoseconds(&|| usual.seems_to_hold()) - bare,
            nanoseconds(&|| usual.sse == sse() & !SSE_FLAGS) - bare
        );
    }

    #[test]
    fn c77_flags_of_what_has_happened_are_no_change() {
        let usual = FloatControl::current();
        let third = std::hint::black_box(1.0) / std::hint::black_box(3.0);
        assert!(third > 0.0 && usual == FloatControl::current());
    }
}
