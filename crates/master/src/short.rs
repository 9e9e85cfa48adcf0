//! Numbers in messages. Notes, tables and checks call it; files have all digits.

/// A number with at most six significant digits, for people.
#[must_use]
pub fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    let is_plain = rounded == 0.0 || (1e-4..1e6).contains(&rounded.abs());
    match is_plain {
        // A zero has no sign.
        true => (rounded + 0.0).to_string(),
        false => format!("{rounded:e}"),
    }
}
