//! The band in which fmi-cross-check accepts a signal, as FMPy 0.3 draws it.
//!
//! The reference is resampled to 1000 points, its extremes within 20 of them make a band, and a
//! tenth of its range is added on both sides. It is very wide: an offset of a tenth, or a delay of
//! a hundredth of the run, stays within.

/// Points of the band.
const POINTS: usize = 1000;
/// Points before and after each one whose extremes count.
const BEFORE: usize = 10;
const AFTER: usize = 9;
/// Part of the range that is added on both sides.
const MARGIN: f64 = 0.1;
/// By how much equal times are taken apart, s.
const EVENT_GAP: f64 = 1e-13;

/// The share of samples of a signal that lie outside of the band around a reference. All slices
/// hold a time, s, and a value for each sample; times do not decrease.
///
/// `is_continuous`: the reference is on the straight line between its samples; otherwise it has
/// the value of the sample before.
#[must_use]
pub fn outliers(
    (time, values): (&[f64], &[f64]),
    (reference_time, reference): (&[f64], &[f64]),
    is_continuous: bool,
) -> f64 {
    let (Some(first), Some(last)) = (reference_time.first(), reference_time.last()) else {
        return 0.0;
    };
    if time.is_empty() {
        return 1.0;
    }
    let times = strictly_increasing(reference_time);
    let grid: Vec<f64> = (0..POINTS)
        .map(|point| first + (last - first) * point as f64 / (POINTS - 1) as f64)
        .collect();
    let resampled: Vec<f64> = grid
        .iter()
        .map(|time| {
            if is_continuous {
                interpolated(&times, reference, *time)
            } else {
                held(&times, reference, *time)
            }
        })
        .collect();
    let (lower, upper) = band(&resampled);
    let is_outside = |(time, value): (&f64, &f64)| {
        let is_within_time = *time > *first && *time < *last;
        let is_within = *value >= interpolated(&grid, &lower, *time)
            && *value <= interpolated(&grid, &upper, *time);
        is_within_time && !is_within
    };
    let outside = time
        .iter()
        .zip(values)
        .filter(|sample| is_outside(*sample))
        .count();
    outside as f64 / time.len() as f64
}

fn band(values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (lowest, highest) = (least(values), most(values));
    let margin = if lowest < highest {
        (highest - lowest) * MARGIN
    } else if lowest == 0.0 {
        0.5
    } else {
        lowest.abs() * MARGIN
    };
    let around = |point: usize| {
        let end = values.len().min(point + AFTER + 1);
        &values[point.saturating_sub(BEFORE)..end]
    };
    let points = 0..values.len();
    (
        points
            .clone()
            .map(|point| least(around(point)) - margin)
            .collect(),
        points.map(|point| most(around(point)) + margin).collect(),
    )
}

fn strictly_increasing(time: &[f64]) -> Vec<f64> {
    let mut times = time.to_vec();
    for row in 1..times.len() {
        if times[row] <= times[row - 1] {
            // Late times are further apart than the gap.
            times[row] = (times[row - 1] + EVENT_GAP).max(times[row - 1].next_up());
        }
    }
    times
}

/// The row at or before `now`, the first one before it all.
fn row(time: &[f64], now: f64) -> usize {
    time.partition_point(|time| *time <= now).saturating_sub(1)
}

fn held(time: &[f64], values: &[f64], now: f64) -> f64 {
    values[row(time, now)]
}

fn interpolated(time: &[f64], values: &[f64], now: f64) -> f64 {
    let row = row(time, now);
    let (Some(next), Some(end)) = (values.get(row + 1), time.get(row + 1)) else {
        return values[row];
    };
    if now <= time[row] {
        return values[row];
    }
    let fraction = (now - time[row]) / (end - time[row]);
    values[row] + fraction * (next - values[row])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: [f64; 101] = {
        let mut time = [0.0; 101];
        let mut row = 0;
        while row < time.len() {
            time[row] = row as f64 / 100.0;
            row += 1;
        }
        time
    };

    fn share(signal: impl Fn(f64) -> f64, reference: impl Fn(f64) -> f64) -> f64 {
        let values = TIME.map(signal);
        let expected = TIME.map(reference);
        outliers((&TIME, &values), (&TIME, &expected), true)
    }

    #[test]
    fn the_reference_itself_is_within() {
        assert_eq!(share(f64::sin, f64::sin), 0.0);
    }

    #[test]
    fn the_margin_is_a_tenth_of_the_range_or_of_a_constant() {
        // Closed form: a ramp from 0 to 1; the extremes of 10 of 1000 points add at most 0.01.
        assert_eq!(share(|t| t + 0.1, |t| t), 0.0);
        assert!(share(|t| t + 0.12, |t| t) > 0.8);
        assert_eq!(share(|_| 2.19, |_| 2.0), 0.0);
        // The first and the last sample do not count: 99 of 101.
        assert_eq!(share(|_| 2.21, |_| 2.0), 99.0 / 101.0);
        assert_eq!(share(|_| 0.49, |_| 0.0), 0.0);
        assert_eq!(share(|_| 0.51, |_| 0.0), 99.0 / 101.0);
    }

    #[test]
    fn nan_is_outside() {
        assert_eq!(share(|_| f64::NAN, f64::sin), 99.0 / 101.0);
    }

    #[test]
    fn events_are_taken_apart() {
        let (time, values) = ([0.0, 0.5, 0.5, 1.0], [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(outliers((&time, &values), (&time, &values), true), 0.0);
        assert_eq!(outliers((&time, &values), (&time, &values), false), 0.0);
        // At 1e6 s doubles are 1e-10 apart.
        let late = time.map(|time| time + 1e6);
        assert_eq!(outliers((&late, &values), (&late, &values), true), 0.0);
    }

    #[test]
    fn figures_of_fmpy() {
        // FMPy 0.3.32, util.validate_signal, of the same samples.
        let wave = |t: f64| (6.0 * t).sin();
        assert_eq!(share(|t| 1.3 * wave(t), wave), 45.0 / 101.0);
        assert_eq!(share(|t| wave(t + 0.05), wave), 35.0 / 101.0);
        assert_eq!(share(|t| t + 0.12, |t| t), 99.0 / 101.0);
    }
}
