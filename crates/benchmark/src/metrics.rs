//! How far a run is from the exact solution.

use crate::row::Metric;

/// Error of the energy at the end of the run.
pub(crate) const ENERGY_END: Metric = Metric::error("E_end", "J");
/// Greatest magnitude of the energy's error.
pub(crate) const ENERGY_MAX: Metric = Metric::greatest_error("E_max", "J");
/// Mean of the energy's error over the last second.
pub(crate) const ENERGY_LAST: Metric = Metric::error("E_last", "J");

/// Errors of the energy at the end, greatest, mean over the last second.
pub(crate) fn energy_metrics(times: &[f64], errors: &[f64]) -> [f64; 3] {
    let end = errors.last().copied().unwrap_or(f64::NAN);
    let greatest = errors
        .iter()
        .fold(0.0, |greatest: f64, error| greatest.max(error.abs()));
    let last_second = times.last().map_or(0.0, |stop| stop - 1.0 - 1e-9);
    let last: Vec<f64> = times
        .iter()
        .zip(errors)
        .filter(|(time, _)| **time >= last_second)
        .map(|(_, error)| *error)
        .collect();
    // A maximum does not see NaN.
    let greatest = if errors.iter().all(|error| error.is_finite()) {
        greatest
    } else {
        f64::NAN
    };
    [end, greatest, last.iter().sum::<f64>() / last.len() as f64]
}

/// Root mean square.
pub(crate) fn rms(errors: impl Iterator<Item = f64>) -> f64 {
    let (count, squares) = errors.fold((0.0, 0.0), |(count, sum), error| {
        (count + 1.0, sum + error * error)
    });
    (squares / count).sqrt()
}

/// Greatest magnitude; infinite if something is not a number, which a maximum does not see.
pub(crate) fn greatest(values: impl Iterator<Item = f64>) -> f64 {
    values
        .map(or_infinite)
        .fold(0.0, |greatest, value| greatest.max(value.abs()))
}

/// Greatest distance of a variable's course from another one, over the greatest magnitude of the
/// other; infinite if something is not a number or one course is longer.
pub(crate) fn distance<const N: usize>(
    course: &[[f64; N]],
    other: &[[f64; N]],
    variable: usize,
) -> f64 {
    if course.len() != other.len() {
        return f64::INFINITY;
    }
    let size = greatest(other.iter().map(|point| point[variable]));
    let pairs = course.iter().zip(other);
    or_infinite(greatest(pairs.map(|(one, other)| one[variable] - other[variable])) / size)
}

/// Root mean square of the error of a variable over the range of the reference (Chen et al. 2021,
/// eq. 15); infinite if something is not a number or one course is longer.
pub(crate) fn nrms<const N: usize>(
    course: &[[f64; N]],
    reference: &[[f64; N]],
    variable: usize,
) -> f64 {
    if course.len() != reference.len() {
        return f64::INFINITY;
    }
    let values = || reference.iter().map(|point| point[variable]);
    let range = values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min);
    let pairs = course.iter().zip(values());
    or_infinite(rms(pairs.map(|(point, value)| point[variable] - value)) / range)
}

/// The number, or infinity for NaN, in which an overflow ends.
fn or_infinite(number: f64) -> f64 {
    if number.is_nan() {
        f64::INFINITY
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_second_has_both_its_ends() {
        let times: Vec<f64> = (0..=40).map(|k| f64::from(k) * 0.1).collect();
        let errors: Vec<f64> = times
            .iter()
            .map(|time| if *time > 2.95 { 2.0 } else { -3.0 })
            .collect();
        assert_eq!(energy_metrics(&times, &errors), [2.0, 3.0, 2.0]);
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        let [_, greatest, _] = energy_metrics(&[0.0, 1.0, 2.0], &[0.0, f64::NAN, 1.0]);
        assert!(greatest.is_nan());
    }

    #[test]
    fn courses_are_compared_by_range_and_by_size() {
        let reference = [[0.0, -2.0], [0.0, 0.0], [0.0, 4.0], [0.0, 0.0]];
        let course = [[0.0, -2.0], [0.0, 3.0], [0.0, 4.0], [0.0, 0.0]];
        assert_eq!(nrms(&course, &reference, 1), 1.5 / 6.0);
        assert_eq!(distance(&course, &reference, 1), 0.75);
        assert_eq!(distance(&reference, &reference, 1), 0.0);
    }

    #[test]
    fn courses_that_cannot_be_compared_are_infinitely_far_apart() {
        let reference = [[1.0], [2.0]];
        for course in [
            &[[1.0], [f64::NAN]][..],
            &[[1.0], [f64::INFINITY]],
            &[[1.0]],
        ] {
            assert_eq!(nrms(course, &reference, 0), f64::INFINITY);
            assert_eq!(distance(course, &reference, 0), f64::INFINITY);
        }
        let infinite = [[1.0], [f64::INFINITY]];
        assert_eq!(distance(&infinite, &infinite, 0), f64::INFINITY);
    }

    #[test]
    fn root_mean_square() {
        assert_eq!(rms([3.0, 4.0, 0.0, 5.0].into_iter()), 12.5_f64.sqrt());
    }
}
