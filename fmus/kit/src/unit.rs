//! Units of variables, with their SI base units (FMI 2.0, section 2.2.2).

/// A unit and its exponents over the SI base units; factor 1, offset 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Name as written in `modelDescription.xml`.
    pub name: &'static str,
    /// Exponents of the base units that occur, such as `[("kg", 1), ("s", -2)]`; FMI's names:
    /// kg, m, s, A, K, mol, cd, rad.
    pub exponents: &'static [(&'static str, i8)],
}

const fn unit(name: &'static str, exponents: &'static [(&'static str, i8)]) -> Unit {
    Unit { name, exponents }
}

/// Second.
pub const SECOND: Unit = unit("s", &[("s", 1)]);
/// Metre.
pub const METRE: Unit = unit("m", &[("m", 1)]);
/// Metre per second.
pub const METRE_PER_SECOND: Unit = unit("m/s", &[("m", 1), ("s", -1)]);
/// Metre per second squared.
pub const METRE_PER_SECOND_SQUARED: Unit = unit("m/s2", &[("m", 1), ("s", -2)]);
/// Kilogram.
pub const KILOGRAM: Unit = unit("kg", &[("kg", 1)]);
/// One over kilogram, inverse of a mass.
pub const PER_KILOGRAM: Unit = unit("1/kg", &[("kg", -1)]);
/// One over second, such as a natural frequency.
pub const PER_SECOND: Unit = unit("1/s", &[("s", -1)]);
/// Joule, energy.
pub const JOULE: Unit = unit("J", &[("kg", 1), ("m", 2), ("s", -2)]);
/// Newton.
pub const NEWTON: Unit = unit("N", &[("kg", 1), ("m", 1), ("s", -2)]);
/// Newton per metre, stiffness.
pub const NEWTON_PER_METRE: Unit = unit("N/m", &[("kg", 1), ("s", -2)]);
/// Newton second per metre, damping.
pub const NEWTON_SECOND_PER_METRE: Unit = unit("N.s/m", &[("kg", 1), ("s", -1)]);
/// Radian.
pub const RADIAN: Unit = unit("rad", &[("rad", 1)]);
/// Radian per second.
pub const RADIAN_PER_SECOND: Unit = unit("rad/s", &[("rad", 1), ("s", -1)]);
/// Newton per second, rate of a force.
pub const NEWTON_PER_SECOND: Unit = unit("N/s", &[("kg", 1), ("m", 1), ("s", -3)]);
/// Newton metre, torque.
pub const NEWTON_METRE: Unit = unit("N.m", &[("kg", 1), ("m", 2), ("s", -2)]);
/// Pascal.
pub const PASCAL: Unit = unit("Pa", &[("kg", 1), ("m", -1), ("s", -2)]);
/// Cubic metre, volume.
pub const CUBIC_METRE: Unit = unit("m3", &[("m", 3)]);
/// Cubic metre per second, volume flow.
pub const CUBIC_METRE_PER_SECOND: Unit = unit("m3/s", &[("m", 3), ("s", -1)]);
/// Volt.
pub const VOLT: Unit = unit("V", &[("kg", 1), ("m", 2), ("s", -3), ("A", -1)]);
/// Ampere.
pub const AMPERE: Unit = unit("A", &[("A", 1)]);
/// Hertz, frequency.
pub const HERTZ: Unit = unit("Hz", &[("s", -1)]);
/// Square metre, area.
pub const SQUARE_METRE: Unit = unit("m2", &[("m", 2)]);
/// Kilogram per cubic metre, density.
pub const KILOGRAM_PER_CUBIC_METRE: Unit = unit("kg/m3", &[("kg", 1), ("m", -3)]);
/// One over pascal, compressibility.
pub const PER_PASCAL: Unit = unit("1/Pa", &[("kg", -1), ("m", 1), ("s", 2)]);
/// One over pascal squared, how compressibility changes with pressure.
pub const PER_PASCAL_SQUARED: Unit = unit("1/Pa2", &[("kg", -2), ("m", 2), ("s", 4)]);
