//! The line with the mean m and the end value e of a prediction of higher degree over the coming
//! step: ũ(t + s) = (2m − e) + (2·(e − m)/H)·s.
//!
//! Source: own. Use it for units that take first derivatives of inputs and no higher ones: impulse
//! and end value are the prediction's; the tangent, which cuts off its higher terms, keeps
//! neither. Limits: the line starts beside the published value by a term O(H²).

use super::{Extrapolation, ExtrapolationFacts, Sample, auto, hermite, polynomial};
use crate::curve::Curve;
use crate::registry::{Arguments, Entry, ParameterInfo, ParameterKind};
use crate::state_stream::StateStream;

/// The line with the mean and the end value that another extrapolation predicts for the step.
struct SecantLinear {
    prediction: Box<dyn Extrapolation>,
}

pub(super) const ENTRY: Entry<dyn Extrapolation> = Entry {
    name: "secant-linear",
    summary: "the line with the mean and the end value of a prediction of higher degree, for units that take first derivatives only",
    source: "own",
    parameters: &[ParameterInfo {
        name: "of",
        summary: "the extrapolation whose mean and end value are kept",
        kind: ParameterKind::Word(&["auto", "quadratic", "hermite"]),
    }],
    facts: |arguments, steps| ExtrapolationFacts {
        degree: 1,
        gives_means: false,
        ..(predicted(arguments).facts)(&Arguments::default(), steps)
    },
    build: |arguments| {
        Box::new(SecantLinear {
            prediction: (predicted(arguments).build)(&Arguments::default()),
        })
    },
};

fn predicted(arguments: &Arguments) -> Entry<dyn Extrapolation> {
    match arguments.word("of") {
        "quadratic" => polynomial::QUADRATIC,
        "hermite" => hermite::ENTRY,
        _ => auto::ENTRY,
    }
}

impl Extrapolation for SecantLinear {
    fn observe(&mut self, sample: Sample) {
        self.prediction.observe(sample);
    }

    fn curve(&self, now: f64, step: f64) -> Curve {
        self.prediction.curve(now, step).secant(step)
    }

    fn clear(&mut self) {
        self.prediction.clear();
    }

    fn order(&self) -> usize {
        self.prediction.order()
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
    use crate::extrapolation::EXTRAPOLATIONS;
    use crate::registry::look_up;
    use gyrator_system::{Choice, Spanned, Value};

    #[test]
    fn mean_and_end_are_those_of_the_parabola() {
        let of = (
            Spanned::unplaced("of".to_owned()),
            Spanned::unplaced(Value::String("quadratic".to_owned())),
        );
        let choice = Choice {
            name: Spanned::unplaced("secant-linear".to_owned()),
            parameters: vec![of],
        };
        let mut secant = look_up(EXTRAPOLATIONS, &choice).unwrap().build();
        for time in [0.0, 1.0, 2.0] {
            secant.observe(Sample {
                time,
                value: time * time,
                slope: None,
            });
        }
        let line = secant.curve(2.0, 3.0);
        assert!((line.at(3.0) - 25.0).abs() < 1e-12);
        // ∫ t² from 2 to 5 is 39.
        assert!((line.mean(3.0) - 13.0).abs() < 1e-12);
        assert_eq!(line.truncated(1), line);
        secant.clear();
        assert_eq!(secant.curve(2.0, 3.0), Curve::constant(4.0));
    }
}
