//! The mean of another extrapolation Φ over the coming step, held constant: ũ = (1/H)·∫₀ᴴ Φ(s) ds.
//!
//! Source: own. Use it for units that take values only and step once a macro-step: the input has
//! the impulse of the prediction, which hold misses by half a step. Limits: the course within the
//! step stays constant; the last value of the step is not the predicted one, so the residual power
//! at its end does not vanish even if the prediction is exact.

use super::{Extrapolation, ExtrapolationFacts, Sample, auto, polynomial};
use crate::curve::Curve;
use crate::registry::{Arguments, Entry, ParameterInfo, ParameterKind};
use crate::state_stream::StateStream;

/// The mean that another extrapolation predicts for the step, held constant.
struct MeanHold {
    prediction: Box<dyn Extrapolation>,
}

pub(super) const ENTRY: Entry<dyn Extrapolation> = Entry {
    name: "mean-hold",
    summary: "the mean of a prediction over the step, held constant, for units that take values only",
    source: "own",
    parameters: &[ParameterInfo {
        name: "of",
        summary: "the extrapolation whose mean is held",
        kind: ParameterKind::Word(&["linear", "quadratic", "auto"]),
    }],
    facts: |_, _| ExtrapolationFacts::polynomial(0),
    build: |arguments| {
        let entry = match arguments.word("of") {
            "quadratic" => &polynomial::QUADRATIC,
            "auto" => &auto::ENTRY,
            _ => &polynomial::LINEAR,
        };
        Box::new(MeanHold {
            prediction: (entry.build)(&Arguments::default()),
        })
    },
};

impl Extrapolation for MeanHold {
    fn observe(&mut self, sample: Sample) {
        self.prediction.observe(sample);
    }

    fn curve(&self, now: f64, step: f64) -> Curve {
        Curve::constant(self.prediction.curve(now, step).mean(step))
    }

    fn clear(&mut self) {
        self.prediction.clear();
    }

    fn order(&self) -> usize {
        0
    }

    fn duplicate(&self) -> Box<dyn Extrapolation> {
        Box::new(Self {
            prediction: self.prediction.duplicate(),
        })
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        self.prediction.transfer(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_line_is_held() {
        let mut mean_hold = MeanHold {
            prediction: (polynomial::LINEAR.build)(&Arguments::default()),
        };
        for (time, value) in [(0.0, 1.0), (1.0, 3.0)] {
            mean_hold.observe(Sample {
                time,
                value,
                slope: None,
            });
        }
        assert_eq!(mean_hold.curve(1.0, 0.5), Curve::constant(3.5));
        mean_hold.clear();
        assert_eq!(mean_hold.curve(1.0, 0.5), Curve::constant(3.0));
    }
}
