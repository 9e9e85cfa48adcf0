//! Loops over many numbers, with registers as wide as the processor has.

#![expect(
    unsafe_code,
    reason = "calls a function that only some processors can execute"
)]

/// Work that consists of loops over many numbers.
pub trait Loops {
    /// The result.
    type Output;

    /// Does it. Has to be `#[inline(always)]`, as all functions that it calls in its loops: only then are they compiled for wide
    /// registers.
    fn run(self) -> Self::Output;
}

/// Does the work with registers of four doubles where the processor has them (AVX2, x86-64), else as it was compiled. Either way
/// the same operations are made with the same numbers, and none are contracted: results have the same bits.
#[inline(never)]
pub fn with_wide_registers<L: Loops>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { with_avx2(work) };
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<L: Loops>(work: L) -> L::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Powers<'a>(&'a [f64], f64);

    impl Loops for Powers<'_> {
        type Output = Vec<u64>;

        #[inline(always)]
        fn run(self) -> Self::Output {
            let power = |value: &f64| (value * self.1 + value / 3.0).to_bits();
            self.0.iter().map(power).collect()
        }
    }

    #[test]
    fn wide_registers_give_the_same_bits() {
        let values: Vec<f64> = (0..1001)
            .map(|index| f64::from(index).sqrt() - 7.3)
            .collect();
        let expected = Powers(&values, 0.1).run();
        assert_eq!(with_wide_registers(Powers(&values, 0.1)), expected);
    }
}
