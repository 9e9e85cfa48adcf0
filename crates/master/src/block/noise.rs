//! Noise: y = mean + deviation·n, with a new number n for each interval.
//!
//! n is normal or uniform with mean 0 and deviation 1. It follows from the seed and the number of the
//! interval alone: whatever the steps, and after a step that is made again, it is the same. Two blocks need
//! two seeds to be independent.

use super::{Block, BlockFacts, reached};
use crate::random::SplitMix64;
use crate::registry::{Entry, ParameterInfo, ParameterKind};

/// The numbers of a seed.
struct Noise {
    mean: f64,
    deviation: f64,
    interval: f64,
    seed: u64,
    is_normal: bool,
}

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "noise",
    summary: "a random number, held over each interval; intervals are counted from t = 0",
    source: "SplitMix64 (Steele, Lea & Flood 2014), Box & Muller (1958)",
    parameters: &[
        ParameterInfo::any_number("mean", "mean value", 0.0),
        ParameterInfo::any_number("deviation", "standard deviation", 1.0),
        ParameterInfo::positive("interval", "time between numbers, s", 0.01),
        ParameterInfo::whole_number(
            "seed",
            "the same seed gives the same numbers",
            1,
            // Whole numbers that a double holds.
            (0, 1 << 53),
        ),
        ParameterInfo {
            name: "distribution",
            summary: "normal, or uniform over mean ± √3·deviation",
            kind: ParameterKind::Word(&["normal", "uniform"]),
        },
    ],
    facts: |_, ()| BlockFacts::JUMPS,
    build: |arguments| {
        Ok(Box::new(Noise {
            mean: arguments.number("mean"),
            deviation: arguments.number("deviation"),
            interval: arguments.number("interval"),
            seed: arguments.whole_number("seed"),
            is_normal: arguments.word("distribution") == "normal",
        }))
    },
};

impl Block for Noise {
    fn output(&self, _output: usize, time: f64, _inputs: &[f64]) -> Result<f64, String> {
        // A time that misses the start of an interval by rounding is in it.
        let intervals = time / self.interval;
        let nearest = intervals.round();
        let index = match reached(time, nearest * self.interval) {
            true => nearest as i64,
            false => intervals.floor() as i64,
        };
        // A normal number takes two of the stream.
        let mut stream = SplitMix64::after(self.seed, (index as u64).wrapping_mul(2));
        let number = if self.is_normal {
            stream.next_normal()
        } else {
            3_f64.sqrt() * (2.0 * stream.next_unit() - 1.0)
        };
        Ok(self.mean + self.deviation * number)
    }
}
