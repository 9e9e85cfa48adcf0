//! The residual energy without corrections, as `max_residual_energy` of a system file limits it.

use gyrator::record::BondValue;

use super::energy_limit::{EnergyLimit, Limited};
use super::{Check, Kind, Quantity};

pub(super) const KIND: Kind = Kind {
    word: "residual_energy_below",
    summary: "limit, J or { relative }, of `residual_energy`, of either sign",
    quantity: Quantity::OfBonds(BondValue::RESIDUAL_ENERGY),
    read: |value, reader| {
        let limit = EnergyLimit::read(KIND.word, value, reader)?;
        Some(limited(limit).shared())
    },
};

const fn limited(limit: EnergyLimit) -> Limited {
    Limited {
        energy: "a residual energy",
        limit,
        not_a_number: "has a residual energy that is not a number",
    }
}

impl Check {
    /// The residual energy at bonds of the name or pattern `bond`, or of the whole system if `None`, is at most
    /// `limit` at any time, of either sign.
    #[must_use]
    pub fn residual_energy_below(bond: Option<&str>, limit: impl Into<EnergyLimit>) -> Self {
        Self::new(KIND, bond, limited(limit.into()))
    }
}
