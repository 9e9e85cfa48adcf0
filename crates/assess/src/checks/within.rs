//! A signal that stays within a tolerance of a value.

use std::sync::Arc;

use super::bounds::Bounds;
use super::reading::{finite, keys, not_negative};
use super::{Check, Judge, Kind, Quantity, Requirement, short};

pub(super) const KIND: Kind = Kind {
    word: "within",
    summary: "{ value, tolerance }: the signal is at most the tolerance away from the value",
    quantity: Quantity::Signal,
    read: |value, reader| {
        let mut keys = keys(KIND.word, value, reader)?;
        let centre = keys.required("value", reader);
        let centre = centre.and_then(|value| finite("value", value, reader));
        let tolerance = keys.required("tolerance", reader);
        let tolerance = tolerance.and_then(|value| not_negative("tolerance", value, reader));
        keys.finish(reader);
        Some(Arc::new(Within {
            value: centre?,
            tolerance: tolerance?,
        }))
    },
};

#[derive(Debug)]
struct Within {
    value: f64,
    tolerance: f64,
}

impl Requirement for Within {
    fn text(&self) -> String {
        let (value, tolerance) = (short(self.value), short(self.tolerance));
        format!("is within {tolerance} of {value}")
    }

    fn judge(&self) -> Box<dyn Judge> {
        let Self { value, tolerance } = *self;
        Box::new(Bounds::new(value - tolerance, value + tolerance, ""))
    }
}

impl Check {
    /// Signals of the name or pattern `signal` are at most `tolerance` away from `value`.
    #[must_use]
    pub fn within(signal: &str, value: f64, tolerance: f64) -> Self {
        Self::new(KIND, Some(signal), Within { value, tolerance })
    }
}
