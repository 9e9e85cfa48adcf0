//! Values of a column between its rows, and times that are the same but for rounding.

/// How a column continues between two rows. Of rows with one time, the last one counts at that time:
/// they are a jump. Before the first row the column has its first value, after the last row its last
/// one. A time that misses a row by rounding is the row's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// On the straight line from row to row.
    Linear,
    /// The value of the row before.
    Hold,
    /// The value of the row after.
    Next,
}

impl Interpolation {
    /// The value of a column at the time `now`, s. `time` never decreases and is as long as the
    /// column.
    ///
    /// # Panics
    /// If the column has no rows.
    #[must_use]
    pub fn value(self, time: &[f64], column: &[f64], now: f64) -> f64 {
        let (row, fraction) = row_at(time, now);
        let is_after_row = || !is_same_time(time[row], now, time[row + 1] - time[row]);
        match self {
            Self::Linear if fraction > 0.0 => {
                column[row] + fraction * (column[row + 1] - column[row])
            }
            Self::Next if fraction > 0.0 && is_after_row() => column[row + 1],
            _ => column[row],
        }
    }
}

/// The row at or before `now`, and how far it is to the next one, 0 ≤ f < 1. Of rows with the same
/// time, the last one counts. A time that misses the next row by rounding is taken as that row's.
#[must_use]
pub fn row_at(time: &[f64], now: f64) -> (usize, f64) {
    let next = time.partition_point(|row| *row <= now);
    let Some(row) = next.checked_sub(1) else {
        return (0, 0.0);
    };
    let Some(end) = time.get(next) else {
        return (row, 0.0);
    };
    let step = end - time[row];
    if is_same_time(now, *end, step) {
        let last = time.partition_point(|row| row <= end) - 1;
        return (last, 0.0);
    }
    (row, (now - time[row]) / step)
}

/// Whether two times are the same but for rounding, for communication points or rows that are `step`
/// apart. They differ by at most a millionth of it, or by the resolution of a double at late times.
///
/// A tool that sums up n steps of size h misses n·h by at most n²·ε/4·h with ε = 2⁻⁵². That is a millionth of a
/// step after 130 000 steps. Seconds since 1970 have a resolution of 0.24 µs.
#[must_use]
pub fn is_same_time(a: f64, b: f64, step: f64) -> bool {
    const PART_OF_STEP: f64 = 1e-6;
    (a - b).abs() <= PART_OF_STEP * step + f64::EPSILON * a.abs().min(b.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: [f64; 4] = [1.0, 2.0, 2.0, 4.0];
    const COLUMN: [f64; 4] = [0.0, 2.0, 5.0, 6.0];

    #[test]
    fn between_rows_at_jumps_and_outside() {
        for (interpolation, expected) in [
            (Interpolation::Linear, [0.0, 1.0, 1.8, 5.0, 5.0, 5.5, 6.0]),
            (Interpolation::Hold, [0.0, 0.0, 0.0, 5.0, 5.0, 5.0, 6.0]),
            (Interpolation::Next, [0.0, 2.0, 2.0, 5.0, 5.0, 6.0, 6.0]),
        ] {
            let times = [0.0, 1.5, 1.9, 2.0 - 1e-12, 2.0, 3.0, 9.0];
            for (now, expected) in times.into_iter().zip(expected) {
                let found = interpolation.value(&TIME, &COLUMN, now);
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{interpolation:?} at {now}: {found}"
                );
            }
        }
        let late = 2.0 + 1e-12;
        assert_eq!(Interpolation::Next.value(&TIME, &COLUMN, late), 5.0);
        // Neighbouring doubles are one time if they are far from zero: here 0.24 µs apart.
        let rows = [1.7e9_f64, 1.7e9 + 1e-3, 1.7e9 + 2e-3];
        for now in [rows[1].next_down(), rows[1], rows[1].next_up()] {
            for interpolation in [Interpolation::Hold, Interpolation::Next] {
                assert_eq!(interpolation.value(&rows, &[0.0, 1.0, 2.0], now), 1.0);
            }
        }
    }

    #[test]
    fn summed_times_are_those_that_are_computed() {
        let (step, count) = (1e-3, 130_000);
        let summed = (0..count).fold(0.0, |time, _| time + step);
        let computed = f64::from(count) * step;
        assert!(summed != computed && is_same_time(summed, computed, step));
        assert!(!is_same_time(computed, computed + 1e-5 * step, step));
        // 1.7e9 is some 54 years after 1970, and its neighbour 0.24 µs later.
        let late = 1.7e9_f64;
        assert!(is_same_time(late, late.next_up(), step));
        assert!(!is_same_time(late, late + 1e-6, step));
        assert!(
            !is_same_time(late, f64::INFINITY, step) && !is_same_time(-f64::INFINITY, 0.0, step)
        );
        assert!(!is_same_time(f64::NAN, 0.0, step) && is_same_time(0.5, 0.5, 0.0));
    }
}
