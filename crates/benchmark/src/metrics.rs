//! How far a run is from the exact solution.

use crate::row::Metric;

/// Error of the energy at the end of the run.
pub(crate) const ENERGY_END: Metric = Metric::error("E_end", "J");
/// Greatest magnitude of the energy's error.
pub(crate) const ENERGY_MAX: Metric = Metric::error("E_max", "J");
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
    fn root_mean_square() {
        assert_eq!(rms([3.0, 4.0, 0.0, 5.0].into_iter()), 12.5_f64.sqrt());
    }
}
