//! Figures in a terminal: dots of Braille characters.

use std::fmt::Write as _;

use crate::chart::axis::short;
use crate::chart::figure::{Curve, Figure, cut};
use crate::chart::scale;

/// Lines of each curve.
const LINES: usize = 6;
/// Columns beside the curves.
const LABELS: usize = 12;
/// Curves that are shown; a screen has no more lines.
const SHOWN: usize = 12;

impl Figure {
    /// The curves one below the other, each with its own axis, in so many columns of text.
    #[must_use]
    pub fn to_text(&self, columns: usize) -> String {
        let columns = columns.clamp(30, 400);
        let all: Vec<(&str, &Curve)> = self
            .panels
            .iter()
            .flat_map(|panel| panel.curves.iter().map(|curve| (panel.y.as_str(), curve)))
            .collect();
        let times = all.iter().flat_map(|(_, curve)| &curve.points);
        let range = scale::range(times.map(|(x, _)| *x).filter(|x| x.is_finite()));
        let mut text = String::new();
        for (unit, curve) in all.iter().take(SHOWN) {
            let unit = if unit.is_empty() {
                String::new()
            } else {
                format!(", {unit}")
            };
            let _ = writeln!(text, "{}{unit}", cut(&curve.label, columns - 12));
            text.push_str(&drawn(curve, range, columns - LABELS));
        }
        if !all.is_empty() {
            let (from, to) = (short(range.0), short(range.1));
            let room = columns.saturating_sub(LABELS + from.len());
            let _ = writeln!(text, "{:LABELS$}{from}{to:>room$}", "");
            let _ = writeln!(text, "{:>columns$}", self.x);
        }
        if all.len() > SHOWN {
            let _ = writeln!(text, "and {} more", all.len() - SHOWN);
        }
        text
    }
}

/// The bits of the dots of a Braille character by row and column (Unicode 16, section 21.1).
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

fn drawn(curve: &Curve, (from, to): (f64, f64), columns: usize) -> String {
    let finite = curve
        .points
        .iter()
        .filter(|(x, y)| x.is_finite() && y.is_finite());
    let (least, greatest) = scale::range(finite.map(|(_, y)| *y));
    let (width, height) = (2 * columns, 4 * LINES);
    let mut cells = vec![0_u8; columns * LINES];
    let place = |value: f64, from: f64, to: f64, count: usize| {
        (scale::part(value, (from, to)) * (count - 1) as f64).round() as usize
    };
    let mut dot = |x: usize, y: usize| {
        let row = height - 1 - y;
        cells[row / 4 * columns + x / 2] |= DOTS[row % 4][x % 2];
    };
    let mut last: Option<(usize, usize)> = None;
    for (time, value) in &curve.points {
        if !time.is_finite() || !value.is_finite() {
            last = None;
            continue;
        }
        let (x, y) = (
            place(*time, from, to, width),
            place(*value, least, greatest, height),
        );
        let (x0, y0) = last.unwrap_or((x, y));
        let count = x.abs_diff(x0).max(y.abs_diff(y0)).max(1);
        for step in 0..=count {
            let part = step as f64 / count as f64;
            let between =
                |a: usize, b: usize| (a as f64 + part * (b as f64 - a as f64)).round() as usize;
            dot(
                between(x0, x),
                if curve.is_stepped && step < count {
                    y0
                } else {
                    between(y0, y)
                },
            );
        }
        last = Some((x, y));
    }
    let mut text = String::new();
    for (line, cells) in cells.chunks(columns).enumerate() {
        let label = match line {
            0 => short_label(greatest),
            _ if line == LINES - 1 => short_label(least),
            _ => String::new(),
        };
        let dots: String = cells
            .iter()
            .map(|bits| char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' '))
            .collect();
        let _ = writeln!(text, "{label:>width$} ┤{dots}", width = LABELS - 2);
    }
    text
}

/// A number in the room beside the curves: all its digits, or four.
pub(crate) fn short_label(value: f64) -> String {
    let plain = short(value);
    if plain.len() <= LABELS - 2 {
        return plain;
    }
    let text = format!("{value:.3e}");
    // The greatest numbers are rounded to infinity.
    match text.parse() {
        Ok(rounded) if f64::is_finite(rounded) => short(rounded),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::figure::Panel;

    fn text_of(points: Vec<(f64, f64)>) -> String {
        let curve = Curve {
            label: "x".to_owned(),
            points,
            ..Curve::default()
        };
        let panel = Panel {
            y: "m".to_owned(),
            curves: vec![curve],
            ..Panel::default()
        };
        let figure = Figure {
            x: "time, s".to_owned(),
            panels: vec![panel],
            ..Figure::default()
        };
        figure.to_text(40)
    }

    #[test]
    fn a_line_goes_from_corner_to_corner() {
        let text = text_of(vec![(0.0, 0.0), (10.0, 2.0)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "x, m");
        assert!(
            lines[1].starts_with("         2 ┤") && lines[1].ends_with('⠁')
                || lines[1].ends_with('⠉')
                || lines[1].ends_with('⠊'),
            "{text}"
        );
        assert!(lines[6].starts_with("         0 ┤"), "{text}");
        assert!(
            lines.iter().all(|line| line.chars().count() <= 40),
            "{text}"
        );
        assert!(
            lines[7].trim_start().starts_with('0') && lines[7].ends_with("10"),
            "{text}"
        );
    }

    #[test]
    fn labels_have_few_digits() {
        for (value, label) in [
            (4.384_048_127, "4.384"),
            (-0.001_234_567_8, "-0.001235"),
            (-1.234_567_891e-105, "-1.235e-105"),
            (1234.5678, "1234.5678"),
            (123_456.789_012, "123500"),
            (1e300, "1e300"),
            (f64::MAX, "1.798e308"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(short_label(value), label);
        }
    }

    #[test]
    fn nothing_is_too_much() {
        for points in [
            vec![],
            vec![(0.0, f64::NAN)],
            vec![(0.0, f64::MAX), (1.0, f64::MIN)],
            vec![(3.0, 1.0), (3.0, 1.0)],
        ] {
            assert!(text_of(points).lines().count() >= 8);
        }
        assert_eq!(Figure::default().to_text(10), "");
    }
}
