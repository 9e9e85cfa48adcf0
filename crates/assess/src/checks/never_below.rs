//! A signal that has a lower bound.

use std::sync::Arc;

use super::bounds::Bounds;
use super::reading::finite;
use super::{Check, Judge, Kind, Quantity, Requirement, short};

pub(super) const KIND: Kind = Kind {
    word: "never_below",
    summary: "the least value that the signal may have",
    quantity: Quantity::Signal,
    read: |value, reader| Some(Arc::new(NeverBelow(finite(KIND.word, value, reader)?))),
};

#[derive(Debug)]
struct NeverBelow(f64);

impl Requirement for NeverBelow {
    fn text(&self) -> String {
        format!("is never below {}", short(self.0))
    }

    fn judge(&self) -> Box<dyn Judge> {
        Box::new(Bounds::new(self.0, f64::INFINITY, ""))
    }
}

impl Check {
    /// Signals of the name or pattern `signal` are at least `bound`.
    #[must_use]
    pub fn never_below(signal: &str, bound: f64) -> Self {
        Self::new(KIND, Some(signal), NeverBelow(bound))
    }
}
