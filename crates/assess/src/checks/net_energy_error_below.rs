//! The energy of stale direct feed-through that is left with the correction.

use gyrator::View;

use super::energy_limit::{EnergyLimit, Limited};
use super::{Check, Kind, Quantity};

pub(super) const KIND: Kind = Kind {
    word: "net_energy_error_below",
    summary: "limit, J or { relative }, of `net_energy_error`, of either sign; fails where direct feed-through is not \
              known",
    quantity: Quantity::OfBonds(energy),
    read: |value, reader| {
        let limit = EnergyLimit::read(KIND.word, value, reader)?;
        Some(limited(limit).shared())
    },
};

fn energy(view: &View<'_>, bond: usize) -> f64 {
    let energies = view.ledger.bond(bond).zip(view.audit.bond(bond));
    let net = energies.and_then(|(energy, audit)| audit.net_energy_error(energy.correction_energy));
    net.unwrap_or(f64::NAN)
}

const fn limited(limit: EnergyLimit) -> Limited {
    Limited {
        energy: "a net energy error",
        limit,
        not_a_number: "has no known net energy error",
    }
}

impl Check {
    /// The energy of stale direct feed-through with that of the correction, at bonds of the name or pattern `bond` or
    /// in the whole system where `None`, is known and at most `limit` at any time, of either sign.
    #[must_use]
    pub fn net_energy_error_below(bond: Option<&str>, limit: impl Into<EnergyLimit>) -> Self {
        Self::new(KIND, bond, limited(limit.into()))
    }
}
