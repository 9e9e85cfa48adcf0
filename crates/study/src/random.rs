//! Random values that are the same on every machine.

use gyrator::random::SplitMix64;

use crate::literal::Literal;

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
    /// One of these, at index ⌊n·u⌋.
    Choice(Vec<Literal>),
}

impl Distribution {
    /// The next value.
    pub fn draw(&self, stream: &mut SplitMix64) -> Literal {
        match self {
            Self::Uniform(least, greatest) => {
                Literal::number(least + (greatest - least) * stream.next_unit())
            }
            Self::LogUniform(least, greatest) => {
                Literal::number(least * libm::pow(greatest / least, stream.next_unit()))
            }
            Self::Normal(mean, deviation) => {
                Literal::number(mean + deviation * stream.next_normal())
            }
            Self::Choice(values) => {
                let index = (values.len() as f64 * stream.next_unit()) as usize;
                values[index.min(values.len() - 1)].clone()
            }
        }
    }

    /// The value below which lies this share of the probability, 0 ≤ share ≤ 1. Choices are taken in their order.
    pub(crate) fn quantile(&self, share: f64) -> Literal {
        match self {
            Self::Uniform(least, greatest) => Literal::number(least + (greatest - least) * share),
            Self::LogUniform(least, greatest) => {
                Literal::number(least * libm::pow(greatest / least, share))
            }
            Self::Normal(mean, deviation) => {
                Literal::number(mean + deviation * normal_quantile(share))
            }
            Self::Choice(values) => {
                let index = (values.len() as f64 * share) as usize;
                values[index.min(values.len() - 1)].clone()
            }
        }
    }
}

/// The quantile of the standard normal distribution: Φ(x) = share, by Halley's method from the tail's approximation
/// 26.2.23 of Abramowitz and Stegun 1964, whose error of 4.5e-4 three steps take below rounding.
fn normal_quantile(share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return if share <= 0.0 {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    }
    let tail = share.min(1.0 - share);
    let t = libm::sqrt(-2.0 * libm::log(tail));
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    // The quantile of the upper tail, so that small tails keep their digits.
    let mut x = t - above / below;
    for _ in 0..3 {
        let error = tail - 0.5 * libm::erfc(x / std::f64::consts::SQRT_2);
        let density = libm::exp(-0.5 * x * x) / libm::sqrt(std::f64::consts::TAU);
        let newton = -error / density;
        x += newton / (1.0 - 0.5 * x * newton);
    }
    if share < 0.5 { -x } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.norm.ppf` of SciPy 1.17.
    #[test]
    fn quantiles_of_the_normal_distribution() {
        for (share, expected) in [
            (1e-300, -37.0470962993612),
            (1e-16, -8.222082216130435),
            (1e-05, -4.264890793922825),
            (0.02, -2.053748910631823),
            (0.3, -0.5244005127080409),
            (0.49, -0.02506890825871106),
            (0.501, 0.0025066308995717666),
            (0.75, 0.6744897501960817),
            (0.975, 1.959963984540054),
            (0.999999, 4.753424308817087),
        ] {
            let found = normal_quantile(share);
            assert!(
                (found - expected).abs() <= 4e-15 * f64::abs(expected).max(1.0),
                "{share}: {found} for {expected}"
            );
        }
        assert!(normal_quantile(0.5).abs() < 1e-17);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
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
