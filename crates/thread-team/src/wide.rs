//! Loops over many numbers, with registers as wide as the processor has.

#![expect(
    unsafe_code,
    reason = "calls functions that only some processors can execute"
)]

use std::array::from_fn;
use std::ops::{Add, Div, Mul, Sub};

/// Work that consists of loops over many numbers.
pub trait Loops {
    /// The result.
    type Output;

    /// Does it. Has to be `#[inline(always)]`, as all functions that it calls in its loops: only then are they compiled for wide
    /// registers. It may compute with `F` in the place of `[f64; 4]` where the compiler would not do so with wide registers by itself.
    fn run<F: Four>(self) -> Self::Output;
}

/// Four doubles, with which each operation is one instruction where the processor has it. Results have the same bits as of doubles.
pub trait Four:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + From<[f64; 4]>
    + Into<[f64; 4]>
{
    /// The numbers of a row at these places.
    ///
    /// # Panics
    /// If the row ends before the last of them.
    fn at(row: &[f64], places: Places) -> Self;

    /// The same number four times.
    #[inline(always)]
    fn all(value: f64) -> Self {
        Self::from([value; 4])
    }

    /// Writes the numbers.
    #[inline(always)]
    fn write(self, to: &mut [f64; 4]) {
        *to = self.into();
    }

    /// The magnitudes.
    fn abs(self) -> Self;

    /// Each number that is greater than that of `most`, else that of `most`: also where it is NaN.
    fn or_more(self, most: Self) -> Self;

    /// Each number that is less than that of `least`, else that of `least`: also where it is NaN.
    fn or_less(self, least: Self) -> Self;

    /// That of `other` in the place of NaN.
    fn or_if_nan(self, other: Self) -> Self;

    /// Each number that is finite, else that of `other`.
    fn if_finite_or(self, other: Self) -> Self;
}

/// Four places in a row.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    at: [usize; 4],
    /// The greatest of them.
    last: usize,
}

impl From<[usize; 4]> for Places {
    #[inline(always)]
    fn from(at: [usize; 4]) -> Self {
        let [a, b, c, d] = at;
        Self {
            at,
            last: a.max(b).max(c.max(d)),
        }
    }
}

/// Does the work with registers of four doubles where the processor has them (AVX2, x86-64), else as it was compiled. Either way
/// the same operations are made with the same numbers, and none are contracted: results have the same bits.
#[inline(never)]
pub fn with_wide_registers<L: Loops>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { avx2::with_avx2(work) };
    }
    work.run::<Numbers>()
}

/// One double in the place of four equal ones.
#[derive(Debug, Clone, Copy)]
pub struct One(f64);

impl From<[f64; 4]> for One {
    /// Takes the first number.
    #[inline(always)]
    fn from([value, ..]: [f64; 4]) -> Self {
        Self(value)
    }
}

impl From<One> for [f64; 4] {
    #[inline(always)]
    fn from(One(value): One) -> Self {
        [value; 4]
    }
}

impl Four for One {
    #[inline(always)]
    fn at(row: &[f64], places: Places) -> Self {
        Self(row[places.at[0]])
    }

    /// Writes the first number alone.
    #[inline(always)]
    fn write(self, [to, ..]: &mut [f64; 4]) {
        *to = self.0;
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.abs())
    }

    #[inline(always)]
    fn or_more(self, most: Self) -> Self {
        if self.0 > most.0 { self } else { most }
    }

    #[inline(always)]
    fn or_less(self, least: Self) -> Self {
        if self.0 < least.0 { self } else { least }
    }

    #[inline(always)]
    fn or_if_nan(self, other: Self) -> Self {
        if self.0.is_nan() { other } else { self }
    }

    #[inline(always)]
    fn if_finite_or(self, other: Self) -> Self {
        if self.0.is_finite() { self } else { other }
    }
}

/// For any processor.
#[derive(Clone, Copy)]
struct Numbers([One; 4]);

impl Numbers {
    #[inline(always)]
    fn with(self, other: Self, operation: impl Fn(One, One) -> One) -> Self {
        Self(from_fn(|lane| operation(self.0[lane], other.0[lane])))
    }
}

impl From<[f64; 4]> for Numbers {
    #[inline(always)]
    fn from(values: [f64; 4]) -> Self {
        Self(values.map(One))
    }
}

impl From<Numbers> for [f64; 4] {
    #[inline(always)]
    fn from(Numbers(values): Numbers) -> Self {
        values.map(|One(value)| value)
    }
}

impl Four for Numbers {
    #[inline(always)]
    fn at(row: &[f64], places: Places) -> Self {
        Self::from(places.at.map(|place| row[place]))
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.map(One::abs))
    }

    #[inline(always)]
    fn or_more(self, most: Self) -> Self {
        self.with(most, One::or_more)
    }

    #[inline(always)]
    fn or_less(self, least: Self) -> Self {
        self.with(least, One::or_less)
    }

    #[inline(always)]
    fn or_if_nan(self, other: Self) -> Self {
        self.with(other, One::or_if_nan)
    }

    #[inline(always)]
    fn if_finite_or(self, other: Self) -> Self {
        self.with(other, One::if_finite_or)
    }
}

/// An operator by that of doubles.
macro_rules! operator {
    ($name:ident, $function:ident) => {
        impl $name for One {
            type Output = Self;

            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                Self(self.0.$function(other.0))
            }
        }

        impl $name for Numbers {
            type Output = Self;

            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                self.with(other, One::$function)
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64 as x86;
    use std::ops::{Add, Div, Mul, Sub};

    use super::{Four, Loops, Places};

    /// Does the work in wide registers.
    #[target_feature(enable = "avx2")]
    pub(super) fn with_avx2<L: Loops>(work: L) -> L::Output {
        work.run::<Wide>()
    }

    /// A wide register. Is private, and made in [`with_avx2`] alone: the processor has AVX2 wherever there is one.
    #[derive(Clone, Copy)]
    struct Wide(x86::__m256d);

    impl From<[f64; 4]> for Wide {
        #[inline(always)]
        fn from(values: [f64; 4]) -> Self {
            // SAFETY: the processor has AVX2; reads four doubles.
            Self(unsafe { x86::_mm256_loadu_pd(values.as_ptr()) })
        }
    }

    impl From<Wide> for [f64; 4] {
        #[inline(always)]
        fn from(Wide(register): Wide) -> Self {
            let mut values = [0.0; 4];
            // SAFETY: the processor has AVX2; writes four doubles.
            unsafe { x86::_mm256_storeu_pd(values.as_mut_ptr(), register) };
            values
        }
    }

    /// An operator by an instruction.
    macro_rules! instruction {
        ($name:ident, $function:ident, $instruction:ident) => {
            impl $name for Wide {
                type Output = Self;

                #[inline(always)]
                fn $function(self, other: Self) -> Self {
                    // SAFETY: the processor has AVX2.
                    Self(unsafe { x86::$instruction(self.0, other.0) })
                }
            }
        };
    }

    instruction!(Add, add, _mm256_add_pd);
    instruction!(Sub, sub, _mm256_sub_pd);
    instruction!(Mul, mul, _mm256_mul_pd);
    instruction!(Div, div, _mm256_div_pd);

    impl Four for Wide {
        #[inline(always)]
        fn at(row: &[f64], places: Places) -> Self {
            assert!(places.last < row.len());
            let [a, b, c, d] = places.at.map(|place| row.as_ptr().wrapping_add(place));
            let pair = |first, second| {
                // SAFETY: none of the places is beyond the last one, which is in the row.
                let first = unsafe { x86::_mm_load_sd(first) };
                // SAFETY: as above.
                unsafe { x86::_mm_loadh_pd(first, second) }
            };
            let (low, high) = (pair(a, b), pair(c, d));
            // SAFETY: the processor has AVX2.
            Self(unsafe { x86::_mm256_set_m128d(high, low) })
        }

        #[inline(always)]
        fn abs(self) -> Self {
            let Self(sign) = Self::all(-0.0);
            // SAFETY: the processor has AVX2.
            Self(unsafe { x86::_mm256_andnot_pd(sign, self.0) })
        }

        #[inline(always)]
        fn or_more(self, most: Self) -> Self {
            // SAFETY: the processor has AVX2. The instruction gives its second operand where one is NaN, or both are zero.
            Self(unsafe { x86::_mm256_max_pd(self.0, most.0) })
        }

        #[inline(always)]
        fn or_less(self, least: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { x86::_mm256_min_pd(self.0, least.0) })
        }

        #[inline(always)]
        fn or_if_nan(self, other: Self) -> Self {
            // SAFETY: the processor has AVX2.
            let is_nan = unsafe { x86::_mm256_cmp_pd::<{ x86::_CMP_UNORD_Q }>(self.0, self.0) };
            // SAFETY: as above.
            Self(unsafe { x86::_mm256_blendv_pd(self.0, other.0, is_nan) })
        }

        #[inline(always)]
        fn if_finite_or(self, other: Self) -> Self {
            // NaN where the number is infinite, too.
            let Self(nothing) = self * Self::all(0.0);
            // SAFETY: the processor has AVX2.
            let is_nan = unsafe { x86::_mm256_cmp_pd::<{ x86::_CMP_UNORD_Q }>(nothing, nothing) };
            // SAFETY: as above.
            Self(unsafe { x86::_mm256_blendv_pd(self.0, other.0, is_nan) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Powers<'a>(&'a [f64], f64);

    impl Loops for Powers<'_> {
        type Output = Vec<u64>;

        #[inline(always)]
        fn run<F: Four>(self) -> Self::Output {
            let power = |value: &f64| (value * self.1 + value / 3.0).to_bits();
            self.0.iter().map(power).collect()
        }
    }

    #[test]
    fn wide_registers_give_the_same_bits() {
        let values: Vec<f64> = (0..1001)
            .map(|index| f64::from(index).sqrt() - 7.3)
            .collect();
        let expected = Powers(&values, 0.1).run::<Numbers>();
        assert_eq!(with_wide_registers(Powers(&values, 0.1)), expected);
    }

    /// Each operation of [`Four`] with all pairs of some numbers.
    struct Operations<'a>(&'a [f64]);

    impl Loops for Operations<'_> {
        type Output = Vec<[u64; 4]>;

        #[inline(always)]
        fn run<F: Four>(self) -> Self::Output {
            let mut results = Vec::new();
            for start in 0..self.0.len() - 6 {
                let a = F::at(self.0, [start + 3, start, start + 6, start + 1].into());
                for b in self.0.iter().map(|value| F::all(*value)) {
                    let each = [a + b, a - b, a * b, a / b, b - a, b / a, a.abs()];
                    let others = [a.or_more(b), b.or_more(a), a.or_less(b), b.or_less(a)];
                    let all = each
                        .into_iter()
                        .chain(others)
                        .chain([a.or_if_nan(b), a.if_finite_or(b)]);
                    results.extend(all.map(|four| bits(four.into())));
                }
            }
            results
        }
    }

    /// All NaN are alike: which one comes out is not defined.
    fn bits(values: [f64; 4]) -> [u64; 4] {
        values.map(|value| {
            if value.is_nan() {
                u64::MAX
            } else {
                value.to_bits()
            }
        })
    }

    #[test]
    fn four_doubles_give_the_bits_of_doubles() {
        let values = [
            0.1,
            -0.0,
            0.0,
            f64::NAN,
            1.0 / 3.0,
            f64::INFINITY,
            -7.3,
            f64::NEG_INFINITY,
            5e-324,
            -1e308,
            2.0,
        ];
        let expected = Operations(&values).run::<Numbers>();
        let ones = Operations(&values).run::<One>();
        for (one, four) in ones.iter().zip(&expected) {
            assert_eq!(one[0], four[0]);
        }
        assert_eq!(with_wide_registers(Operations(&values)), expected);
        let [sum, difference] = [expected[0], expected[1]];
        let a = [values[3], values[0], values[6], values[1]];
        assert_eq!(sum, bits(a.map(|a| a + values[0])));
        assert_eq!(difference, bits(a.map(|a| a - values[0])));
    }

    #[test]
    #[should_panic(expected = "len")]
    fn a_place_beyond_the_row_is_refused() {
        struct Beyond;
        impl Loops for Beyond {
            type Output = [f64; 4];

            #[inline(always)]
            fn run<F: Four>(self) -> Self::Output {
                F::at(&[0.0; 3], [0, 3, 1, 2].into()).into()
            }
        }
        with_wide_registers(Beyond);
    }
}
