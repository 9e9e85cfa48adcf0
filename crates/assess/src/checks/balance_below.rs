//! A component that takes no more energy than it can.

use std::sync::Arc;

use super::balance_above::net_energy;
use super::bounds::Bounds;
use super::reading::finite;
use super::{Check, Judge, Kind, Quantity, Requirement, short};

pub(super) const KIND: Kind = Kind {
    word: "balance_below",
    summary: "the greatest energy, J, that the power bonds of the component may have brought in all",
    quantity: Quantity::OfComponent(net_energy),
    read: |value, reader| Some(Arc::new(BalanceBelow(finite(KIND.word, value, reader)?))),
};

#[derive(Debug)]
struct BalanceBelow(f64);

impl Requirement for BalanceBelow {
    fn text(&self) -> String {
        format!("has an energy balance below {} J", short(self.0))
    }

    fn not_a_number(&self) -> &'static str {
        "has an energy balance that is not a number"
    }

    fn judge(&self) -> Box<dyn Judge> {
        Box::new(Bounds::new(f64::NEG_INFINITY, self.0, " J"))
    }
}

impl Check {
    /// Components of the name or pattern `component` have received at most `energy`, J, less what they have given,
    /// at any time.
    #[must_use]
    pub fn balance_below(component: &str, energy: f64) -> Self {
        Self::new(KIND, Some(component), BalanceBelow(energy))
    }
}
