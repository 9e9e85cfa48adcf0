//! Random bits that are the same on every machine.

/// Increment of the generator's state: 2⁶⁴ over the golden ratio.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator SplitMix64 (Steele, Lea & Flood 2014, fig. 17), as `java.util.SplittableRandom`
/// and the reference code of S. Vigna have it.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream of a seed without its first `skipped` numbers.
    #[must_use]
    pub fn after(seed: u64, skipped: u64) -> Self {
        Self(seed.wrapping_add(skipped.wrapping_mul(INCREMENT)))
    }

    /// The next 64 bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// The next number, evenly spread over 0 ≤ u < 1: the upper 53 bits over 2⁵³.
    pub fn next_unit(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next two numbers as one of the standard normal distribution: √(−2 ln(1 − u₁))·cos(2π·u₂)
    /// (Box & Muller 1958). Functions come from `libm`, not from the system, whose last digits differ.
    pub fn next_normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.next_unit()));
        radius * libm::cos(std::f64::consts::TAU * self.next_unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs for the seed 1234567: the test vector of Rosetta Code, "Pseudo-random
    /// numbers/Splitmix64".
    #[test]
    fn stream_is_that_of_the_reference_code() {
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        let mut stream = SplitMix64::new(1_234_567);
        for (skipped, expected) in (0..).zip(expected) {
            assert_eq!(stream.next_bits(), expected);
            assert_eq!(SplitMix64::after(1_234_567, skipped).next_bits(), expected);
        }
    }

    /// First numbers for the seed 2021, from `crates/benchmark/reference/dual_mass.py`.
    #[test]
    fn units_are_the_upper_bits() {
        let mut stream = SplitMix64::new(2021);
        for expected in [
            0.260_512_113_892_027_2,
            0.990_444_665_679_104_8,
            0.517_156_961_823_738_9,
            0.406_799_976_286_047_6,
        ] {
            assert_eq!(stream.next_unit(), expected);
        }
    }
}
