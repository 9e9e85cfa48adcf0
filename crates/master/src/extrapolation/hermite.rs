//! The parabola through the last two values with the derivative ẏ that the source gives at the
//! newest: ũ(t + s) = y₀ + ẏ₀·s + c·s², with c = (y₁ − y₀ + ẏ₀·h)/h². The time between the two
//! values is h.
//!
//! Source: Hermite interpolation; the derivative: FMI 2.0 §2.2.7 (attribute `derivative`) or §4.2.3
//! (`fmi2GetRealOutputDerivatives`). Use it for smooth signals whose sources give derivatives:
//! error O(H³) from two values, while `quadratic` needs three. Limits: as `quadratic` if the source
//! gives none.

use super::history::History;
use super::{Extrapolation, ExtrapolationFacts, Sample};
use crate::curve::Curve;
use crate::registry::Entry;
use crate::state_stream::{keeps_its_state, stored};

/// The parabola through the last two values with the declared slope at the newest.
#[derive(Debug, Clone, Default)]
pub(super) struct Hermite {
    history: History,
}

pub(super) const ENTRY: Entry<dyn Extrapolation> = Entry {
    name: "hermite",
    summary: "the parabola through the last two values with the slope that the source declares; as quadratic where it declares none",
    source: "Hermite interpolation; FMI 2.0 §2.2.7 (derivative) and §4.2.3 (output derivatives)",
    parameters: &[],
    facts: |_, _| ExtrapolationFacts {
        needs_slope: true,
        ..ExtrapolationFacts::polynomial(2)
    },
    build: |_| Box::<Hermite>::default(),
};

impl Extrapolation for Hermite {
    fn observe(&mut self, sample: Sample) {
        self.history.push(sample);
    }

    fn curve(&self, now: f64, _step: f64) -> Curve {
        let Some((newest, slope)) = self.history.newest().and_then(|s| Some((s, s.slope?))) else {
            return self.history.polynomial(2, now);
        };
        let quadratic = self.history.before_newest().map_or(0.0, |before| {
            let span = newest.time - before.time;
            (before.value - newest.value + slope * span) / (span * span)
        });
        let about_newest = Curve {
            coefficients: [newest.value, slope, quadratic, 0.0],
        };
        about_newest.shifted(now - newest.time)
    }

    fn clear(&mut self) {
        self.history.clear();
    }

    fn order(&self) -> usize {
        2
    }

    keeps_its_state!(dyn Extrapolation);
}

stored!(Hermite { history });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola_needs_two_values_and_a_slope() {
        let mut hermite = Hermite::default();
        for time in [0.5, 0.75] {
            hermite.observe(Sample {
                time,
                value: 1.0 + 2.0 * time - 3.0 * time * time,
                slope: Some(2.0 - 6.0 * time),
            });
        }
        let curve = hermite.curve(1.0, 0.1);
        for s in [0.0, 0.1, 0.3] {
            let t = 1.0 + s;
            assert!((curve.at(s) - (1.0 + 2.0 * t - 3.0 * t * t)).abs() < 1e-13);
        }
        hermite.clear();
        assert_eq!(hermite.curve(0.75, 0.1).derivative(1), 2.0 - 6.0 * 0.75);
    }

    #[test]
    fn a_cleared_past_leaves_the_line_with_the_slope() {
        let mut hermite = Hermite::default();
        for (time, value) in [(0.0, 0.0), (1.0, 1.0)] {
            hermite.observe(Sample {
                time,
                value,
                slope: Some(2.0 * time),
            });
        }
        assert_eq!(hermite.curve(1.0, 0.1).derivative(2), 2.0);
        assert_eq!(hermite.order(), 2);
        hermite.clear();
        assert_eq!(hermite.curve(1.0, 0.1), Curve::line(1.0, 2.0));
    }
}
