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

/// One double, or several: each operation is made with each of them.
pub trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The same number in all places.
    fn all(value: f64) -> Self;

    /// The magnitudes.
    fn magnitude(self) -> Self;

    /// Each number that is greater than that of `most`, else that of `most`: also where it is NaN.
    fn or_more(self, most: Self) -> Self;

    /// Each number that is less than that of `least`, else that of `least`: also where it is NaN.
    fn or_less(self, least: Self) -> Self;

    /// That of `other` in the place of NaN.
    fn or_if_nan(self, other: Self) -> Self;

    /// Each number that is finite, else that of `other`.
    fn if_finite_or(self, other: Self) -> Self;
}

/// Four doubles, with which each operation is one instruction where the processor has it. Results have the same bits as of doubles.
pub trait Four: Number + From<[f64; 4]> + Into<[f64; 4]> {
    /// The numbers of a row at these places.
    ///
    /// # Panics
    /// If the row ends before the last of them.
    fn at(row: &[f64], places: Places) -> Self;

    /// The numbers at the same `place` of four rows that follow each other, each of this `width`.
    ///
    /// # Panics
    /// If the place is beyond a row, or the values end before the last row.
    fn in_rows(values: &[f64], place: usize, width: usize) -> Self;

    /// The last number of `before`, then the first three of these.
    fn after(self, before: Self) -> Self;

    /// The first number of each of the four, the second ones, the third ones and the last ones.
    fn transposed(rows: [Self; 4]) -> [Self; 4];
}

/// Four places in a row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places {
    at: [usize; 4],
    /// The greatest of them.
    last: usize,
}

impl Places {
    /// Puts another place in the place of one of them.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn set(&mut self, index: usize, place: usize) {
        self.at[index] = place;
        *self = self.at.into();
    }
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
    work.run::<Doubles>()
}

impl Number for f64 {
    #[inline(always)]
    fn all(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }

    #[inline(always)]
    fn or_more(self, most: Self) -> Self {
        if self > most { self } else { most }
    }

    #[inline(always)]
    fn or_less(self, least: Self) -> Self {
        if self < least { self } else { least }
    }

    #[inline(always)]
    fn or_if_nan(self, other: Self) -> Self {
        if self.is_nan() { other } else { self }
    }

    #[inline(always)]
    fn if_finite_or(self, other: Self) -> Self {
        if self.is_finite() { self } else { other }
    }
}

/// For any processor.
#[derive(Clone, Copy)]
struct Doubles([f64; 4]);

impl Doubles {
    #[inline(always)]
    fn with(self, other: Self, operation: impl Fn(f64, f64) -> f64) -> Self {
        Self(from_fn(|lane| operation(self.0[lane], other.0[lane])))
    }
}

impl From<[f64; 4]> for Doubles {
    #[inline(always)]
    fn from(values: [f64; 4]) -> Self {
        Self(values)
    }
}

impl From<Doubles> for [f64; 4] {
    #[inline(always)]
    fn from(Doubles(values): Doubles) -> Self {
        values
    }
}

impl Number for Doubles {
    #[inline(always)]
    fn all(value: f64) -> Self {
        Self([value; 4])
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        Self(self.0.map(f64::abs))
    }

    #[inline(always)]
    fn or_more(self, most: Self) -> Self {
        self.with(most, f64::or_more)
    }

    #[inline(always)]
    fn or_less(self, least: Self) -> Self {
        self.with(least, f64::or_less)
    }

    #[inline(always)]
    fn or_if_nan(self, other: Self) -> Self {
        self.with(other, f64::or_if_nan)
    }

    #[inline(always)]
    fn if_finite_or(self, other: Self) -> Self {
        self.with(other, f64::if_finite_or)
    }
}

impl Four for Doubles {
    #[inline(always)]
    fn at(row: &[f64], places: Places) -> Self {
        Self(places.at.map(|place| row[place]))
    }

    #[inline(always)]
    fn in_rows(values: &[f64], place: usize, width: usize) -> Self {
        Self(from_fn(|row| values[row * width..][..width][place]))
    }

    #[inline(always)]
    fn after(self, Self([.., last]): Self) -> Self {
        let Self([a, b, c, _]) = self;
        Self([last, a, b, c])
    }

    #[inline(always)]
    fn transposed(rows: [Self; 4]) -> [Self; 4] {
        from_fn(|column| Self(rows.map(|Self(row)| row[column])))
    }
}

/// An operator by that of doubles.
macro_rules! operator {
    ($name:ident, $function:ident) => {
        impl $name for Doubles {
            type Output = Self;

            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                self.with(other, f64::$function)
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
    use std::hint::black_box;
    use std::mem::MaybeUninit;
    use std::ops::{Add, Div, Mul, Sub};

    use super::{Four, Loops, Number, Places};

    /// Does the work in wide registers.
    #[target_feature(enable = "avx2")]
    pub(super) fn with_avx2<L: Loops>(work: L) -> L::Output {
        // The compiler aligns the registers that it spills only where something else on the stack is aligned so: half of them would
        // lie across two cache lines otherwise.
        let aligned = MaybeUninit::<x86::__m256d>::uninit();
        black_box(aligned.as_ptr());
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

    impl Wide {
        /// # Safety
        /// The pointers are valid.
        #[inline(always)]
        unsafe fn read([a, b, c, d]: [*const f64; 4]) -> Self {
            let pair = |first, second| {
                // SAFETY: the pointer is valid.
                let first = unsafe { x86::_mm_load_sd(first) };
                // SAFETY: as above.
                unsafe { x86::_mm_loadh_pd(first, second) }
            };
            let (low, high) = (pair(a, b), pair(c, d));
            // SAFETY: the processor has AVX2.
            Self(unsafe { x86::_mm256_set_m128d(high, low) })
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

    impl Number for Wide {
        #[inline(always)]
        fn all(value: f64) -> Self {
            Self::from([value; 4])
        }

        #[inline(always)]
        fn magnitude(self) -> Self {
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

    impl Four for Wide {
        #[inline(always)]
        fn at(row: &[f64], places: Places) -> Self {
            assert!(places.last < row.len());
            // SAFETY: none of the places is beyond the last one, which is in the row.
            unsafe { Self::read(places.at.map(|place| row.as_ptr().wrapping_add(place))) }
        }

        #[inline(always)]
        fn in_rows(values: &[f64], place: usize, width: usize) -> Self {
            assert!(place < width && width <= values.len() / 4);
            let row = |row: usize| values.as_ptr().wrapping_add(row * width + place);
            // SAFETY: four rows are among the values, and the place is in each.
            unsafe { Self::read([row(0), row(1), row(2), row(3)]) }
        }

        #[inline(always)]
        fn after(self, before: Self) -> Self {
            // The last half of those before, and the first half of these.
            let between = halves::<0x21>(before, self);
            // SAFETY: the processor has AVX2. The instruction gives the second numbers of the first halves and the first ones of the others.
            Self(unsafe { x86::_mm256_shuffle_pd::<0b0101>(between.0, self.0) })
        }

        #[inline(always)]
        fn transposed([a, b, c, d]: [Self; 4]) -> [Self; 4] {
            // SAFETY: the processor has AVX2.
            let first = |a: Self, b: Self| Self(unsafe { x86::_mm256_unpacklo_pd(a.0, b.0) });
            // SAFETY: as above.
            let second = |a: Self, b: Self| Self(unsafe { x86::_mm256_unpackhi_pd(a.0, b.0) });
            [
                halves::<0x20>(first(a, b), first(c, d)),
                halves::<0x20>(second(a, b), second(c, d)),
                halves::<0x31>(first(a, b), first(c, d)),
                halves::<0x31>(second(a, b), second(c, d)),
            ]
        }
    }

    /// One half of each of these: the first ones (0x20), the last ones (0x31), or the last one and the first one (0x21).
    #[inline(always)]
    fn halves<const WHICH: i32>(one: Wide, other: Wide) -> Wide {
        // SAFETY: the processor has AVX2.
        Wide(unsafe { x86::_mm256_permute2f128_pd::<WHICH>(one.0, other.0) })
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
        let expected = Powers(&values, 0.1).run::<Doubles>();
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
                    let each = [a + b, a - b, a * b, a / b, b - a, b / a, a.magnitude()];
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
        let expected = Operations(&values).run::<Doubles>();
        assert_eq!(with_wide_registers(Operations(&values)), expected);
        let [sum, difference] = [expected[0], expected[1]];
        let a = [values[3], values[0], values[6], values[1]];
        assert_eq!(sum, bits(a.map(|a| a + values[0])));
        assert_eq!(difference, bits(a.map(|a| a - values[0])));
    }

    #[test]
    fn numbers_move_between_registers() {
        struct Moves;
        impl Loops for Moves {
            type Output = [[f64; 4]; 6];

            #[inline(always)]
            fn run<F: Four>(self) -> Self::Output {
                let values: Vec<f64> = (0..16).map(f64::from).collect();
                let rows = [0, 4, 8, 12].map(|row| F::at(&values, from_fn(|at| row + at).into()));
                let mut places = Places::default();
                for index in 0..4 {
                    places.set(index, index);
                }
                assert_eq!(F::at(&values, places).into(), [0.0, 1.0, 2.0, 3.0]);
                let [a, b, c, d] = F::transposed(rows).map(F::into);
                [
                    a,
                    b,
                    c,
                    d,
                    rows[1].after(rows[0]).into(),
                    F::in_rows(&values[3..], 1, 3).into(),
                ]
            }
        }
        let expected = [
            [0.0, 4.0, 8.0, 12.0],
            [1.0, 5.0, 9.0, 13.0],
            [2.0, 6.0, 10.0, 14.0],
            [3.0, 7.0, 11.0, 15.0],
            [3.0, 4.0, 5.0, 6.0],
            [4.0, 7.0, 10.0, 13.0],
        ];
        assert_eq!(Moves.run::<Doubles>(), expected);
        assert_eq!(with_wide_registers(Moves), expected);
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
