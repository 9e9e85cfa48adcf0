//! Numbers for people. Files have all digits; a sentence has six, a table four.

pub use gyrator::{figure, short};

/// `1 step`, `2 steps`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Two numbers for people, with six digits, or as many as they need to differ.
pub(crate) fn apart(one: f64, other: f64) -> (String, String) {
    let (shown, next) = (short(one), short(other));
    if shown != next || one == other {
        return (shown, next);
    }
    let text = |value: f64, decimals: usize| {
        let rounded: f64 = format!("{value:.decimals$e}").parse().unwrap_or(value);
        rounded.to_string()
    };
    let pairs = (6..17).map(|decimals| (text(one, decimals), text(other, decimals)));
    let mut pairs = pairs.filter(|(one, other)| one != other);
    pairs.next().unwrap_or((shown, next))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_differ_are_shown_differently() {
        let texts = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(apart(0.01, 0.011), texts("0.01", "0.011"));
        assert_eq!(
            apart(1.7e9, 1.7e9 + 0.01),
            texts("1700000000", "1700000000.01")
        );
        assert_eq!(apart(1.7e9, 1.7e9), texts("1.7e9", "1.7e9"));
        let (one, other) = apart(0.1 + 0.2, 0.3);
        assert_ne!(one, other);
    }
}
