//! An axis whose labels stay short, whatever the magnitude of the values.

use crate::chart::scale::{self, Scale};

/// Larger numbers are drawn at this end, so that no difference of two overflows.
pub(crate) const LARGEST: f64 = 4e307;
/// Smaller ranges are taken as none: their parts have no digits.
const LEAST_RANGE: f64 = 1e-303;
/// A range that is rounding only comes from a constant.
const ROUNDING: f64 = 1e-12;

/// An axis with its ticks.
pub(crate) struct Axis {
    scale: Scale,
    /// Values with their labels.
    pub(crate) ticks: Vec<(f64, String)>,
    /// The part that labels leave out: a power of ten, a number to add.
    pub(crate) note: String,
}

impl Axis {
    /// About `count` ticks; `has_margin`: there is room beyond the values.
    pub(crate) fn linear(
        values: impl Iterator<Item = f64>,
        pixels: (f64, f64),
        count: usize,
        has_margin: bool,
    ) -> Self {
        let (from, to) = with_room(
            scale::range(values.filter(|value| value.is_finite())),
            has_margin,
        );
        let step = scale::round_step((to - from) / count as f64);
        let greatest = from.abs().max(to.abs());
        let offset = match step < 1e-5 * greatest {
            true => {
                let round = 10_f64.powf((to - from).log10().ceil());
                ((from / 2.0 + to / 2.0) / round).round() * round
            }
            false => 0.0,
        };
        let first = ((from - offset) / step - 1e-9).ceil();
        let parts = (0..=2 * count).map(|index| (first + index as f64) * step);
        let last = (to - offset) + 1e-9 * step;
        let parts: Vec<f64> = parts.take_while(|part| *part <= last).collect();
        let magnitude = parts
            .iter()
            .fold(0.0_f64, |most, part| most.max(part.abs()));
        let exponent = exponent(magnitude);
        let unit = 10_f64.powi(exponent);
        let ticks = parts
            .iter()
            .map(|part| (offset + part, scale::label(part / unit, step / unit)));
        Self {
            scale: Scale::linear((from, to), pixels),
            ticks: ticks.collect(),
            note: note(exponent, offset),
        }
    }

    /// Powers of ten between the values, and their multiples by 2 and 5 if there are few; no room beyond the values.
    pub(crate) fn between_decades(values: impl Iterator<Item = f64>, pixels: (f64, f64)) -> Self {
        let values = values.filter(|value| *value > 0.0 && value.is_finite());
        let (from, to) = scale::range(values);
        let (from, to) = (from.max(LEAST_RANGE), to.max(LEAST_RANGE));
        let decades = (from.log10().floor() as i32)..=(to.log10().ceil() as i32);
        let is_short = to / from < 1e3;
        let factors: &[f64] = if is_short { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let stride = (decades.clone().count() / 8).max(1);
        let ticks = decades.step_by(stride).flat_map(|decade| {
            factors
                .iter()
                .map(move |factor| factor * 10_f64.powi(decade))
        });
        let ticks = ticks.filter(|tick| (from * (1.0 - 1e-9)..=to * (1.0 + 1e-9)).contains(tick));
        let label = |tick: f64| match is_short {
            true => short(tick),
            false => scale::power(tick.log10().round()).1,
        };
        Self {
            ticks: ticks.map(|tick| (tick, label(tick))).collect(),
            scale: Scale::exact_logarithmic((from, to), pixels),
            note: String::new(),
        }
    }

    /// Whether a value has a place on the axis.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && self.scale.has(value)
    }

    pub(crate) fn pixel(&self, value: f64) -> f64 {
        self.scale.pixel(value.clamp(-LARGEST, LARGEST))
    }
}

/// The range that is shown: constants in its middle.
fn with_room((least, greatest): (f64, f64), has_margin: bool) -> (f64, f64) {
    let (least, greatest) = (
        least.clamp(-LARGEST, LARGEST),
        greatest.clamp(-LARGEST, LARGEST),
    );
    let magnitude = least.abs().max(greatest.abs());
    let width = greatest - least;
    if width > ROUNDING * magnitude && width > LEAST_RANGE {
        let margin = if has_margin { 0.05 * width } else { 0.0 };
        return (least - margin, greatest + margin);
    }
    let half = if magnitude > LEAST_RANGE {
        0.5 * magnitude
    } else {
        1.0
    };
    (least - half, greatest + half)
}

/// The power of ten that labels leave out: none for numbers from 0.01 to 10 000, else a multiple of three.
fn exponent(magnitude: f64) -> i32 {
    let exponent = magnitude.max(f64::MIN_POSITIVE).log10().floor() as i32;
    if magnitude == 0.0 || (-2..4).contains(&exponent) {
        0
    } else {
        3 * exponent.div_euclid(3)
    }
}

fn note(exponent: i32, offset: f64) -> String {
    let power = match exponent {
        0 => String::new(),
        exponent => format!("×{}", scale::power(f64::from(exponent)).1),
    };
    match offset {
        0.0 => power,
        offset => {
            let offset = short(offset).replace('-', "−");
            let sign = if offset.starts_with('−') { "" } else { "+" };
            format!("{power} {sign}{offset}").trim().to_owned()
        }
    }
}

/// A number as short as it can be.
pub(crate) fn short(value: f64) -> String {
    let plain = format!("{value}");
    let scientific = format!("{value:e}");
    if plain.len() <= scientific.len().max(7) {
        plain
    } else {
        scientific
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64]) -> (Vec<String>, String) {
        let axis = Axis::linear(values.iter().copied(), (0.0, 100.0), 4, true);
        for (value, _) in &axis.ticks {
            let pixel = axis.pixel(*value);
            assert!((-1.0..=101.0).contains(&pixel), "{value} at {pixel}");
        }
        let labels = axis.ticks.into_iter().map(|(_, label)| label);
        (labels.collect(), axis.note)
    }

    #[test]
    fn labels_are_short_whatever_the_magnitude() {
        assert_eq!(labels(&[-0.03, 0.11]).0, ["0.00", "0.05", "0.10"]);
        assert_eq!(
            labels(&[0.0, 3e6]),
            (
                ["0", "1", "2", "3"].map(String::from).to_vec(),
                "×10⁶".into()
            )
        );
        assert_eq!(labels(&[0.0, 3e-9]).1, "×10⁻⁹");
        let (ticks, note) = labels(&[1e9, 1e9 + 0.5]);
        assert_eq!((ticks[1].as_str(), note.as_str()), ("0.2", "+1e9"));
        assert_eq!(labels(&[-300.0, -300.0 + 1e-6]).1, "×10⁻⁶ −300");
    }

    #[test]
    fn no_magnitude_is_too_much() {
        let values = [
            0.0,
            5e-324,
            1e-300,
            1e-9,
            1.0,
            1e300,
            f64::MAX,
            f64::MIN,
            f64::NAN,
            f64::INFINITY,
        ];
        for a in values {
            for b in values {
                let (ticks, note) = labels(&[a, b]);
                assert!((1..=9).contains(&ticks.len()), "{a} {b}: {ticks:?}");
                let longest = ticks.iter().map(|tick| tick.chars().count()).max();
                assert!(
                    longest < Some(9) && note.chars().count() < 30,
                    "{a} {b}: {ticks:?} {note}"
                );
            }
        }
    }
}
