//! Units (FMI 2.0.5 section 2.2.2).

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
