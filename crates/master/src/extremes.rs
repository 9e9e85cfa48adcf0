//! Running extremes: one instruction each, while `f64::max` and `f64::min` take five to pass over NaN on either side.

/// `value` if it is greater than `most`, else `most`: also if `value` is NaN.
#[inline(always)]
pub(crate) fn greater(value: f64, most: f64) -> f64 {
    if value > most { value } else { most }
}

/// `value` if it is less than `least`, else `least`: also if `value` is NaN.
#[inline(always)]
pub(crate) fn less(value: f64, least: f64) -> f64 {
    if value < least { value } else { least }
}

/// A magnitude that fades, but never below 1e-300: processors compute many times slower with subnormal numbers, in which each
/// product with a factor of ½ or more ends up for good. NaN stays.
#[inline(always)]
pub(crate) fn fading(magnitude: f64) -> f64 {
    const LEAST: f64 = 1e-300;
    if magnitude < LEAST { LEAST } else { magnitude }
}
