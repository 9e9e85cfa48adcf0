//! Sizes of sampled signals.

/// The greatest value less the least one.
pub(crate) fn range(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    greatest - least
}

/// The greatest magnitude.
pub(crate) fn greatest(values: &[f64]) -> f64 {
    values
        .iter()
        .fold(0.0, |greatest: f64, value| greatest.max(value.abs()))
}

/// Root of the mean square, also if squares overflow.
pub(crate) fn rms(values: &[f64]) -> f64 {
    let greatest = greatest(values);
    if greatest == 0.0 || values.is_empty() {
        return 0.0;
    }
    let squares: f64 = values.iter().map(|value| (value / greatest).powi(2)).sum();
    greatest * (squares / values.len() as f64).sqrt()
}

/// Σab / √(Σa²·Σb²).
pub(crate) fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let (of_left, of_right) = (rms(left), rms(right));
    let products = left.iter().zip(right);
    let sum: f64 = products.map(|(a, b)| (a / of_left) * (b / of_right)).sum();
    sum / left.len() as f64
}

/// Whether the last quarter is at least twice as large as the second one.
pub(crate) fn grows(values: &[f64]) -> bool {
    let quarter = values.len() / 4;
    let [early, late] = [&values[quarter..2 * quarter], &values[3 * quarter..]];
    rms(late) >= 2.0 * rms(early)
}
