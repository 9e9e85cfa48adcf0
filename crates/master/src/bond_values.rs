//! The values of a bond that results record, and checks and studies look at, as `bond.NAME.VALUE`.

use crate::ledger::BondEnergy;
use crate::observer::View;

/// A value of a bond at a communication point.
#[derive(Debug, Clone, Copy)]
pub struct BondValue {
    /// The last part of its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Whether results record it unasked, and patterns find it; else its whole name is asked for.
    pub is_recorded: bool,
    /// Its value at the bond with this index of the graph; NaN if unknown.
    pub get: fn(&View<'_>, usize) -> f64,
}

impl BondValue {
    /// The name of the value of a bond.
    pub(crate) fn of_bond(&self, bond: &str) -> String {
        format!("bond.{bond}.{}", self.name)
    }

    /// The residual energy.
    pub const RESIDUAL_ENERGY: Self = Self::recorded("residual_energy", "J", |view, bond| {
        of_ledger(view, bond, |energy| energy.residual_energy)
    });

    /// The energy that stale direct feed-through and the correction make.
    pub const NET_ENERGY_ERROR: Self = Self::recorded("net_energy_error", "J", |view, bond| {
        let stale = of_audit(view, bond);
        of_ledger(view, bond, |energy| stale + energy.correction_energy)
    });

    /// The energy that the coupling makes, corrections included, integrated over the steps.
    pub const RESIDUAL_ENERGY_INTEGRATED: Self = Self {
        is_recorded: false,
        ..Self::recorded("residual_energy_integrated", "J", |view, bond| {
            of_ledger(view, bond, |energy| energy.residual_energy_integrated)
        })
    };

    const fn recorded(
        name: &'static str,
        unit: &'static str,
        get: fn(&View<'_>, usize) -> f64,
    ) -> Self {
        Self {
            name,
            unit,
            is_recorded: true,
            get,
        }
    }
}

fn of_ledger(view: &View<'_>, bond: usize, value: impl Fn(&BondEnergy) -> f64) -> f64 {
    view.ledger.bond(bond).map_or(f64::NAN, value)
}

fn of_audit(view: &View<'_>, bond: usize) -> f64 {
    let audit = view.audit.bond(bond);
    audit.map_or(f64::NAN, |audit| audit.stale_energy)
}

/// Every value; those that are recorded stand in the order of the columns of a result.
pub const BOND_VALUES: &[BondValue] = &[
    BondValue::recorded("residual_power", "W", |view, bond| {
        of_ledger(view, bond, |energy| energy.residual_power)
    }),
    BondValue::RESIDUAL_ENERGY,
    BondValue::recorded("transferred_energy", "J", |view, bond| {
        of_ledger(view, bond, |energy| energy.transferred_energy)
    }),
    BondValue::recorded("correction_power", "W", |view, bond| {
        of_ledger(view, bond, |energy| energy.correction_power)
    }),
    BondValue::recorded("stale_energy", "J", of_audit),
    BondValue::NET_ENERGY_ERROR,
    BondValue::recorded("alarm", "1", |view, bond| {
        f64::from(u8::from(view.alarms.is_raised(bond)))
    }),
    BondValue {
        is_recorded: false,
        ..BondValue::recorded("correction_energy", "J", |view, bond| {
            of_ledger(view, bond, |energy| energy.correction_energy)
        })
    },
    BondValue::RESIDUAL_ENERGY_INTEGRATED,
];
