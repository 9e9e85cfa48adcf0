//! Linear conversions of values, between units and by transformations.

use gyrator_fmu::BaseUnit;

/// `target = factor · source + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Linear {
    pub(crate) factor: f64,
    pub(crate) offset: f64,
}

impl Linear {
    pub(crate) const IDENTITY: Self = Self {
        factor: 1.0,
        offset: 0.0,
    };

    pub(crate) fn apply(self, value: f64) -> f64 {
        if self == Self::IDENTITY {
            return value;
        }
        self.factor * value + self.offset
    }

    /// This conversion, then another one.
    pub(crate) fn then(self, next: Self) -> Self {
        match (self == Self::IDENTITY, next == Self::IDENTITY) {
            (true, _) => next,
            (_, true) => self,
            _ => Self {
                factor: next.factor * self.factor,
                offset: next.factor * self.offset + next.offset,
            },
        }
    }
}

/// Conversion of values from one unit to another (FMI 2.0 §2.2.2), without the offset for
/// differences; `None` if they measure different things or are not units.
pub(crate) fn between(from: &BaseUnit, to: &BaseUnit, relative: bool) -> Option<Linear> {
    if from.exponents != to.exponents {
        return None;
    }
    if (from.factor, from.offset) == (to.factor, to.offset) {
        return Some(Linear::IDENTITY);
    }
    let conversion = Linear {
        factor: from.factor / to.factor,
        offset: match relative {
            true => 0.0,
            false => (from.offset - to.offset) / to.factor,
        },
    };
    let is_sound =
        conversion.factor.is_finite() && conversion.factor != 0.0 && conversion.offset.is_finite();
    is_sound.then_some(conversion)
}

/// Whether two definitions define one unit. Tools write numbers with seven digits or more.
pub(crate) fn are_alike(one: &BaseUnit, other: &BaseUnit) -> bool {
    let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(b.abs());
    one.exponents == other.exponents
        && is_near(one.factor, other.factor)
        && is_near(one.offset, other.offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(factor: f64, offset: f64) -> BaseUnit {
        BaseUnit {
            exponents: [0; 8],
            factor,
            offset,
        }
    }

    #[test]
    fn units_convert_with_offset() {
        let (celsius, kelvin) = (unit(1.0, 273.15), unit(1.0, 0.0));
        let conversion = between(&celsius, &kelvin, false).unwrap();
        assert_eq!(conversion.apply(20.0), 293.15);
        let conversion = between(&celsius, &kelvin, true).unwrap();
        assert_eq!(conversion.apply(20.0), 20.0);
        assert_eq!(between(&celsius, &unit(0.0, 0.0), false), None);
    }

    #[test]
    fn conversions_follow_each_other() {
        let (first, second) = (
            Linear {
                factor: 2.0,
                offset: 3.0,
            },
            Linear {
                factor: -4.0,
                offset: 5.0,
            },
        );
        assert_eq!(first.then(second).apply(1.0), -15.0);
    }
}
