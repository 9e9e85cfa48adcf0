//! The values of a bond that results record and checks look at, as `bond.NAME.VALUE`.

use crate::observer::View;

/// A value of a bond at a communication point.
#[derive(Debug, Clone, Copy)]
pub struct BondValue {
    /// The last part of its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its value at the bond with this index of the graph; NaN where it is not known.
    pub get: fn(&View<'_>, usize) -> f64,
}

/// Every value, in the order of the columns of a result.
pub const BOND_VALUES: &[BondValue] = &[
    BondValue {
        name: "residual_power",
        unit: "W",
        get: |view, bond| {
            view.ledger
                .bond(bond)
                .map_or(f64::NAN, |b| b.residual_power)
        },
    },
    BondValue {
        name: "residual_energy",
        unit: "J",
        get: |view, bond| {
            view.ledger
                .bond(bond)
                .map_or(f64::NAN, |b| b.residual_energy)
        },
    },
    BondValue {
        name: "transferred_energy",
        unit: "J",
        get: |view, bond| {
            view.ledger
                .bond(bond)
                .map_or(f64::NAN, |b| b.transferred_energy)
        },
    },
    BondValue {
        name: "correction_power",
        unit: "W",
        get: |view, bond| {
            view.ledger
                .bond(bond)
                .map_or(f64::NAN, |b| b.correction_power)
        },
    },
    BondValue {
        name: "stale_energy",
        unit: "J",
        get: |view, bond| view.audit.bond(bond).map_or(f64::NAN, |b| b.stale_energy),
    },
    BondValue {
        name: "net_energy_error",
        unit: "J",
        get: |view, bond| {
            let energy = view.ledger.bond(bond).zip(view.audit.bond(bond));
            energy.map_or(f64::NAN, |(b, audit)| {
                audit.stale_energy + b.correction_energy
            })
        },
    },
    BondValue {
        name: "alarm",
        unit: "1",
        get: |view, bond| f64::from(u8::from(view.alarms.is_raised(bond))),
    },
];
