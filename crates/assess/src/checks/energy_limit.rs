//! Limits of the magnitude of an energy.

use std::sync::Arc;

use gyrator_system::toml_file::section::Reader;
use toml::Spanned as Placed;
use toml::de::DeValue;

use super::reading::{keys, not_negative};
use super::{BondEnd, End, Judge, Requirement, Violation, short};

/// A limit of the magnitude of an energy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EnergyLimit {
    /// In J.
    Joules(f64),
    /// Relative to the range of the energy that went over the bond in the whole run, or to the sum of these ranges
    /// over all power bonds. Energy that goes there and back again counts once.
    Relative(f64),
}

impl From<f64> for EnergyLimit {
    fn from(joules: f64) -> Self {
        Self::Joules(joules)
    }
}

impl EnergyLimit {
    /// Reads a number, or a table with `relative`.
    pub(super) fn read(
        word: &'static str,
        value: &Placed<DeValue<'_>>,
        reader: &mut Reader,
    ) -> Option<Self> {
        if value.get_ref().as_table().is_none() {
            return not_negative(word, value, reader).map(Self::Joules);
        }
        let mut keys = keys(word, value, reader)?;
        let relative = keys.required("relative", reader);
        let relative = relative.and_then(|value| not_negative("relative", value, reader));
        keys.finish(reader);
        relative.map(Self::Relative)
    }

    fn joules(self, end: &End<'_>) -> f64 {
        match self {
            Self::Joules(limit) => limit,
            Self::Relative(share) => share * transferred(end),
        }
    }
}

/// Range of the energy that went over the bond, or sum of the ranges of all power bonds, J.
fn transferred(end: &End<'_>) -> f64 {
    let bonds = &end.run.bonds;
    let range = |bond: &BondEnd| bond.transferred_energy_range.unwrap_or(f64::NAN);
    match end.bond {
        Some(bond) => bonds.get(bond).map_or(f64::NAN, range),
        None => {
            let power = bonds.iter().filter(|bond| bond.is_power);
            power.map(range).sum()
        }
    }
}

/// The requirement that the magnitude of an energy is below a limit.
#[derive(Debug)]
pub(super) struct Limited {
    /// The energy, as a sentence says it: `an energy error`.
    pub(super) energy: &'static str,
    pub(super) limit: EnergyLimit,
    /// The words for an energy that is not a number.
    pub(super) not_a_number: &'static str,
}

impl Limited {
    /// As the reader of a kind gives it.
    pub(super) fn shared(self) -> Arc<dyn Requirement> {
        Arc::new(self)
    }
}

impl Requirement for Limited {
    fn text(&self) -> String {
        let limit = match self.limit {
            EnergyLimit::Joules(limit) => format!("{} J", short(limit)),
            EnergyLimit::Relative(share) => {
                format!("{} % of the energy transferred", short(100.0 * share))
            }
        };
        format!("has {} below {limit}", self.energy)
    }

    fn not_a_number(&self) -> &'static str {
        self.not_a_number
    }

    fn judge(&self) -> Box<dyn Judge> {
        Box::new(Greatest {
            limit: self.limit,
            energy: self.energy,
            greatest: None,
        })
    }
}

/// The greatest magnitude of an energy.
struct Greatest {
    limit: EnergyLimit,
    energy: &'static str,
    /// Time and energy.
    greatest: Option<(f64, f64)>,
}

impl Judge for Greatest {
    fn see(&mut self, time: f64, value: f64) {
        let is_greater = |(_, greatest): (f64, f64)| value.abs() > greatest.abs();
        if self.greatest.is_none_or(is_greater) {
            self.greatest = Some((time, value));
        }
    }

    fn violation(&self, end: &End<'_>) -> Option<Violation> {
        let (time, value) = self.greatest?;
        let limit = self.limit.joules(end);
        let excess = value.abs() - limit;
        let is_relative = matches!(self.limit, EnergyLimit::Relative(_));
        // Nothing is a small part of nothing.
        let is_idle = is_relative && transferred(end) == 0.0;
        if excess <= 0.0 && !is_idle {
            return None;
        }
        let text = if is_idle {
            "transfers no energy, to which the limit is relative".to_owned()
        } else {
            let [value, at, beyond, limit] = [value, time, excess, limit].map(short);
            let energy = self.energy;
            format!(
                "has {energy} of {value} J at t = {at} s, {beyond} J beyond its limit of {limit} J"
            )
        };
        Some(Violation {
            text,
            value: Some(value),
            time: Some(time),
            excess: Some(excess),
            // More energy may follow, and raise a relative limit.
            is_definite: !is_relative,
        })
    }
}
