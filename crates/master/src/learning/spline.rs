//! A signal known at points, in hindsight, as one curve between each two of them.

use super::Interpolation;
use crate::curve::Curve;

/// One curve per interval of `points`, (time in s, value), in the time since the interval's start.
/// None for fewer than two points.
pub(super) fn interpolate(points: &[(f64, f64)], interpolation: Interpolation) -> Vec<Curve> {
    let pairs = points.windows(2);
    match interpolation {
        Interpolation::Hold => pairs.map(|pair| Curve::constant(pair[0].1)).collect(),
        Interpolation::Cubic if points.len() > 3 => cubic(points),
        _ => pairs
            .map(|pair| Curve::line(pair[0].1, slope(pair)))
            .collect(),
    }
}

fn slope(pair: &[(f64, f64)]) -> f64 {
    (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0)
}

/// The cubic spline whose third derivative has no jump at the second and the last but one point
/// ("not a knot"): it needs no derivatives at the ends and is exact for cubics.
fn cubic(points: &[(f64, f64)]) -> Vec<Curve> {
    let curvatures = second_derivatives(points);
    let pairs = points.windows(2).zip(curvatures.windows(2));
    pairs
        .map(|(pair, curvature)| {
            let length = pair[1].0 - pair[0].0;
            let start_slope = slope(pair) - length * (2.0 * curvature[0] + curvature[1]) / 6.0;
            let third = (curvature[1] - curvature[0]) / (6.0 * length);
            Curve {
                coefficients: [pair[0].1, start_slope, 0.5 * curvature[0], third],
            }
        })
        .collect()
}

/// Second derivatives at the points: continuity of the slope at each inner point gives a
/// tridiagonal system, from whose first and last row the ends are eliminated.
fn second_derivatives(points: &[(f64, f64)]) -> Vec<f64> {
    let last = points.len() - 1;
    let length = |interval: usize| points[interval + 1].0 - points[interval].0;
    let slope = |interval: usize| slope(&points[interval..interval + 2]);
    let (first_ratio, last_ratio) = (length(0) / length(1), length(last - 1) / length(last - 2));
    let mut curvatures = vec![0.0; points.len()];
    let mut upper = vec![0.0; points.len()];
    for inner in 1..last {
        let (before, after) = (length(inner - 1), length(inner));
        let (mut low, mut diagonal, mut high) = (before, 2.0 * (before + after), after);
        if inner == 1 {
            diagonal += before * (1.0 + first_ratio);
            high -= before * first_ratio;
            low = 0.0;
        }
        if inner == last - 1 {
            diagonal += after * (1.0 + last_ratio);
            low -= after * last_ratio;
            high = 0.0;
        }
        let pivot = diagonal - low * upper[inner - 1];
        upper[inner] = high / pivot;
        curvatures[inner] =
            (6.0 * (slope(inner) - slope(inner - 1)) - low * curvatures[inner - 1]) / pivot;
    }
    for inner in (1..last - 1).rev() {
        curvatures[inner] -= upper[inner] * curvatures[inner + 1];
    }
    curvatures[0] = curvatures[1] - first_ratio * (curvatures[2] - curvatures[1]);
    curvatures[last] =
        curvatures[last - 1] + last_ratio * (curvatures[last - 1] - curvatures[last - 2]);
    curvatures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(times: &[f64], signal: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        times.iter().map(|&time| (time, signal(time))).collect()
    }

    /// Greatest error over the intervals.
    fn error(points: &[(f64, f64)], how: Interpolation, signal: impl Fn(f64) -> f64) -> f64 {
        let curves = interpolate(points, how);
        assert_eq!(curves.len(), points.len() - 1);
        let pairs = points.windows(2).zip(&curves);
        let errors = pairs.flat_map(|(pair, curve)| {
            let signal = &signal;
            (0..=10).map(move |part| {
                let since = (pair[1].0 - pair[0].0) * f64::from(part) / 10.0;
                (curve.at(since) - signal(pair[0].0 + since)).abs()
            })
        });
        errors.fold(0.0, f64::max)
    }

    // Closed form: the not-a-knot spline of a cubic is the cubic.
    #[test]
    fn a_spline_of_a_cubic_is_the_cubic() {
        let cubic = |t: f64| 1.0 - 2.0 * t + 0.5 * t * t - 3.0 * t * t * t;
        let times = [0.0, 0.4, 0.7, 1.0, 1.1, 1.8, 1.9];
        for count in 4..=times.len() {
            let points = points(&times[..count], cubic);
            assert!(error(&points, Interpolation::Cubic, cubic) < 1e-13);
        }
    }

    // The error falls with h⁴, with h² for straight lines and with h if the value is held.
    #[test]
    fn errors_fall_with_the_order() {
        let grid = |count: usize| -> Vec<f64> {
            (0..=count).map(|k| k as f64 * 2.0 / count as f64).collect()
        };
        for (how, order) in [
            (Interpolation::Hold, 1),
            (Interpolation::Linear, 2),
            (Interpolation::Cubic, 4),
        ] {
            let [coarse, fine] =
                [50, 100].map(|count| error(&points(&grid(count), f64::sin), how, f64::sin));
            let ratio = coarse / fine / f64::from(1 << order);
            assert!((0.8..1.25).contains(&ratio), "{how:?}: {ratio}");
        }
    }

    #[test]
    fn few_points_are_joined_by_lines() {
        let three = points(&[0.0, 1.0, 3.0], |t| t * t);
        let curves = interpolate(&three, Interpolation::Cubic);
        assert_eq!(curves, [Curve::line(0.0, 1.0), Curve::line(1.0, 4.0)]);
        assert!(interpolate(&three[..1], Interpolation::Cubic).is_empty());
    }
}
