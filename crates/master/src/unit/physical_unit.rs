//! Units of measure and the conversion between them (FMI 2.0 §2.2.2, §2.2.3).

use std::fmt;

/// A unit of measure: `base = factor·value + offset` (FMI 2.0 §2.2.2).
#[derive(Debug, Clone, PartialEq)]
pub struct PhysicalUnit {
    /// Name, such as `km/h`.
    pub name: String,
    /// Exponents of kg, m, s, A, K, mol, cd, rad; `None` if the description does not say.
    pub exponents: Option<[i32; 8]>,
    /// Factor to the base unit.
    pub factor: f64,
    /// Offset to the base unit.
    pub offset: f64,
    /// The variable is a difference of two such values, to which the offset does not apply
    /// (`relativeQuantity`, FMI 2.0 §2.2.3).
    pub relative: bool,
}

/// `target value = factor·source value + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Conversion {
    pub(crate) factor: f64,
    /// In the target's unit.
    pub(crate) offset: f64,
}

impl Conversion {
    /// Leaves values as they are.
    pub(crate) const IDENTITY: Self = Self {
        factor: 1.0,
        offset: 0.0,
    };
}

/// Why values in one unit cannot be passed on in another.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum UnitMismatch {
    /// The units measure different things.
    #[error("{from} to {to}, which measure different things")]
    DifferentQuantities { from: String, to: String },
    /// One is a difference and the other is not, in units with an offset.
    #[error(
        "{from} to {to}: one of them is a difference of values (relativeQuantity), the other a value on a scale with \
         an offset"
    )]
    Relative { from: String, to: String },
    /// Factor or offset do not make a number of a number.
    #[error("{from} to {to}, and values cannot be converted with a factor or offset of {number}")]
    Number {
        from: String,
        to: String,
        number: f64,
    },
}

impl UnitMismatch {
    /// Advice to the user.
    pub(crate) fn help(&self) -> Option<&'static str> {
        match self {
            Self::DifferentQuantities { .. } => Some(
                "connect others, or let `unit_conversion = false` pass the number on where a declared unit is wrong",
            ),
            Self::Relative { .. } => Some(
                "connect differences with differences, or let both descriptions say the same of `relativeQuantity`",
            ),
            Self::Number { .. } => Some("a `BaseUnit` needs a finite factor other than 0"),
        }
    }
}

/// Exponents of kg, m, s, A, K, mol, cd: the angle has no dimension of its own.
pub(crate) type Quantity = [i32; 7];

impl PhysicalUnit {
    /// Whether this is known to be a unit of the quantity.
    pub(crate) fn measures(&self, quantity: Quantity) -> bool {
        self.exponents
            .is_some_and(|exponents| exponents[..7] == quantity)
    }

    /// Conversion of values in `self` to values in `target` (C-57). Values pass as they are if one of
    /// the two has no base unit.
    ///
    /// # Errors
    /// If the units measure different things, if a factor is zero or a number is not finite, or if a
    /// difference meets a value on a scale with an offset. FMI gives no offset that is right.
    pub(crate) fn conversion_to(&self, target: &Self) -> Result<Conversion, UnitMismatch> {
        let (Some(from), Some(to)) = (&self.exponents, &target.exponents) else {
            return Ok(Conversion::IDENTITY);
        };
        let names = || (self.to_string(), target.to_string());
        if from != to {
            let (from, to) = names();
            return Err(UnitMismatch::DifferentQuantities { from, to });
        }
        let has_offset = self.offset != 0.0 || target.offset != 0.0;
        if self.relative != target.relative && has_offset {
            let (from, to) = names();
            return Err(UnitMismatch::Relative { from, to });
        }
        if (self.factor, self.offset) == (target.factor, target.offset) {
            return Ok(Conversion::IDENTITY);
        }
        let conversion = Conversion {
            factor: self.factor / target.factor,
            offset: if self.relative {
                0.0
            } else {
                (self.offset - target.offset) / target.factor
            },
        };
        let is_sound = conversion.factor.is_finite()
            && conversion.factor != 0.0
            && conversion.offset.is_finite();
        if is_sound {
            return Ok(conversion);
        }
        let given = [self.factor, target.factor, self.offset, target.offset];
        let is_bad =
            |(index, number): &(usize, f64)| !number.is_finite() || *index < 2 && *number == 0.0;
        let bad = given.into_iter().enumerate().find(is_bad);
        let (from, to) = names();
        Err(UnitMismatch::Number {
            from,
            to,
            number: bad.map_or(conversion.factor, |(_, number)| number),
        })
    }
}

impl fmt::Display for PhysicalUnit {
    /// The name, and the base units if they are known and the name is not theirs: `kN (kg.m.s-2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        let base = self.exponents.map(base_units);
        match base.filter(|base| *base != self.name) {
            Some(base) => write!(f, " ({base})"),
            None => Ok(()),
        }
    }
}

/// The exponents as a product, such as `kg.m2.s-2`.
fn base_units(exponents: [i32; 8]) -> String {
    const NAMES: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];
    let factors = NAMES
        .iter()
        .zip(exponents)
        .filter_map(|(name, exponent)| match exponent {
            0 => None,
            1 => Some((*name).to_owned()),
            _ => Some(format!("{name}{exponent}")),
        });
    let product = factors.collect::<Vec<_>>().join(".");
    if product.is_empty() {
        "1".to_owned()
    } else {
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KELVIN: [i32; 8] = [0, 0, 0, 0, 1, 0, 0, 0];
    const LENGTH: [i32; 8] = [0, 1, 0, 0, 0, 0, 0, 0];

    fn unit(name: &str, exponents: [i32; 8], factor: f64, offset: f64) -> PhysicalUnit {
        PhysicalUnit {
            name: name.to_owned(),
            exponents: Some(exponents),
            factor,
            offset,
            relative: false,
        }
    }

    fn celsius() -> PhysicalUnit {
        unit("degC", KELVIN, 1.0, 273.15)
    }

    fn kelvin() -> PhysicalUnit {
        unit("K", KELVIN, 1.0, 0.0)
    }

    fn difference(unit: PhysicalUnit) -> PhysicalUnit {
        PhysicalUnit {
            relative: true,
            ..unit
        }
    }

    fn converted(value: f64, from: &PhysicalUnit, to: &PhysicalUnit) -> f64 {
        let conversion = from.conversion_to(to).unwrap();
        value * conversion.factor + conversion.offset
    }

    #[test]
    fn c57_fahrenheit_to_celsius_and_kelvin() {
        // Definition of the scales: 212 °F = 100 °C = 373.15 K; tolerance: a few roundings.
        let fahrenheit = unit("degF", KELVIN, 5.0 / 9.0, 273.15 - 32.0 * 5.0 / 9.0);
        assert!((converted(212.0, &fahrenheit, &celsius()) - 100.0).abs() < 1e-12);
        assert_eq!(converted(100.0, &celsius(), &kelvin()), 373.15);
        // 180 °F between the freezing and the boiling point are 100 K.
        let (fahrenheit, kelvin) = (difference(fahrenheit), difference(kelvin()));
        assert!((converted(180.0, &fahrenheit, &kelvin) - 100.0).abs() < 1e-12);
    }

    #[test]
    fn c57_relative_quantities_have_no_offset() {
        let conversion = difference(celsius()).conversion_to(&difference(kelvin()));
        assert_eq!(conversion, Ok(Conversion::IDENTITY));
    }

    #[test]
    fn c57_a_difference_is_no_value_on_a_scale_with_an_offset() {
        let pairs = [
            (difference(kelvin()), celsius()),
            (difference(celsius()), kelvin()),
            (difference(celsius()), celsius()),
            (celsius(), difference(kelvin())),
        ];
        for (from, to) in pairs {
            let error = from.conversion_to(&to).unwrap_err().to_string();
            assert!(error.contains("relativeQuantity"), "{error}");
        }
        // Without offsets, differences and values are converted alike.
        let (mm, m) = (unit("mm", LENGTH, 1e-3, 0.0), unit("m", LENGTH, 1.0, 0.0));
        assert_eq!(converted(1500.0, &difference(mm), &m), 1.5);
    }

    #[test]
    fn c57_different_quantities_are_refused_by_name() {
        let force = unit("kN", [1, 1, -2, 0, 0, 0, 0, 0], 1000.0, 0.0);
        let error = force.conversion_to(&kelvin()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kN (kg.m.s-2) to K, which measure different things"
        );
    }

    #[test]
    fn c57_without_base_unit_values_pass_as_they_are() {
        let unknown = PhysicalUnit {
            exponents: None,
            ..kelvin()
        };
        let scaled = unit("x", KELVIN, 2.0, 3.0);
        assert_eq!(unknown.conversion_to(&scaled), Ok(Conversion::IDENTITY));
    }

    #[test]
    fn c57_factors_of_zero_and_numbers_that_are_not_finite_are_refused() {
        for (factor, offset) in [
            (0.0, 0.0),
            (f64::NAN, 0.0),
            (f64::INFINITY, 0.0),
            (1.0, f64::NAN),
        ] {
            let bad = unit("bad", KELVIN, factor, offset);
            for (from, to) in [(&bad, &kelvin()), (&kelvin(), &bad)] {
                let error = from.conversion_to(to).unwrap_err();
                assert!(matches!(error, UnitMismatch::Number { .. }), "{error}");
            }
        }
        // Each number is sound, their quotient is not.
        let (huge, tiny) = (
            unit("huge", KELVIN, 1e300, 0.0),
            unit("tiny", KELVIN, 1e-300, 0.0),
        );
        assert!(huge.conversion_to(&tiny).is_err() && tiny.conversion_to(&huge).is_err());
    }
}
