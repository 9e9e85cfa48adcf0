//! A parameter, and the coordinate in which it is looked for.

/// A parameter that is looked for, in the unit of its key.
///
/// The search has no bounds. Between two bounds p = least + (greatest − least)/(1 + e^(−z)). Above a bound p = least + (start − least)·e^z,
/// below one the same downwards. Without bounds p = start + scale·z. On a logarithmic scale ln p takes the place of p.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Key of the system file, as studies vary it.
    pub key: String,
    /// Start of the search, inside the bounds.
    pub start: f64,
    /// Lower bound.
    pub minimum: Option<f64>,
    /// Upper bound.
    pub maximum: Option<f64>,
    /// Whether the logarithm is looked for; all values are then positive.
    pub is_log: bool,
}

impl Parameter {
    /// The fault of the values, if there is one.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let bounds = [self.minimum, self.maximum];
        let all = || bounds.iter().flatten().chain([&self.start]);
        if all().any(|value| !value.is_finite()) {
            return Some("the values must be finite".to_owned());
        }
        if self.is_log && all().any(|value| *value <= 0.0) {
            return Some("values on a logarithmic scale are positive".to_owned());
        }
        let is_above = self.minimum.is_none_or(|minimum| minimum < self.start);
        let is_below = self.maximum.is_none_or(|maximum| self.start < maximum);
        (!is_above || !is_below).then(|| "`start` lies between `minimum` and `maximum`".to_owned())
    }

    /// The coordinate of the start value.
    pub(crate) fn first(&self) -> f64 {
        match self.bounds() {
            (Some(least), Some(greatest)) => {
                let share = (self.scaled(self.start) - least) / (greatest - least);
                libm::log(share / (1.0 - share))
            }
            _ => 0.0,
        }
    }

    /// The parameter at a coordinate.
    pub(crate) fn value(&self, z: f64) -> f64 {
        let start = self.scaled(self.start);
        let scaled = match self.bounds() {
            (Some(least), Some(greatest)) => least + (greatest - least) / (1.0 + libm::exp(-z)),
            (Some(least), None) => least + (start - least) * libm::exp(z),
            (None, Some(greatest)) => greatest - (greatest - start) * libm::exp(z),
            (None, None) => start + self.unit() * z,
        };
        if self.is_log {
            libm::exp(scaled)
        } else {
            scaled
        }
    }

    /// The change of the parameter with its coordinate.
    pub(crate) fn slope(&self, z: f64) -> f64 {
        let start = self.scaled(self.start);
        let slope = match self.bounds() {
            (Some(least), Some(greatest)) => {
                let share = 1.0 / (1.0 + libm::exp(-z));
                (greatest - least) * share * (1.0 - share)
            }
            (Some(least), None) => (start - least) * libm::exp(z),
            (None, Some(greatest)) => -(greatest - start) * libm::exp(z),
            (None, None) => self.unit(),
        };
        if self.is_log {
            slope * self.value(z)
        } else {
            slope
        }
    }

    fn bounds(&self) -> (Option<f64>, Option<f64>) {
        (
            self.minimum.map(|value| self.scaled(value)),
            self.maximum.map(|value| self.scaled(value)),
        )
    }

    fn scaled(&self, value: f64) -> f64 {
        if self.is_log { libm::log(value) } else { value }
    }

    /// The change that counts as one, without bounds: by e on a logarithmic scale, else by the start value.
    fn unit(&self) -> f64 {
        if self.is_log || self.start == 0.0 {
            1.0
        } else {
            self.start.abs()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_begin_at_the_start_and_keep_the_bounds() {
        for (minimum, maximum) in [
            (None, None),
            (Some(1.0), None),
            (None, Some(9.0)),
            (Some(1.0), Some(9.0)),
        ] {
            for is_log in [false, true] {
                let parameter = Parameter {
                    key: "a.b".to_owned(),
                    start: 3.0,
                    minimum,
                    maximum,
                    is_log,
                };
                assert_eq!(parameter.fault(), None);
                let first = parameter.first();
                assert!((parameter.value(first) - 3.0).abs() < 1e-14);
                for z in [-30.0, -1.0, 0.3, 2.0, 30.0] {
                    let value = parameter.value(z);
                    assert!(minimum.is_none_or(|minimum| value >= minimum), "{value}");
                    assert!(maximum.is_none_or(|maximum| value <= maximum), "{value}");
                }
                let d = 1e-6;
                let slope = (parameter.value(first + d) - parameter.value(first - d)) / (2.0 * d);
                assert!((parameter.slope(first) / slope - 1.0).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn impossible_values_are_refused() {
        let parameter = |start, minimum, is_log| Parameter {
            key: String::new(),
            start,
            minimum,
            maximum: Some(5.0),
            is_log,
        };
        assert!(parameter(5.0, None, false).fault().is_some());
        assert!(parameter(1.0, Some(1.0), false).fault().is_some());
        assert!(parameter(1.0, Some(-1.0), true).fault().is_some());
        assert!(parameter(f64::NAN, None, false).fault().is_some());
        assert_eq!(parameter(1.0, Some(-1.0), false).fault(), None);
    }
}
