//! The energy that the coupling makes, corrections included.

use gyrator::record::BondValue;

use super::energy_limit::{EnergyLimit, Limited};
use super::{Check, Kind, Quantity};

pub(super) const KIND: Kind = Kind {
    word: "energy_error_below",
    summary: "limit, J or { relative }, of the energy that the coupling makes: `residual_energy_integrated`, of either \
              sign",
    quantity: Quantity::OfBonds(BondValue::RESIDUAL_ENERGY_INTEGRATED),
    read: |value, reader| {
        let limit = EnergyLimit::read(KIND.word, value, reader)?;
        Some(limited(limit).shared())
    },
};

const fn limited(limit: EnergyLimit) -> Limited {
    Limited {
        energy: "an energy error",
        limit,
        not_a_number: "has an energy error that is not a number",
    }
}

impl Check {
    /// The energy that the coupling makes at bonds of the name or pattern `bond`, or in the whole system if
    /// `None`, is at most `limit` at any time, of either sign.
    #[must_use]
    pub fn energy_error_below(bond: Option<&str>, limit: impl Into<EnergyLimit>) -> Self {
        Self::new(KIND, bond, limited(limit.into()))
    }
}
