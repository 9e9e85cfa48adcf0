use super::{Extrapolation, Sample, auto, hermite, polynomial};
use crate::curve::Curve;
use crate::registry::{Arguments, Entry, Maker, ParameterInfo, ParameterKind};

/// The line with the mean and the end value that another extrapolation predicts for the step.
struct SecantLinear {
    prediction: Box<dyn Extrapolation>,
}

pub(super) const ENTRY: Entry<Maker<dyn Extrapolation>> = Entry {
    name: "secant-linear",
    summary: "the line with the mean and the end value of a prediction of higher degree, for units that take first derivatives only",
    source: "own",
    parameters: &[ParameterInfo {
        name: "of",
        summary: "the extrapolation whose mean and end value are kept",
        kind: ParameterKind::Word(&["auto", "quadratic", "hermite"]),
    }],
    build: |arguments| {
        let entry = match arguments.word("of") {
            "quadratic" => &polynomial::QUADRATIC,
            "hermite" => &hermite::ENTRY,
            _ => &auto::ENTRY,
        };
        Box::new(SecantLinear {
            prediction: (entry.build)(&Arguments::default()),
        })
    },
};

impl Extrapolation for SecantLinear {
    fn observe(&mut self, sample: Sample) {
        self.prediction.observe(sample);
    }

    fn curve(&self, now: f64, step: f64) -> Curve {
        let prediction = self.prediction.curve(now, step);
        if step <= 0.0 {
            return prediction.truncated(1);
        }
        let (mean, end) = (prediction.mean(step), prediction.at(step));
        Curve::line(2.0 * mean - end, 2.0 * (end - mean) / step)
    }

    fn clear(&mut self) {
        self.prediction.clear();
    }

    fn degree(&self) -> usize {
        1
    }

    fn order(&self) -> usize {
        self.prediction.order()
    }

    fn values_to_settle(&self) -> usize {
        self.prediction.values_to_settle()
    }

    fn wants_slope(&self) -> bool {
        self.prediction.wants_slope()
    }

    fn duplicate(&self) -> Box<dyn Extrapolation> {
        Box::new(Self {
            prediction: self.prediction.duplicate(),
        })
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
        let (entry, arguments) = look_up(EXTRAPOLATIONS, "extrapolation", &choice).unwrap();
        let mut secant = (entry.build)(&arguments);
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
    }
}
