//! A signal that has an upper bound.

use std::sync::Arc;

use super::bounds::Bounds;
use super::reading::finite;
use super::{Check, Judge, Kind, Quantity, Requirement, short};

pub(super) const KIND: Kind = Kind {
    word: "never_above",
    summary: "the greatest value that the signal may have",
    quantity: Quantity::Signal,
    read: |value, reader| Some(Arc::new(NeverAbove(finite(KIND.word, value, reader)?))),
};

#[derive(Debug)]
struct NeverAbove(f64);

impl Requirement for NeverAbove {
    fn text(&self) -> String {
        format!("is never above {}", short(self.0))
    }

    fn judge(&self) -> Box<dyn Judge> {
        Box::new(Bounds::new(f64::NEG_INFINITY, self.0, ""))
    }
}

impl Check {
    /// Signals of the name or pattern `signal` are at most `bound`.
    #[must_use]
    pub fn never_above(signal: &str, bound: f64) -> Self {
        Self::new(KIND, Some(signal), NeverAbove(bound))
    }
}
