//! A value that stays within bounds.

use super::{End, Judge, Violation, short};

/// Sees how far a value leaves its bounds, which belong to what is allowed.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    least: f64,
    greatest: f64,
    unit: &'static str,
    first: f64,
    worst: Option<Worst>,
}

#[derive(Debug, Clone, Copy)]
struct Worst {
    time: f64,
    value: f64,
    excess: f64,
}

impl Bounds {
    /// Bounds of a value in this unit, which is left out if it is empty.
    pub(super) fn new(least: f64, greatest: f64, unit: &'static str) -> Self {
        Self {
            least,
            greatest,
            unit,
            first: f64::NAN,
            worst: None,
        }
    }

    fn describe(&self, worst: &Worst) -> String {
        let (side, bound) = match worst.value > self.greatest {
            true => ("above", self.greatest),
            false => ("below", self.least),
        };
        let unit = self.unit;
        let [value, excess, bound] = [worst.value, worst.excess, bound].map(short);
        let time = short(worst.time);
        let first = match self.first == worst.time {
            true => String::new(),
            false => format!("; first out of bounds at t = {} s", short(self.first)),
        };
        format!("is {value}{unit} at t = {time} s, {excess}{unit} {side} {bound}{unit}{first}")
    }
}

impl Judge for Bounds {
    fn see(&mut self, time: f64, value: f64) {
        let excess = (value - self.greatest).max(self.least - value);
        if excess <= 0.0 {
            return;
        }
        if self.worst.is_none() {
            self.first = time;
        }
        if self.worst.is_none_or(|worst| excess > worst.excess) {
            self.worst = Some(Worst {
                time,
                value,
                excess,
            });
        }
    }

    fn violation(&self, _: &End<'_>) -> Option<Violation> {
        let worst = self.worst.as_ref()?;
        Some(Violation {
            text: self.describe(worst),
            value: Some(worst.value),
            time: Some(worst.time),
            excess: Some(worst.excess),
            is_definite: true,
        })
    }
}
