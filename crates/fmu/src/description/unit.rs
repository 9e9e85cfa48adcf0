//! Units and conversion between them (FMI 2.0.5 section 2.2.2).

/// A unit: how it follows from SI base units, and what people like to see instead.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitDefinition {
    /// Name, such as `N.m` or `degC`.
    pub name: String,
    /// Meaning in SI units; without it nothing is known about the unit.
    pub base: Option<BaseUnit>,
    /// Units for display.
    pub display_units: Vec<DisplayUnit>,
}

/// `value in SI units = factor * value + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaseUnit {
    /// Exponents of kg, m, s, A, K, mol, cd, rad, in this order.
    pub exponents: [i32; 8],
    /// Factor to SI units.
    pub factor: f64,
    /// Offset in SI units.
    pub offset: f64,
}

/// `value for display = factor * value + offset`; the offset is dropped for relative quantities.
#[derive(Debug, Clone, PartialEq)]
pub struct DisplayUnit {
    /// Name, such as `deg`.
    pub name: String,
    /// Factor from the unit it belongs to.
    pub factor: f64,
    /// Offset, in the display unit.
    pub offset: f64,
}

/// `target value = factor * source value + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conversion {
    /// Factor.
    pub factor: f64,
    /// Offset, in the target's unit.
    pub offset: f64,
}

impl Conversion {
    /// Leaves values as they are.
    pub const IDENTITY: Self = Self {
        factor: 1.0,
        offset: 0.0,
    };

    /// Whether values stay as they are.
    #[must_use]
    pub fn is_identity(self) -> bool {
        self == Self::IDENTITY
    }

    /// Converts one value.
    #[must_use]
    #[inline]
    pub fn apply(self, value: f64) -> f64 {
        self.factor.mul_add(value, self.offset)
    }
}

/// Why two variables cannot be connected as they are.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UnitError {
    /// The units measure different things.
    #[error("{from} ({from_base}) cannot be converted to {to} ({to_base})")]
    Incompatible {
        /// Unit of the source.
        from: String,
        /// Its SI form.
        from_base: String,
        /// Unit of the target.
        to: String,
        /// Its SI form.
        to_base: String,
    },
    /// One is a difference, the other a value on a scale.
    #[error("a relative quantity cannot be connected with an absolute one (unit {unit})")]
    Relative {
        /// Unit of the source.
        unit: String,
    },
    /// A factor of zero.
    #[error("the unit {unit} has the factor {factor}, which cannot be converted")]
    Factor {
        /// The unit.
        unit: String,
        /// Its factor.
        factor: f64,
    },
}

impl UnitDefinition {
    /// Conversion of values in this unit to values in `target` (C-57). Identity where one of
    /// the two has no [`BaseUnit`]; offsets do not count for `relative` quantities.
    ///
    /// # Errors
    /// If the units measure different things or a factor is zero or not finite.
    pub fn conversion_to(&self, target: &Self, relative: bool) -> Result<Conversion, UnitError> {
        let (Some(from), Some(to)) = (&self.base, &target.base) else {
            return Ok(Conversion::IDENTITY);
        };
        if from.exponents != to.exponents {
            return Err(UnitError::Incompatible {
                from: self.name.clone(),
                from_base: from.to_string(),
                to: target.name.clone(),
                to_base: to.to_string(),
            });
        }
        for (unit, factor) in [(self, from.factor), (target, to.factor)] {
            if factor == 0.0 || !factor.is_finite() {
                return Err(UnitError::Factor {
                    unit: unit.name.clone(),
                    factor,
                });
            }
        }
        let offset = if relative {
            0.0
        } else {
            (from.offset - to.offset) / to.factor
        };
        Ok(Conversion {
            factor: from.factor / to.factor,
            offset,
        })
    }
}

impl std::fmt::Display for BaseUnit {
    /// The exponents as a product, such as `kg.m2.s-2`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const NAMES: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];
        let mut separator = "";
        for (name, exponent) in NAMES.iter().zip(self.exponents) {
            match exponent {
                0 => continue,
                1 => write!(f, "{separator}{name}")?,
                _ => write!(f, "{separator}{name}{exponent}")?,
            }
            separator = ".";
        }
        if separator.is_empty() {
            f.write_str("1")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str, exponents: [i32; 8], factor: f64, offset: f64) -> UnitDefinition {
        let base = Some(BaseUnit {
            exponents,
            factor,
            offset,
        });
        UnitDefinition {
            name: name.to_owned(),
            base,
            display_units: Vec::new(),
        }
    }

    const KELVIN: [i32; 8] = [0, 0, 0, 0, 1, 0, 0, 0];

    #[test]
    fn c57_fahrenheit_to_celsius_and_kelvin() {
        // Definition of the scales: 212 °F = 100 °C = 373.15 K; tolerance: a few roundings.
        let fahrenheit = unit("degF", KELVIN, 5.0 / 9.0, 273.15 - 32.0 * 5.0 / 9.0);
        let celsius = unit("degC", KELVIN, 1.0, 273.15);
        let kelvin = unit("K", KELVIN, 1.0, 0.0);
        let to_celsius = fahrenheit.conversion_to(&celsius, false).unwrap();
        assert!((to_celsius.apply(212.0) - 100.0).abs() < 1e-12);
        let to_kelvin = celsius.conversion_to(&kelvin, false).unwrap();
        assert_eq!(to_kelvin.apply(100.0), 373.15);
    }

    #[test]
    fn c57_relative_quantities_have_no_offset() {
        let celsius = unit("degC", KELVIN, 1.0, 273.15);
        let kelvin = unit("K", KELVIN, 1.0, 0.0);
        assert!(celsius.conversion_to(&kelvin, true).unwrap().is_identity());
    }

    #[test]
    fn c57_different_quantities_are_refused_by_name() {
        let force = unit("kN", [1, 1, -2, 0, 0, 0, 0, 0], 1000.0, 0.0);
        let kelvin = unit("K", KELVIN, 1.0, 0.0);
        let error = force.conversion_to(&kelvin, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kN (kg.m.s-2) cannot be converted to K (K)"
        );
    }

    #[test]
    fn c57_without_base_unit_values_pass_as_they_are() {
        let unknown = UnitDefinition {
            name: "x".into(),
            base: None,
            display_units: Vec::new(),
        };
        let kelvin = unit("K", KELVIN, 2.0, 3.0);
        assert!(unknown.conversion_to(&kelvin, false).unwrap().is_identity());
    }

    #[test]
    fn a_factor_of_zero_is_refused() {
        let zero = unit("zero", KELVIN, 0.0, 0.0);
        let kelvin = unit("K", KELVIN, 1.0, 0.0);
        assert!(kelvin.conversion_to(&zero, false).is_err());
    }
}
