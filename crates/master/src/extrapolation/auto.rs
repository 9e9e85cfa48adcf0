//! A polynomial of degree 0 to 3, chosen for each signal by its own past. Every new value judges
//! all degrees: the squared errors of their predictions are averaged, Eₖ ← m·Eₖ + (1 − m)·eₖ². The
//! degree falls to a lower one that is no worse, and rises by one where that has less than a part g
//! of the error.
//!
//! Source: own; the polynomials are those of Sadjina & Pedersen (2019) §2. Use it where signals
//! differ in smoothness. Limits: accuracy is judged and stability is not, so a stiff loop may need
//! `hold`; degree 3 is not chosen before the fifth value.

use super::history::History;
use super::{Extrapolation, ExtrapolationFacts, Sample};
use crate::curve::Curve;
use crate::registry::Entry;
use crate::state_stream::{StateStream, Stored};

/// The polynomial of the degree, 0 to 3, that would have predicted the past values best.
#[derive(Debug, Clone, Default)]
pub(super) struct Auto {
    history: History,
    order: usize,
    /// Averaged squares of the prediction errors of each degree; `None` before the first.
    errors: [Option<f64>; 4],
}

/// Share of the past that the averages keep at each value. A choice: the averages reach back about
/// 1/(1 − 0.9) = 10 values, twice what degree 3 and its judgement need.
const MEMORY: f64 = 0.9;
/// A higher degree is selected if its squared error is less than this share of the present one's. A
/// choice: the hysteresis keeps noise from moving the degree, and low degrees are the stable ones.
const GAIN: f64 = 0.5;

pub(super) const ENTRY: Entry<dyn Extrapolation> = Entry {
    name: "auto",
    summary: "a polynomial of degree 0 to 3, chosen signal by signal from past prediction errors",
    source: "own; degrees as in Sadjina 2019 §2",
    parameters: &[],
    facts: |_, _| ExtrapolationFacts {
        // Each degree needs a value more than it has coefficients, to be judged by.
        values_until_exact: 5,
        ..ExtrapolationFacts::polynomial(3)
    },
    build: |_| Box::<Auto>::default(),
};

impl Auto {
    fn learn(&mut self, sample: Sample) {
        for degree in 0..=self.history.degree() {
            let error = sample.value - self.history.polynomial(degree, sample.time).at(0.0);
            let square = error * error;
            let average = |past: f64| MEMORY * past + (1.0 - MEMORY) * square;
            self.errors[degree] = Some(self.errors[degree].map_or(square, average));
        }
    }

    fn choose(&mut self) {
        let error = |degree: usize| self.errors.get(degree).copied().flatten();
        let Some(present) = error(self.order) else {
            return;
        };
        let lower = (0..self.order).rfind(|lower| error(*lower).is_some_and(|e| e <= present));
        if let Some(lower) = lower {
            self.order = lower;
        } else if error(self.order + 1).is_some_and(|higher| higher < GAIN * present) {
            self.order += 1;
        }
    }
}

impl Extrapolation for Auto {
    fn observe(&mut self, sample: Sample) {
        let is_later = |newest: &Sample| sample.time > newest.time;
        if self.history.newest().is_some_and(is_later) {
            self.learn(sample);
            self.choose();
        }
        self.history.push(sample);
    }

    fn curve(&self, now: f64, _step: f64) -> Curve {
        self.history.polynomial(self.order, now)
    }

    fn clear(&mut self) {
        self.history.clear();
        self.order = 0;
        self.errors = [None; 4];
    }

    fn order(&self) -> usize {
        self.order.min(self.history.degree())
    }

    fn duplicate(&self) -> Box<dyn Extrapolation> {
        Box::new(self.clone())
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        stream.keep(self);
    }
}

impl Stored for Auto {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self {
            history,
            order,
            errors,
        } = self;
        stream.keep(history);
        stream.below(order, errors.len());
        stream.keep(errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(values: impl IntoIterator<Item = f64>) -> Auto {
        let mut auto = Auto::default();
        for (time, value) in (0_i32..).zip(values) {
            auto.observe(Sample {
                time: f64::from(time),
                value,
                slope: None,
            });
        }
        auto
    }

    #[test]
    fn smooth_signals_get_the_highest_degree() {
        assert_eq!(
            after((0..40).map(|k| (0.1 * f64::from(k)).sin())).order(),
            3
        );
    }

    #[test]
    fn noise_gets_degree_0() {
        // A linear congruential generator: numbers without a pattern of low degree.
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state) / f64::from(u32::MAX)
        });
        assert_eq!(after(noise.take(200)).order(), 0);
    }

    #[test]
    fn a_discontinuity_starts_anew() {
        let mut auto = after((0..40).map(|k| (0.1 * f64::from(k)).sin()));
        auto.clear();
        assert_eq!(auto.order(), 0);
        assert_eq!(
            auto.curve(39.0, 1.0),
            Curve::constant((0.1_f64 * 39.0).sin())
        );
    }

    /// Squares of the errors of prediction, averaged with a memory of 0.9, first one as it is: the
    /// values 0, 1, 1, 3 are missed by 1, 0, 2 (held), 1 and 2 (line) and 3 (parabola).
    #[test]
    fn errors_of_each_degree_are_averaged() {
        let auto = after([0.0, 1.0, 1.0, 3.0]);
        let [held, line, parabola, cubic] = auto.errors;
        assert!((held.unwrap() - (0.9 * 0.9 + 0.1 * 4.0)).abs() < 1e-12);
        assert!((line.unwrap() - (0.9 * 1.0 + 0.1 * 4.0)).abs() < 1e-12);
        assert!((parabola.unwrap() - 9.0).abs() < 1e-12);
        assert_eq!(cubic, None);
    }

    #[test]
    fn a_higher_degree_has_to_halve_the_square_and_a_lower_one_to_be_as_good() {
        let chosen = |order: usize, errors: [f64; 4]| {
            let mut auto = Auto {
                order,
                errors: errors.map(Some),
                ..Auto::default()
            };
            auto.choose();
            auto.order
        };
        assert_eq!(chosen(0, [4.0, 1.9, 0.0, 0.0]), 1);
        assert_eq!(chosen(0, [4.0, 2.1, 0.0, 0.0]), 0);
        assert_eq!(chosen(0, [0.25, 0.12, 0.0, 0.0]), 1);
        assert_eq!(chosen(0, [0.25, 0.13, 0.0, 0.0]), 0);
        assert_eq!(chosen(2, [5.0, 3.0, 3.0, 0.0]), 1);
        assert_eq!(chosen(2, [3.0, 5.0, 3.0, 0.0]), 0);
        assert_eq!(chosen(2, [5.0, 3.1, 3.0, 1.6]), 2);
        assert_eq!(chosen(3, [5.0, 4.0, 3.0, 2.0]), 3);
    }
}
