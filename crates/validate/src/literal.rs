//! Values as XML Schema writes them (XML Schema Part 2, section 3), which is not how Rust does.

/// An `xs:double`; `INF`, `-INF` and `NaN` are values of it.
#[must_use]
pub(crate) fn double(text: &str) -> Option<f64> {
    let text = trimmed(text);
    match text {
        "INF" => Some(f64::INFINITY),
        "-INF" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        // Rust also reads `inf`, `infinity` and `nan`.
        _ if text.contains(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')) => None,
        _ => text.parse().ok(),
    }
}

/// An `xs:int`.
#[must_use]
pub(crate) fn int(text: &str) -> Option<i32> {
    trimmed(text).parse().ok()
}

/// An `xs:unsignedInt`.
#[must_use]
pub(crate) fn unsigned(text: &str) -> Option<u32> {
    match trimmed(text) {
        zero if zero.strip_prefix('-').is_some_and(is_zero) => Some(0),
        text => text.parse().ok(),
    }
}

fn is_zero(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|digit| digit == b'0')
}

/// An `xs:boolean`.
#[must_use]
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match trimmed(text) {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Whether the text is an `xs:dateTime`, such as `2026-11-20T08:21:02Z`.
#[must_use]
pub(crate) fn is_date_time(text: &str) -> bool {
    read_date_time(trimmed(text)).is_some()
}

fn read_date_time(text: &str) -> Option<()> {
    let (date, time) = text.strip_prefix('-').unwrap_or(text).split_once('T')?;
    let mut date = date.split('-');
    let year = date.next()?;
    let is_year = year.len() >= 4 && (year.len() == 4 || !year.starts_with('0'));
    let month = two_digits(date.next()?, 1..=12)?;
    let day = two_digits(date.next()?, 1..=31)?;
    let number: i64 = year.parse().ok()?;
    let is_date = date.next().is_none() && is_year && day <= days_of(number, month);
    let (clock, zone) = match time.find(['Z', '+', '-']) {
        Some(place) => time.split_at(place),
        None => (time, ""),
    };
    let is_zone = match zone {
        "" | "Z" => true,
        _ => {
            let (hours, minutes) = zone[1..].split_once(':')?;
            let (hours, minutes) = (two_digits(hours, 0..=14)?, two_digits(minutes, 0..=59)?);
            hours < 14 || minutes == 0
        }
    };
    let mut clock = clock.split(':');
    let hour = two_digits(clock.next()?, 0..=24)?;
    let minute = two_digits(clock.next()?, 0..=59)?;
    let seconds = clock.next()?;
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let second = two_digits(second, 0..=59)?;
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|c| c.is_ascii_digit());
    let is_end_of_day = hour < 24 || (minute, second, fraction.trim_matches('0')) == (0, 0, "");
    let is_all = clock.next().is_none();
    (is_date && is_zone && is_fraction && is_end_of_day && is_all).then_some(())
}

fn two_digits(text: &str, range: std::ops::RangeInclusive<u8>) -> Option<u8> {
    let is_two = text.len() == 2 && text.bytes().all(|c| c.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_two)?;
    range.contains(&number).then_some(number)
}

fn days_of(year: i64, month: u8) -> u8 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Without the white space that XML Schema collapses.
fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles() {
        for good in ["1", " -1.5e-3 ", "+.5", "5.", "1E4"] {
            assert!(double(good).is_some_and(f64::is_finite), "{good}");
        }
        assert_eq!(double("-INF"), Some(f64::NEG_INFINITY));
        assert!(double("NaN").unwrap().is_nan());
        for bad in ["", "inf", "nan", "1,5", "0x1", "1 2", "e5", "."] {
            assert!(double(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn integers_and_booleans() {
        assert_eq!(int(" +7 "), Some(7));
        assert_eq!(int("2147483648"), None);
        assert_eq!(int("1.0"), None);
        assert_eq!(unsigned("4294967295"), Some(u32::MAX));
        assert_eq!(unsigned("4294967296"), None);
        assert_eq!(unsigned("-0"), Some(0));
        assert_eq!(unsigned("-1"), None);
        assert_eq!(boolean("1"), Some(true));
        assert_eq!(boolean("True"), None);
    }

    #[test]
    fn dates() {
        for good in [
            "2026-11-20T08:21:02Z",
            "2026-11-20T08:21:02",
            "2024-02-29T24:00:00+01:00",
            "-0044-03-15T12:00:00.5-14:00",
            "12026-01-01T00:00:00Z",
        ] {
            assert!(is_date_time(good), "{good}");
        }
        for bad in [
            "",
            "2026-11-20",
            "2026-11-20 08:21:02",
            "2023-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-11-20T08:21:02z",
            "2026-11-20T08:21Z",
            "2026-11-20T25:00:00Z",
            "2026-11-20T08:21:02.Z",
            "2026-11-20T08:21:02+1:00",
            "Fri Nov 20 08:21:02 2026",
        ] {
            assert!(!is_date_time(bad), "{bad}");
        }
    }
}
