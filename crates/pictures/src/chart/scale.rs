//! From values to pixels, and the ticks of an axis.

/// An axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    pixels: (f64, f64),
    is_logarithmic: bool,
}

/// Least and greatest of the values that are finite; 0 and 1 if there are none.
pub(super) fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    let range = values.fold(start, |(least, greatest), value| {
        (value.min(least), value.max(greatest))
    });
    if range.0 <= range.1 {
        range
    } else {
        (0.0, 1.0)
    }
}

/// Where a value lies between two others, from 0 to 1; in the middle if that is not known.
pub(super) fn part(value: f64, (least, greatest): (f64, f64)) -> f64 {
    // Halves, so that no difference overflows.
    let part = (value / 2.0 - least / 2.0) / (greatest / 2.0 - least / 2.0);
    if part.is_finite() {
        part.clamp(0.0, 1.0)
    } else {
        0.5
    }
}

/// Room above and below the curves; a range without width gets one.
pub(super) fn with_margin((least, greatest): (f64, f64)) -> (f64, f64) {
    let width = greatest - least;
    let margin = if width > 0.0 {
        0.06 * width
    } else {
        least.abs().max(1.0)
    };
    (least - margin, greatest + margin)
}

impl Scale {
    pub(super) fn linear((from, to): (f64, f64), pixels: (f64, f64)) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Self {
            from,
            to,
            pixels,
            is_logarithmic: false,
        }
    }

    /// From and to whole powers of ten; `from` and `to` are positive.
    pub(super) fn logarithmic((from, to): (f64, f64), pixels: (f64, f64)) -> Self {
        let power = |value: f64| value.max(f64::MIN_POSITIVE).log10();
        let from = power(from).floor();
        Self {
            from,
            to: power(to).ceil().max(from + 1.0),
            pixels,
            is_logarithmic: true,
        }
    }

    /// Powers of ten, from and to these values, which are positive.
    pub(super) fn exact_logarithmic((from, to): (f64, f64), pixels: (f64, f64)) -> Self {
        let (from, to) = (from.log10(), to.log10());
        Self {
            from,
            to: if to > from { to } else { from + 1.0 },
            pixels,
            is_logarithmic: true,
        }
    }

    /// Whether a value can be on the axis, however far out.
    pub(super) fn has(&self, value: f64) -> bool {
        !self.is_logarithmic || value > 0.0
    }

    /// Whether a value has a place on the axis, or not far from its ends.
    pub(super) fn shows(&self, value: f64) -> bool {
        let margin = self.to - self.from;
        (self.from - margin..=self.to + margin).contains(&self.on_axis(value))
    }

    /// The value as the ends of the axis count it.
    fn on_axis(&self, value: f64) -> f64 {
        if self.is_logarithmic {
            value.log10()
        } else {
            value
        }
    }

    pub(super) fn pixel(&self, value: f64) -> f64 {
        let part = (self.on_axis(value) - self.from) / (self.to - self.from);
        // Far outside of the picture renderers lose their way.
        (self.pixels.0 + part * (self.pixels.1 - self.pixels.0)).clamp(-1e4, 1e4)
    }

    /// About `count` round values with their labels.
    pub(super) fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        let step = round_step((self.to - self.from) / count as f64);
        let step = if self.is_logarithmic {
            step.max(1.0).round()
        } else {
            step
        };
        let first = (self.from / step - 1e-9).ceil();
        let ticks = (0..=2 * count).map(|index| (first + index as f64) * step);
        let ticks = ticks.take_while(|tick| *tick <= self.to + 1e-9 * step);
        ticks
            .map(|tick| {
                if self.is_logarithmic {
                    power(tick)
                } else {
                    (tick, label(tick, step))
                }
            })
            .collect()
    }
}

pub(super) fn power(exponent: f64) -> (f64, String) {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let superscript = |character: char| match character.to_digit(10) {
        Some(digit) => DIGITS[digit as usize],
        None => '⁻',
    };
    let exponent_text: String = format!("{exponent:.0}").chars().map(superscript).collect();
    (10_f64.powf(exponent), format!("10{exponent_text}"))
}

/// 1, 2 or 5 times a power of ten, not less than `step`.
pub(super) fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let factor = factors
        .into_iter()
        .find(|factor| factor * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// As many decimals as the step has; a thin space between thousands.
pub(super) fn label(tick: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!(
        "{:.decimals$}",
        if tick.abs() < 1e-9 * step { 0.0 } else { tick }
    );
    let (whole, fraction) = text
        .split_once('.')
        .map_or((text.as_str(), ""), |(whole, fraction)| (whole, fraction));
    let (sign, digits) = whole
        .strip_prefix('-')
        .map_or(("", whole), |digits| ("−", digits));
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if digits.len() > 4 && index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, count: usize) -> Vec<String> {
        scale
            .ticks(count)
            .into_iter()
            .map(|(_, label)| label)
            .collect()
    }

    #[test]
    fn ticks_are_round() {
        let pixels = (0.0, 100.0);
        assert_eq!(
            labels(&Scale::linear((-0.03, 0.11), pixels), 7),
            ["−0.02", "0.00", "0.02", "0.04", "0.06", "0.08", "0.10"]
        );
        assert_eq!(
            labels(&Scale::linear((9_000.0, 31_000.0), pixels), 5),
            [
                "10\u{2009}000",
                "15\u{2009}000",
                "20\u{2009}000",
                "25\u{2009}000",
                "30\u{2009}000"
            ]
        );
        assert_eq!(
            labels(&Scale::logarithmic((2e-7, 30.0), pixels), 5),
            ["10⁻⁶", "10⁻⁴", "10⁻²", "10⁰", "10²"]
        );
    }

    #[test]
    fn pixels_span_the_axis() {
        let scale = Scale::linear((1.0, 3.0), (200.0, 100.0));
        assert_eq!(
            [1.0, 2.0, 3.0].map(|value| scale.pixel(value)),
            [200.0, 150.0, 100.0]
        );
        let scale = Scale::logarithmic((1e-3, 1e3), (0.0, 60.0));
        assert_eq!(scale.pixel(1.0), 30.0);
        assert!(!scale.shows(0.0));
    }
}
