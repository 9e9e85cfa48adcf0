//! Numbers for people. Files have all digits; a table on the screen has six.

/// A number with at most six significant digits.
pub fn short(value: f64) -> String {
    const DIGITS: i32 = 6;
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let exponent = scientific
        .split_once('e')
        .and_then(|(_, e)| e.parse::<i32>().ok());
    let exponent = exponent.unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        return without_trailing_zeros(&format!("{value:.decimals$}"));
    }
    let (mantissa, _) = scientific.split_once('e').unwrap_or((&scientific, ""));
    format!("{}e{exponent}", without_trailing_zeros(mantissa))
}

fn without_trailing_zeros(number: &str) -> String {
    if number.contains('.') {
        number
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    } else {
        number.to_owned()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_and_no_more() {
        let cases = [
            (0.0, "0"),
            (10.0, "10"),
            (0.001, "0.001"),
            (-12_392.499_506, "-12392.5"),
            (999_999.96, "1e6"),
            (1e-7, "1e-7"),
            (1.234_567_8e20, "1.23457e20"),
            (0.1 + 0.2, "0.3"),
            (f64::NAN, "NaN"),
        ];
        for (value, expected) in cases {
            assert_eq!(short(value), expected);
        }
    }
}
