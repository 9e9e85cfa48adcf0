//! A component that gives no more energy than it has.

use std::sync::Arc;

use super::bounds::Bounds;
use super::reading::finite;
use super::{Check, Judge, Kind, Quantity, Requirement, short};

pub(super) const KIND: Kind = Kind {
    word: "balance_above",
    summary: "the least energy, J, that the power bonds of the component may have brought in all; of a passive one, \
              minus what it stores at the start",
    quantity: Quantity::OfComponent(net_energy),
    read: |value, reader| Some(Arc::new(BalanceAbove(finite(KIND.word, value, reader)?))),
};

/// Energy that a component has received less that which it has given, J.
pub(super) fn net_energy(view: &gyrator::View<'_>, component: usize) -> f64 {
    let balance = view.balance(component);
    balance.map_or(f64::NAN, |balance| balance.net_energy)
}

#[derive(Debug)]
struct BalanceAbove(f64);

impl Requirement for BalanceAbove {
    fn text(&self) -> String {
        format!("has an energy balance above {} J", short(self.0))
    }

    fn not_a_number(&self) -> &'static str {
        "has an energy balance that is not a number"
    }

    fn judge(&self) -> Box<dyn Judge> {
        Box::new(Bounds::new(self.0, f64::INFINITY, " J"))
    }
}

impl Check {
    /// Components of the name or pattern `component` have received at least `energy`, J, less what they have given,
    /// at any time.
    #[must_use]
    pub fn balance_above(component: &str, energy: f64) -> Self {
        Self::new(KIND, Some(component), BalanceAbove(energy))
    }
}
