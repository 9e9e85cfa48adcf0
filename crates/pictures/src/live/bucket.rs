//! Signals over a stretch of time, by their extremes.

use serde::{Deserialize, Serialize};

/// Least and greatest value of a signal over a stretch of time, in the order in which they came; NaN without a finite
/// value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extremes {
    /// The one that came first.
    pub first: f64,
    /// The other one.
    pub second: f64,
}

impl Extremes {
    /// Of no value.
    pub const NONE: Self = Self {
        first: f64::NAN,
        second: f64::NAN,
    };

    /// Takes a value that comes after those that were taken. One that is not finite does not count.
    #[inline]
    pub fn take(&mut self, value: f64) {
        let (least, greatest) = match self.first < self.second {
            true => (self.first, self.second),
            false => (self.second, self.first),
        };
        if value >= least && value <= greatest || !value.is_finite() {
            return;
        }
        (self.first, self.second) = if least.is_nan() {
            (value, value)
        } else if value > greatest {
            (least, value)
        } else {
            (greatest, value)
        };
    }

    /// Takes the extremes of the stretch that follows.
    pub fn join(&mut self, next: Self) {
        self.take(next.first);
        self.take(next.second);
    }
}

/// Signals over a stretch of time. As JSON `[begin, end, first, second, first, …]`, null for NaN.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Vec<Option<f64>>", try_from = "Vec<Option<f64>>")]
pub struct Bucket {
    /// Simulated time of the first row, s.
    pub begin: f64,
    /// Simulated time of the last row, s.
    pub end: f64,
    /// One entry a signal.
    pub extremes: Vec<Extremes>,
}

impl Bucket {
    /// Takes the stretch that follows.
    pub fn join(&mut self, next: &Self) {
        self.end = next.end;
        for (extremes, next) in self.extremes.iter_mut().zip(&next.extremes) {
            extremes.join(*next);
        }
    }

    /// Of the numbers `begin, end, first, second, first, …`; `None` if these are not such a list.
    pub(crate) fn of(numbers: &[f64]) -> Option<Self> {
        let (&[begin, end], extremes) = numbers.split_first_chunk()?;
        let (pairs, []) = extremes.as_chunks() else {
            return None;
        };
        let pairs = pairs
            .iter()
            .map(|&[first, second]| Extremes { first, second });
        let is_stretch = begin.is_finite() && end.is_finite() && begin <= end;
        is_stretch.then(|| Self {
            begin,
            end,
            extremes: pairs.collect(),
        })
    }
}

impl From<Bucket> for Vec<Option<f64>> {
    fn from(bucket: Bucket) -> Self {
        let extremes = bucket.extremes.iter();
        let extremes = extremes.flat_map(|extremes| [extremes.first, extremes.second]);
        let numbers = [bucket.begin, bucket.end].into_iter().chain(extremes);
        numbers
            .map(|number| Some(number).filter(|number| number.is_finite()))
            .collect()
    }
}

impl TryFrom<Vec<Option<f64>>> for Bucket {
    type Error = &'static str;

    fn try_from(numbers: Vec<Option<f64>>) -> Result<Self, Self::Error> {
        let numbers: Vec<f64> = numbers
            .into_iter()
            .map(|number| number.unwrap_or(f64::NAN))
            .collect();
        Self::of(&numbers).ok_or("no stretch of time with pairs of extremes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extremes(values: &[f64]) -> [f64; 2] {
        let mut extremes = Extremes::NONE;
        values.iter().for_each(|value| extremes.take(*value));
        [extremes.first, extremes.second]
    }

    #[test]
    fn extremes_stand_in_the_order_in_which_they_came() {
        assert_eq!(extremes(&[1.0]), [1.0, 1.0]);
        assert_eq!(extremes(&[1.0, 3.0, 2.0]), [1.0, 3.0]);
        assert_eq!(extremes(&[3.0, 1.0, 2.0]), [3.0, 1.0]);
        assert_eq!(extremes(&[2.0, 3.0, 1.0]), [3.0, 1.0]);
        assert_eq!(extremes(&[2.0, 1.0, 3.0]), [1.0, 3.0]);
        assert_eq!(extremes(&[f64::NAN, 5.0, f64::INFINITY]), [5.0, 5.0]);
        assert!(extremes(&[f64::NAN])[0].is_nan());
    }

    #[test]
    fn a_bucket_survives_its_json() {
        let bucket = Bucket {
            begin: 0.1,
            end: 0.2,
            extremes: vec![Extremes {
                first: 1.0 / 3.0,
                second: -2.0,
            }],
        };
        let text = serde_json::to_string(&bucket).unwrap();
        assert_eq!(text, "[0.1,0.2,0.3333333333333333,-2.0]");
        assert_eq!(serde_json::from_str::<Bucket>(&text).unwrap(), bucket);
        let gap: Bucket = serde_json::from_str("[0,1,null,null]").unwrap();
        assert!(gap.extremes[0].first.is_nan());
        for wrong in ["[]", "[0]", "[0,1,2]", "[1,0]", "[null,1]", "[0,\"x\"]"] {
            assert!(serde_json::from_str::<Bucket>(wrong).is_err(), "{wrong}");
        }
    }
}
