//! The energy of stale direct feed-through that is left with the correction.

use gyrator::record::BondValue;

use super::energy_limit::{EnergyLimit, Limited};
use super::{Check, Kind, Quantity};

pub(super) const KIND: Kind = Kind {
    word: "net_energy_error_below",
    summary: "limit, J or { relative }, of `net_energy_error`, of either sign; fails where direct feed-through is not \
              known",
    quantity: Quantity::OfBonds(BondValue::NET_ENERGY_ERROR),
    read: |value, reader| {
        let limit = EnergyLimit::read(KIND.word, value, reader)?;
        Some(limited(limit).shared())
    },
};

const fn limited(limit: EnergyLimit) -> Limited {
    Limited {
        energy: "a net energy error",
        limit,
        not_a_number: "has no known net energy error",
    }
}

impl Check {
    /// The energy of stale direct feed-through and of the correction together is known and at most `limit` at any
    /// time, of either sign. It is judged at bonds of the name or pattern `bond`, or in the whole system if `None`.
    #[must_use]
    pub fn net_energy_error_below(bond: Option<&str>, limit: impl Into<EnergyLimit>) -> Self {
        Self::new(KIND, bond, limited(limit.into()))
    }
}
