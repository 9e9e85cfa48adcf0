use crate::extrapolation::{Extrapolation, Numbers, each};
use crate::extremes::{fading, greater};
use crate::state_stream::stored;

/// Finds discontinuities of a signal in the errors of its prediction.
#[derive(Debug, Clone, Default)]
pub(crate) struct JumpDetector {
    /// The usual error of a prediction: the greatest, fading.
    usual: f64,
    /// Greatest magnitude of the signal.
    magnitude: f64,
    predictions: u32,
}

// The constants of the detector are choices: a jump that is not found costs accuracy for some steps, as
// without the detector; one that is found where there is none costs the order of the extrapolation.

/// First predictions, from which the usual error is found: twice the values of a cubic.
const WARM_UP: u32 = 8;
/// An error this many times the usual one is a jump. Errors of smooth signals differ by less from one
/// value to the next.
const JUMP: f64 = 50.0;
/// An error below this share of the signal's greatest magnitude is none: it costs less than the history.
const SMALLEST: f64 = 1e-3;
/// Share of the usual error that is left one value later: it is forgotten over about ten values.
const FADE: f64 = 0.9;

impl JumpDetector {
    /// Whether `value`, published at `time`, differs from the prediction of `extrapolation` as it only does at a discontinuity.
    pub(crate) fn is_jump(
        &mut self,
        extrapolation: &dyn Extrapolation,
        value: f64,
        time: f64,
    ) -> bool {
        let error = (value - extrapolation.at(time)).abs();
        self.magnitude = self.magnitude.max(value.abs());
        self.predictions = self.predictions.saturating_add(1);
        let is_jump = self.predictions > WARM_UP
            && error > JUMP * self.usual
            && error > SMALLEST * self.magnitude;
        if is_jump {
            self.predictions = 0;
            self.usual = 0.0;
        } else {
            self.usual = fading(error.max(FADE * self.usual));
        }
        is_jump
    }
}

/// The detectors of some inputs side by side, after their first predictions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JumpDetectors {
    usual: Numbers,
    magnitude: Numbers,
}

impl JumpDetectors {
    /// Takes the detector of an input; `false` where it has not seen its first predictions.
    pub(crate) fn load(&mut self, lane: usize, detector: &JumpDetector) -> bool {
        self.usual[lane] = detector.usual;
        self.magnitude[lane] = detector.magnitude;
        detector.predictions >= WARM_UP
    }

    /// An input that nothing predicts has no jumps.
    pub(crate) fn load_none(&mut self, lane: usize) {
        self.usual[lane] = f64::INFINITY;
    }

    /// Takes the detector of an input from others.
    pub(crate) fn take(&mut self, lane: usize, others: &Self) {
        self.usual[lane] = others.usual[lane];
        self.magnitude[lane] = others.magnitude[lane];
    }

    /// Gives the detector of an input its state after so many predictions.
    pub(crate) fn give_back(&self, lane: usize, predictions: u32, detector: &mut JumpDetector) {
        *detector = JumpDetector {
            usual: self.usual[lane],
            magnitude: self.magnitude[lane],
            predictions: detector.predictions.saturating_add(predictions),
        };
    }

    /// The detectors after new values, which were predicted, and 1 where the values are jumps, else 0: there the detector is not
    /// what [`JumpDetector::is_jump`] leaves.
    #[inline(always)]
    pub(crate) fn after(&self, values: Numbers, predicted: Numbers) -> (Self, Numbers) {
        let error = each(|lane| (values[lane] - predicted[lane]).abs());
        let magnitude = each(|lane| greater(values[lane].abs(), self.magnitude[lane]));
        let are_jumps = each(|lane| {
            let is_jump = (error[lane] > JUMP * self.usual[lane])
                & (error[lane] > SMALLEST * magnitude[lane]);
            if is_jump { 1.0 } else { 0.0 }
        });
        let usual = each(|lane| fading(greater(error[lane], FADE * self.usual[lane])));
        (Self { usual, magnitude }, are_jumps)
    }
}

stored!(JumpDetector {
    usual,
    magnitude,
    predictions
});
