//! Predictions of several inputs side by side, at equal steps: those of `auto`, step by step and to the last bit, while no degree
//! changes.

use super::auto::{EQUAL_SPANS, GAIN, MEMORY};
use crate::extremes::fading;

/// Inputs side by side: four doubles fill a register of most processors.
pub(crate) const LANES: usize = 4;

/// A number of each of some inputs.
pub(crate) type Numbers = [f64; LANES];

/// The state of an [extrapolation](super::Extrapolation) that predicts from values at equal steps, by backward differences, and judges the
/// degrees 0 to 3 by the averaged squares of their past errors as `auto` does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvenSteps {
    /// From the value before the newest one to that, s.
    pub span: f64,
    /// The newest value and its backward differences of orders 1 to 3.
    pub differences: [f64; 4],
    /// Averaged squares of the prediction errors of each degree. None is NaN.
    pub errors: [f64; 4],
    /// The degree in use.
    pub order: usize,
    /// The newest value less the prediction of that degree.
    pub last_error: f64,
    /// The value of the input over the next step is the sum of the differences up to the degree in use with these weights.
    pub weights: [f64; 4],
}

impl EvenSteps {
    /// Of an input that is held.
    pub(crate) fn held(value: f64) -> Self {
        Self {
            span: f64::NAN,
            differences: [value, 0.0, 0.0, 0.0],
            // No degree is better than the lowest.
            errors: [0.0, f64::INFINITY, f64::INFINITY, f64::INFINITY],
            order: 0,
            last_error: 0.0,
            weights: [1.0, 0.0, 0.0, 0.0],
        }
    }

    /// Whether spans between values are equal, but for rounding of the times t₀ + k·h.
    #[inline(always)]
    pub(crate) fn are_equal(before: f64, span: f64) -> bool {
        (before - span).abs() <= EQUAL_SPANS * span
    }
}

/// The states of some inputs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Predictions {
    past: Past,
    /// The degrees, as numbers that registers compare.
    order: Numbers,
    weights: [Numbers; 4],
}

/// The state that each new value changes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Past {
    differences: [Numbers; 4],
    errors: [Numbers; 4],
    last_error: Numbers,
}

/// An error that is greater is none of a degree in use.
const NO_DEGREE: Numbers = [f64::INFINITY; LANES];

#[inline(always)]
pub(crate) fn each(of: impl Fn(usize) -> f64) -> Numbers {
    std::array::from_fn(of)
}

impl Predictions {
    pub(crate) fn load(&mut self, lane: usize, steps: &EvenSteps) {
        for degree in 0..4 {
            self.past.differences[degree][lane] = steps.differences[degree];
            self.past.errors[degree][lane] = steps.errors[degree];
            self.weights[degree][lane] = steps.weights[degree];
        }
        self.past.last_error[lane] = steps.last_error;
        self.order[lane] = steps.order as f64;
    }

    /// Takes those after new values.
    #[inline(always)]
    pub(crate) fn go_on(&mut self, after: &Past) {
        // One by one: all of it together would be a call.
        self.past.differences = after.differences;
        self.past.errors = after.errors;
        self.past.last_error = after.last_error;
    }

    /// Takes those of one input after new values.
    pub(crate) fn go_on_in(&mut self, lane: usize, after: &Past) {
        for degree in 0..4 {
            self.past.differences[degree][lane] = after.differences[degree][lane];
            self.past.errors[degree][lane] = after.errors[degree][lane];
        }
        self.past.last_error[lane] = after.last_error[lane];
    }

    pub(crate) fn of_lane(&self, lane: usize, span: f64) -> EvenSteps {
        EvenSteps {
            span,
            differences: self.past.differences.map(|numbers| numbers[lane]),
            errors: self.past.errors.map(|numbers| numbers[lane]),
            order: self.order[lane] as usize,
            last_error: self.past.last_error[lane],
            weights: self.weights.map(|numbers| numbers[lane]),
        }
    }

    /// Of four numbers that are by degree, those of the degrees in use.
    #[inline(always)]
    fn in_use(&self, [zero, one, two, three]: [Numbers; 4]) -> Numbers {
        let chosen = self.where_above(0.0, one, zero);
        let chosen = self.where_above(1.0, two, chosen);
        self.where_above(2.0, three, chosen)
    }

    /// The first numbers where the degree in use is above this one, else the others.
    #[inline(always)]
    fn where_above(&self, degree: f64, numbers: Numbers, others: Numbers) -> Numbers {
        each(|lane| {
            if self.order[lane] > degree {
                numbers[lane]
            } else {
                others[lane]
            }
        })
    }

    /// The sums of the numbers up to each degree.
    #[inline(always)]
    fn sums([a, b, c, d]: [Numbers; 4]) -> [Numbers; 4] {
        let plus = |one: Numbers, other: Numbers| each(|lane| one[lane] + other[lane]);
        let ab = plus(a, b);
        let abc = plus(ab, c);
        [a, ab, abc, plus(abc, d)]
    }

    /// The values that are predicted for the end of the step.
    #[inline(always)]
    pub(crate) fn predicted(&self) -> Numbers {
        self.in_use(Self::sums(self.past.differences))
    }

    /// The values of the inputs over the next step.
    #[inline(always)]
    pub(crate) fn given(&self) -> Numbers {
        let weighted = |degree: usize| {
            each(|lane| self.weights[degree][lane] * self.past.differences[degree][lane])
        };
        let sums = Self::sums([weighted(0), weighted(1), weighted(2), weighted(3)]);
        let given = self.in_use(sums);
        // Nothing is owed or added, which leaves no negative zero.
        each(|lane| given[lane] + 0.0)
    }

    /// The states after new values.
    #[inline(always)]
    pub(crate) fn after(&self, values: Numbers) -> Past {
        let minus = |one: Numbers, other: Numbers| each(|lane| one[lane] - other[lane]);
        let [newest, last, second, third] = self.past.differences;
        let change = minus(values, newest);
        let second_differences = minus(change, last);
        let thirds = minus(second_differences, second);
        // The errors of the predictions of each degree are the next differences.
        let misses = [change, second_differences, thirds, minus(thirds, third)];
        let average = |degree: usize| {
            let (past, miss) = (self.past.errors[degree], misses[degree]);
            each(|lane| fading(MEMORY * past[lane] + (1.0 - MEMORY) * (miss[lane] * miss[lane])))
        };
        Past {
            differences: [values, change, second_differences, thirds],
            errors: [average(0), average(1), average(2), average(3)],
            last_error: self.in_use(misses),
        }
    }

    /// 1 where a degree has to change after new values, or an error is NaN; else 0. Numbers, since registers count them at once.
    #[inline(always)]
    pub(crate) fn are_unusual(&self, after: &Past) -> Numbers {
        let [zero, one, two, three] = after.errors;
        let present = self.in_use(after.errors);
        let higher = self.in_use([one, two, three, NO_DEGREE]);
        let of_lower = [
            self.where_above(0.0, zero, NO_DEGREE),
            self.where_above(1.0, one, NO_DEGREE),
            self.where_above(2.0, two, NO_DEGREE),
        ];
        let [zero, one, two] = of_lower;
        each(|lane| {
            let falls = (zero[lane] <= present[lane])
                | (one[lane] <= present[lane])
                | (two[lane] <= present[lane]);
            let rises = higher[lane] < GAIN * present[lane];
            // An error that is NaN makes those of higher degrees so.
            let is_unusual = falls | rises | three[lane].is_nan();
            if is_unusual { 1.0 } else { 0.0 }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// A lower degree that is as good, or a higher one that is better by the part [`GAIN`].
    fn changes(order: usize, errors: [f64; 4]) -> bool {
        let present = errors[order];
        errors[..order].iter().any(|lower| *lower <= present)
            || errors
                .get(order + 1)
                .is_some_and(|higher| *higher < GAIN * present)
    }

    /// Errors of a few magnitudes, so that some are equal.
    #[test]
    fn a_degree_that_has_to_change_is_unusual() {
        let mut random = SplitMix64::new(3);
        let mut seen = [0; 2];
        for _ in 0..500 {
            let mut predictions = Predictions::default();
            let mut past = Past::default();
            let mut expected = Numbers::default();
            for (lane, expected) in expected.iter_mut().enumerate() {
                let order = (4.0 * random.next_unit()) as usize;
                let mut errors = [(); 4].map(|()| (8.0 * random.next_unit()).floor());
                let is_nan = random.next_unit() < 0.05;
                if is_nan {
                    errors[3] = f64::NAN;
                }
                predictions.order[lane] = order as f64;
                for (all, error) in past.errors.iter_mut().zip(errors) {
                    all[lane] = error;
                }
                let is_unusual = is_nan || changes(order, errors);
                seen[usize::from(is_unusual)] += 1;
                *expected = if is_unusual { 1.0 } else { 0.0 };
            }
            assert_eq!(predictions.are_unusual(&past), expected);
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
    }
}
