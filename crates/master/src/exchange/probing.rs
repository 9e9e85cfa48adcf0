//! The points of a central difference: within the legal range of an input, and as far apart as its
//! magnitude asks for.

use crate::unit::Variable;

/// Half the width h of a difference, relative to the magnitude of the variable. The error of a central
/// difference, h² of truncation and ε/h of rounding, is least at ε^(1/3) ≈ 6e-6 (Press et al.,
/// Numerical Recipes, §5.7); a little less stays nearer to the present point: 1e-12 and 2e-10.
const RELATIVE: f64 = 1e-6;

/// A central difference about the value of a real variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CentralDifference {
    middle: f64,
    size: f64,
    range: (f64, f64),
}

impl CentralDifference {
    /// About `value`, with room for `widest` times its size on both sides: near the end of the range
    /// the middle moves, in a narrow range the size shrinks.
    pub(crate) fn about(value: f64, variable: &Variable, widest: f64) -> Self {
        let (min, max) = variable.range;
        let room = ((max - min) / (2.0 * widest)).max(0.0);
        let size = (RELATIVE * variable.magnitude(value)).min(room);
        let middle = value.min(max - widest * size).max(min + widest * size);
        Self {
            middle,
            size,
            range: variable.range,
        }
    }

    /// The point above and the point below, with `times` the size.
    pub(crate) fn points(&self, times: f64) -> [f64; 2] {
        let (min, max) = self.range;
        let size = times * self.size;
        [(self.middle + size).min(max), (self.middle - size).max(min)]
    }

    /// The derivative, from the change between the points; 0 where the range leaves one value only.
    pub(crate) fn derivative(&self, change: f64, times: f64) -> f64 {
        if self.size == 0.0 {
            return 0.0;
        }
        change / (2.0 * (times * self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Causality;

    fn input(nominal: Option<f64>, range: (f64, f64)) -> Variable {
        Variable {
            nominal,
            range,
            ..Variable::real("u", 0, Causality::Input)
        }
    }

    const ALL: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    #[test]
    fn the_width_follows_the_value_and_the_nominal_value() {
        for (value, nominal, size) in [
            (0.0, None, 1e-6),
            (-20.0, None, 2e-5),
            (0.0, Some(1e5), 0.1),
            (0.0, Some(1e-4), 1e-10),
            (3e5, Some(1e5), 0.3),
            // None of these is a magnitude.
            (0.0, Some(0.0), 1e-6),
            (0.0, Some(f64::INFINITY), 1e-6),
            (0.0, Some(f64::NAN), 1e-6),
        ] {
            let difference = CentralDifference::about(value, &input(nominal, ALL), 10.0);
            let [above, below] = difference.points(1.0);
            assert!(
                ((above - below) / (2.0 * size) - 1.0).abs() < 1e-6,
                "{value}, {nominal:?}: {above} to {below}"
            );
            assert!((above + below - 2.0 * value).abs() <= 1e-9 * value.abs());
        }
    }

    #[test]
    fn no_point_leaves_the_range() {
        for (value, range) in [
            (1.0, (0.0, 1.0)),
            (0.0, (0.0, f64::INFINITY)),
            (0.5, (0.5, 0.5)),
            (0.3, (0.3, 0.3 + 1e-9)),
            (0.0, (-1e-7, 1e-7)),
            (2.0, (0.0, 1.0)),
            (1.0, (2.0, 1.0)),
        ] {
            let variable = input(Some(10.0), range);
            let difference = CentralDifference::about(value, &variable, 10.0);
            for times in [1.0, 10.0] {
                let [above, below] = difference.points(times);
                if range.0 <= range.1 {
                    assert!(range.0 <= below && below <= above && above <= range.1);
                }
                let slope = difference.derivative(3.0 * (above - below), times);
                assert!(slope.is_finite(), "{value} in {range:?}");
            }
        }
    }

    #[test]
    fn the_middle_leaves_an_end_of_the_range_by_the_widest_difference() {
        for (value, middle) in [(0.0, 1e-4), (0.5, 0.5), (1.0, 1.0 - 1e-4)] {
            let variable = input(Some(10.0), (0.0, 1.0));
            let difference = CentralDifference::about(value, &variable, 10.0);
            let [above, below] = difference.points(1.0);
            assert!((0.5 * (above + below) - middle).abs() < 1e-12, "{value}");
        }
    }

    /// In a narrow range, too, which leaves less room than the magnitude asks for.
    #[test]
    fn the_derivative_of_a_line_is_its_slope() {
        for width in [1.0, 1e-5] {
            for value in [0.0, 0.5 * width, width] {
                let variable = input(Some(10.0), (0.0, width));
                let difference = CentralDifference::about(value, &variable, 10.0);
                for times in [1.0, 10.0] {
                    let [above, below] = difference.points(times);
                    let slope = difference.derivative(3.0 * above - 3.0 * below, times);
                    assert!((slope - 3.0).abs() < 1e-8, "{slope} at {value} of {width}");
                }
            }
        }
    }
}
