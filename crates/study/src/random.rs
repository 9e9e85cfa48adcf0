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
    /// One of these: that of index ⌊n·u⌋.
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
