//! Polynomials through the newest values: `linear` (first-order hold, FOH) through two, `quadratic`
//! through three. In Newton's form, ũ(t + s) = y₀ + (t + s − t₀)·(y[t₀,t₁] + (t + s −
//! t₁)·y[t₀,t₁,t₂]), with divided differences, so that uneven steps are exact. The degree grows
//! with the history.
//!
//! Source: Rodríguez et al. (2022) §2; Sadjina & Pedersen (2019) §2. Use them for smooth signals and receivers that take
//! derivatives or sub-steps. Limits: error O(H^(degree + 1)); the largest stable step shrinks with the degree, and noise is
//! amplified. After a jump the published polynomials still go through the values before it, and overshoot for as many steps
//! as they have degrees; with `on_jump = "forget"` (own) the past ends when a prediction fails as it only does at a
//! discontinuity.

use super::history::History;
use super::{Extrapolation, ExtrapolationFacts, Sample};
use crate::curve::Curve;
use crate::registry::{Arguments, Entry, ParameterInfo, ParameterKind};
use crate::state_stream::{keeps_its_state, stored};

/// The polynomial through the newest `degree + 1` published values; of lower degree until the
/// history is full.
#[derive(Debug, Clone)]
struct Polynomial {
    degree: usize,
    forgets_jumps: bool,
    history: History,
}

const PARAMETERS: &[ParameterInfo] = &[ParameterInfo {
    name: "on_jump",
    summary: "where the values show a jump: keep the past, as published, or forget it; actions on the signal end it in any case",
    kind: ParameterKind::Word(&["keep", "forget"]),
}];

pub(super) const LINEAR: Entry<dyn Extrapolation> = Entry {
    name: "linear",
    summary: "the line through the last two values (first-order hold)",
    source: "Rodríguez 2022 §2; Sadjina 2019 §2",
    parameters: PARAMETERS,
    facts: |_, _| ExtrapolationFacts::polynomial(1),
    build: |arguments| Box::new(Polynomial::of(1, arguments)),
};

pub(super) const QUADRATIC: Entry<dyn Extrapolation> = Entry {
    name: "quadratic",
    summary: "the parabola through the last three values (second-order hold)",
    source: "Rodríguez 2022 §2; Sadjina 2019 §2",
    parameters: PARAMETERS,
    facts: |_, _| ExtrapolationFacts::polynomial(2),
    build: |arguments| Box::new(Polynomial::of(2, arguments)),
};

impl Polynomial {
    fn new(degree: usize) -> Self {
        Self {
            degree,
            forgets_jumps: false,
            history: History::default(),
        }
    }

    fn of(degree: usize, arguments: &Arguments) -> Self {
        Self {
            forgets_jumps: arguments.has_word("on_jump", "forget"),
            ..Self::new(degree)
        }
    }
}

impl Extrapolation for Polynomial {
    fn observe(&mut self, sample: Sample) {
        self.history.push(sample);
    }

    fn curve(&self, now: f64, _step: f64) -> Curve {
        self.history.polynomial(self.degree, now)
    }

    fn clear(&mut self) {
        self.history.clear();
    }

    fn jumped(&mut self) {
        if self.forgets_jumps {
            self.clear();
        }
    }

    fn order(&self) -> usize {
        self.history.degree().min(self.degree)
    }

    keeps_its_state!(dyn Extrapolation);
}

stored!(Polynomial { history; degree, forgets_jumps });

#[cfg(test)]
mod tests {
    use gyrator_system::{Choice, Value};

    use super::*;
    use crate::registry::look_up;

    fn after(degree: usize, times: &[f64], signal: fn(f64) -> f64) -> Polynomial {
        let mut polynomial = Polynomial::new(degree);
        for &time in times {
            polynomial.observe(Sample {
                time,
                value: signal(time),
                slope: None,
            });
        }
        polynomial
    }

    #[test]
    fn a_parabola_is_continued_exactly_from_uneven_and_old_samples() {
        let signal = |t: f64| 3.0 - t + 2.0 * t * t;
        let curve = after(2, &[0.0, 0.1, 0.25, 0.3], signal).curve(0.5, 0.1);
        for s in [0.0, 0.05, 0.2] {
            assert!((curve.at(s) - signal(0.5 + s)).abs() < 1e-12);
        }
    }

    #[test]
    fn the_order_grows_with_the_history() {
        let signal = |t: f64| t * t;
        assert_eq!(
            after(2, &[1.0], signal).curve(1.0, 0.1),
            Curve::constant(1.0)
        );
        assert_eq!(
            after(2, &[1.0, 2.0], signal).curve(2.0, 0.1),
            Curve::line(4.0, 3.0)
        );
        let mut cleared = after(2, &[1.0, 2.0, 3.0], signal);
        cleared.clear();
        assert_eq!(cleared.curve(3.0, 0.1), Curve::constant(9.0));
    }

    #[test]
    fn the_past_of_a_jump_is_kept_unless_it_is_to_be_forgotten() {
        for (word, line) in [
            ("keep", Curve::line(2.0, 1.0)),
            ("forget", Curve::constant(2.0)),
        ] {
            let choice = Choice::new("linear").with("on_jump", Value::String(word.to_owned()));
            let mut made = look_up(&[LINEAR], &choice).unwrap().build();
            for (time, value) in [(0.0, 1.0), (1.0, 2.0)] {
                made.observe(Sample {
                    time,
                    value,
                    slope: None,
                });
            }
            made.jumped();
            assert_eq!(made.curve(1.0, 0.1), line);
            made.clear();
            assert_eq!(made.curve(1.0, 0.1), Curve::constant(2.0));
        }
    }

    #[test]
    fn a_second_value_for_the_same_time_replaces_the_first() {
        let mut polynomial = after(1, &[0.0, 1.0], |t| t);
        polynomial.observe(Sample {
            time: 1.0,
            value: 5.0,
            slope: None,
        });
        assert_eq!(polynomial.curve(1.0, 0.1), Curve::line(5.0, 5.0));
    }
}
