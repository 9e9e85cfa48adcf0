//! A signal that comes to a value, or passes it.

use std::sync::Arc;

use super::reading::finite;
use super::{Check, End, Judge, Kind, Quantity, Requirement, Violation, short};

pub(super) const KIND: Kind = Kind {
    word: "reaches",
    summary: "a value that the signal has or passes at some time",
    quantity: Quantity::Signal,
    read: |value, reader| Some(Arc::new(Reaches(finite(KIND.word, value, reader)?))),
};

#[derive(Debug)]
struct Reaches(f64);

impl Requirement for Reaches {
    fn text(&self) -> String {
        format!("reaches {}", short(self.0))
    }

    fn judge(&self) -> Box<dyn Judge> {
        Box::new(Passing {
            value: self.0,
            nearest: (f64::NAN, f64::NAN),
            side: f64::NAN,
            has_passed: false,
        })
    }
}

/// A value, and whether a signal has passed it.
struct Passing {
    value: f64,
    /// Time and value of the point that came nearest.
    nearest: (f64, f64),
    /// Sign of the first difference.
    side: f64,
    has_passed: bool,
}

impl Judge for Passing {
    fn see(&mut self, time: f64, value: f64) {
        let distance = value - self.value;
        if self.side.is_nan() {
            self.side = distance.signum();
        }
        self.has_passed |= distance * self.side <= 0.0;
        let is_nearer = distance.abs() < (self.nearest.1 - self.value).abs();
        if is_nearer || self.nearest.1.is_nan() {
            self.nearest = (time, value);
        }
    }

    fn violation(&self, _: &End<'_>) -> Option<Violation> {
        if self.has_passed {
            return None;
        }
        let (time, value) = self.nearest;
        let missing = (value - self.value).abs();
        let [nearest, at, missed] = [value, time, missing].map(short);
        Some(Violation {
            text: format!("comes to {nearest} at t = {at} s at the nearest, {missed} away"),
            value: Some(value),
            time: Some(time),
            excess: Some(missing),
            is_definite: false,
        })
    }
}

impl Check {
    /// Signals of the name or pattern `signal` have or pass `value` at some time.
    #[must_use]
    pub fn reaches(signal: &str, value: f64) -> Self {
        Self::new(KIND, Some(signal), Reaches(value))
    }
}
