//! A signal that comes to a value and stays there.

use std::sync::Arc;

use gyrator_system::Spanned;

use super::bounds::Bounds;
use super::reading::{finite, keys, not_negative};
use super::{Check, End, Judge, Kind, Quantity, Requirement, Violation, Window, short};

pub(super) const KIND: Kind = Kind {
    word: "settles",
    summary: "{ by, tolerance, value }: from the time `by` on, s, the signal stays within the tolerance of the value, \
              or of its last value where none is given",
    quantity: Quantity::Signal,
    read: |value, reader| {
        let mut keys = keys(KIND.word, value, reader)?;
        let by = keys.required("by", reader).and_then(|by| {
            let time = finite("by", by, reader)?;
            Some(Spanned::new(time, by.span()))
        });
        let tolerance = keys.required("tolerance", reader);
        let tolerance = tolerance.and_then(|value| not_negative("tolerance", value, reader));
        let centre = keys.take("value");
        let is_given = centre.is_some();
        let centre = centre.and_then(|value| finite("value", value, reader));
        keys.finish(reader);
        if is_given && centre.is_none() {
            return None;
        }
        Some(Arc::new(Settles {
            value: centre,
            tolerance: tolerance?,
            by: by?,
        }))
    },
};

#[derive(Debug)]
struct Settles {
    /// The last value if `None`.
    value: Option<f64>,
    tolerance: f64,
    by: Spanned<f64>,
}

impl Requirement for Settles {
    fn text(&self) -> String {
        let value = self.value.map_or("its last value".to_owned(), short);
        let (tolerance, by) = (short(self.tolerance), short(self.by.value));
        format!("settles within {tolerance} of {value} by {by} s")
    }

    fn window(&self, window: Window) -> Window {
        let is_later = |from: &Spanned<f64>| from.value > self.by.value;
        Window {
            from: Some(window.from.filter(is_later).unwrap_or(self.by.clone())),
            until: window.until,
        }
    }

    fn judge(&self) -> Box<dyn Judge> {
        match self.value {
            Some(value) => {
                let (least, greatest) = (value - self.tolerance, value + self.tolerance);
                Box::new(Bounds::new(least, greatest, ""))
            }
            None => Box::new(Range {
                tolerance: self.tolerance,
                least: (f64::NAN, f64::INFINITY),
                greatest: (f64::NAN, f64::NEG_INFINITY),
                last: f64::NAN,
            }),
        }
    }
}

/// The times and values of the ends of a range, and the last value.
struct Range {
    tolerance: f64,
    least: (f64, f64),
    greatest: (f64, f64),
    last: f64,
}

impl Judge for Range {
    fn see(&mut self, time: f64, value: f64) {
        if value < self.least.1 {
            self.least = (time, value);
        }
        if value > self.greatest.1 {
            self.greatest = (time, value);
        }
        self.last = value;
    }

    fn violation(&self, end: &End<'_>) -> Option<Violation> {
        let (least, greatest) = (self.last - self.tolerance, self.last + self.tolerance);
        let mut bounds = Bounds::new(least, greatest, "");
        for (time, value) in [self.least, self.greatest] {
            bounds.see(time, value);
        }
        let violation = bounds.violation(end)?;
        Some(Violation {
            text: format!(
                "{}, its last value being {}",
                violation.text,
                short(self.last)
            ),
            // The last value of the window is not known before.
            is_definite: false,
            ..violation
        })
    }
}

impl Check {
    /// Signals of the name or pattern `signal` are at most `tolerance` away from `value`, or from their last values
    /// if `None`, from the time `by` on, s.
    #[must_use]
    pub fn settles(signal: &str, value: Option<f64>, tolerance: f64, by: f64) -> Self {
        let by = Spanned::unplaced(by);
        Self::new(
            KIND,
            Some(signal),
            Settles {
                value,
                tolerance,
                by,
            },
        )
    }
}
