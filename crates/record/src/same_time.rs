//! Times that differ by rounding.

/// Whether two times are the same but for rounding, where communication points or rows are `step`
/// apart: they differ by at most a millionth of it, or by the resolution of a double at late times.
///
/// A tool that sums up n steps of size h misses n·h by at most n²·ε/4·h with ε = 2⁻⁵², a millionth of a
/// step after 130 000 steps. Seconds since 1970 have a resolution of 0.24 µs.
#[must_use]
pub fn is_same_time(a: f64, b: f64, step: f64) -> bool {
    const PART_OF_STEP: f64 = 1e-6;
    (a - b).abs() <= PART_OF_STEP * step + f64::EPSILON * a.abs().min(b.abs())
}

#[cfg(test)]
mod tests {
    use super::is_same_time;

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
