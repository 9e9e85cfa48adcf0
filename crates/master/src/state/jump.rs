//! Jumps of a signal, found in the errors of its prediction. The course of an input asks at each value; it forgets nothing itself.

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
// without the detector; a false find costs the order of the extrapolation.

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
    /// Whether `value` differs from its prediction by an `error` that is only there at a discontinuity.
    pub(crate) fn is_jump(&mut self, error: f64, value: f64) -> bool {
        let error = error.abs();
        self.magnitude = greater(value.abs(), self.magnitude);
        self.predictions = self.predictions.saturating_add(1);
        let is_jump = self.predictions > WARM_UP
            && error > JUMP * self.usual
            && error > SMALLEST * self.magnitude;
        if is_jump {
            self.predictions = 0;
            self.usual = 0.0;
        } else {
            self.usual = fading(greater(error, FADE * self.usual));
        }
        is_jump
    }
}

stored!(JumpDetector {
    usual,
    magnitude,
    predictions
});
