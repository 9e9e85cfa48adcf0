//! Numbers for people. Files have all digits; a table on the screen has six.

pub use gyrator_assess::checks::short;

/// `1 step`, `2 steps`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// A time left, such as `3 min 20 s`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.ceil() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// The first of some names, for a message.
#[must_use]
pub(crate) fn some(names: &[String]) -> String {
    const MOST: usize = 3;
    let first = names[..names.len().min(MOST)].join(", ");
    match names.len() > MOST {
        true => format!("{first}, …"),
        false => first,
    }
}
