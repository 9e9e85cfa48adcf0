//! Random values that are the same on every machine.

use crate::literal::Literal;

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

    /// The next 64 bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// The next number, evenly spread over 0 ≤ u < 1: the upper 53 bits over 2⁵³.
    pub fn next_unit(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// How a random value is spread. Functions come from `libm`, not from the system, whose last digits differ.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// Evenly from the first to the second: a + (b − a)·u.
    Uniform(f64, f64),
    /// Evenly by the logarithm: a·(b/a)^u; both are positive.
    LogUniform(f64, f64),
    /// Normal with mean and standard deviation: mean + deviation·√(−2 ln(1 − u₁))·cos(2π·u₂),
    /// from two numbers of the stream.
    Normal(f64, f64),
    /// One of these: that of index ⌊n·u⌋.
    Choice(Vec<Literal>),
}

impl Distribution {
    /// The next value.
    pub fn draw(&self, stream: &mut SplitMix64) -> Literal {
        let u = stream.next_unit();
        match self {
            Self::Uniform(least, greatest) => Literal::number(least + (greatest - least) * u),
            Self::LogUniform(least, greatest) => {
                Literal::number(least * libm::pow(greatest / least, u))
            }
            Self::Normal(mean, deviation) => {
                let angle = std::f64::consts::TAU * stream.next_unit();
                let radius = libm::sqrt(-2.0 * libm::log(1.0 - u));
                Literal::number(mean + deviation * (radius * libm::cos(angle)))
            }
            Self::Choice(values) => {
                let index = (values.len() as f64 * u) as usize;
                values[index.min(values.len() - 1)].clone()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs for the seed 1234567: the test vector of Rosetta Code, "Pseudo-random
    /// numbers/Splitmix64".
    #[test]
    fn stream_is_that_of_the_reference_code() {
        let mut stream = SplitMix64::new(1_234_567);
        for expected in [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ] {
            assert_eq!(stream.next_bits(), expected);
        }
    }

    /// First numbers for the seed 2021, from `reference/dual_mass.py`.
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

    #[test]
    fn moments() {
        let draw = |distribution: &Distribution| -> (f64, f64) {
            let mut stream = SplitMix64::new(7);
            let numbers: Vec<f64> = (0..20_000)
                .map(|_| distribution.draw(&mut stream).toml.parse().unwrap())
                .collect();
            let mean = numbers.iter().sum::<f64>() / 20_000.0;
            let square = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
            (mean, square.sqrt())
        };
        // Means of 20 000 numbers; bounds of four standard errors.
        let near = |found: f64, expected: f64, bound: f64| {
            assert!((found - expected).abs() < bound, "{found} for {expected}");
        };
        let (mean, deviation) = draw(&Distribution::Normal(3.0, 0.5));
        near(mean, 3.0, 0.5 * 4.0 / 141.0);
        near(deviation, 0.5, 0.5 * 4.0 / 200.0);
        let (mean, deviation) = draw(&Distribution::Uniform(-1.0, 3.0));
        near(mean, 1.0, 4.0 * 1.155 / 141.0);
        near(deviation, 4.0 / 12_f64.sqrt(), 0.02);
        // The mean of a log-uniform number is (b − a)/ln(b/a).
        let (mean, _) = draw(&Distribution::LogUniform(1.0, 100.0));
        near(mean, 99.0 / 100_f64.ln(), 4.0 * 25.0 / 141.0);
        let choice = vec![Literal::number(1.0), Literal::number(2.0)];
        let (mean, _) = draw(&Distribution::Choice(choice));
        near(mean, 1.5, 4.0 * 0.5 / 141.0);
    }
}
