//! Numbers for people. Notes, tables and checks call it; files have all digits.

/// A number with at most six significant digits, for sentences: times, settings and what a reader copies.
#[must_use]
pub fn short(value: f64) -> String {
    rounded(value, 6)
}

/// A number with at most four significant digits, for tables of measured quantities.
#[must_use]
pub fn figure(value: f64) -> String {
    rounded(value, 4)
}

fn rounded(value: f64, digits: usize) -> String {
    let decimals = digits - 1;
    let rounded: f64 = format!("{value:.decimals$e}").parse().unwrap_or(value);
    let is_plain = rounded == 0.0 || (1e-4..1e6).contains(&rounded.abs());
    match is_plain {
        // A zero has no sign.
        true => (rounded + 0.0).to_string(),
        false => format!("{rounded:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_have_six_digits_and_tables_four() {
        assert_eq!(
            [short, figure].map(|text| text(-6169.594)),
            ["-6169.59", "-6170"]
        );
        assert_eq!([short, figure].map(|text| text(0.1 + 0.2)), ["0.3", "0.3"]);
        assert_eq!(
            [short, figure].map(|text| text(1_234_567.0)),
            ["1.23457e6", "1.235e6"]
        );
        assert_eq!([short, figure].map(|text| text(-0.0)), ["0", "0"]);
        assert_eq!(figure(f64::INFINITY), "inf");
    }
}
