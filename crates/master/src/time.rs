//! Integer time: a communication point is computed from a count of ticks, never accumulated.

/// A point in time or a duration, as a whole number of ticks of a [`Clock`].
pub type Ticks = i64;

/// Ticks to one macro-step before the components' rates are known. A variable step is a whole
/// number of these, which resolves it to a millionth.
const TICKS_PER_STEP: Ticks = 1 << 20;

/// Turns ticks into seconds, `t = t0 + k·h` with one multiplication (C-34).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    start: f64,
    step: f64,
    ticks_per_step: Ticks,
}

impl Clock {
    /// A clock that starts at `start` (s), counts macro-steps of `step` (s), and has a tick that
    /// divides a macro-step into each of `divisions` equal parts.
    ///
    /// Returns `None` if the divisions have no common multiple of a practicable size.
    pub fn new(start: f64, step: f64, divisions: impl IntoIterator<Item = u32>) -> Option<Self> {
        let multiple = divisions
            .into_iter()
            .try_fold(1_i64, |multiple, division| {
                least_common_multiple(multiple, i64::from(division.max(1)))
                    .filter(|m| *m < (1 << 24))
            })?;
        Some(Self {
            start,
            step,
            ticks_per_step: TICKS_PER_STEP * multiple,
        })
    }

    /// Ticks of one macro-step of the size that the clock was made with.
    pub fn ticks_per_step(&self) -> Ticks {
        self.ticks_per_step
    }

    /// The ticks of a step must be a multiple of this, so that the components' parts of it are whole.
    pub fn grain(&self) -> Ticks {
        self.ticks_per_step / TICKS_PER_STEP
    }

    /// Seconds at `ticks` after the start. Whole macro-steps are exact: `t0 + k·h`, rounded once each.
    #[inline]
    pub fn seconds(&self, ticks: Ticks) -> f64 {
        self.start + self.duration(ticks)
    }

    /// Seconds at the end of `steps` whole macro-steps: the result of [`seconds`](Self::seconds)
    /// for their ticks, without its division.
    #[inline]
    pub fn seconds_after(&self, steps: u64) -> f64 {
        // Signed numbers are converted by one instruction.
        self.start + steps.cast_signed() as f64 * self.step
    }

    /// Seconds that `ticks` last.
    #[inline]
    pub fn duration(&self, ticks: Ticks) -> f64 {
        (ticks as f64 / self.ticks_per_step as f64) * self.step
    }

    /// Whether `ticks` last so many seconds, but for rounding.
    #[inline]
    pub(crate) fn is_duration(&self, ticks: Ticks, seconds: f64) -> bool {
        // Nearly always it is a macro-step, which needs no division.
        let is_macro_step = ticks == self.ticks_per_step && seconds == self.step;
        let rounding = 4.0 * f64::EPSILON * seconds;
        is_macro_step || (seconds - self.duration(ticks)).abs() <= rounding
    }

    /// The number of ticks nearest to `seconds`, a duration.
    pub fn ticks(&self, seconds: f64) -> Ticks {
        (seconds / self.step * self.ticks_per_step as f64).round() as Ticks
    }

    /// The number of ticks until `time`, s: whole macro-steps if it is their communication point but for rounding.
    pub fn ticks_until(&self, time: f64) -> Ticks {
        let duration = time - self.start;
        let steps = (duration / self.step).round();
        let point = self.start + steps * self.step;
        let is_same = (point - time).abs() <= rounding(time.abs().max(self.start.abs()));
        if steps >= 1.0 && is_same {
            return (steps as Ticks).saturating_mul(self.ticks_per_step);
        }
        self.ticks(duration)
    }

    /// Start time, s.
    pub fn start(&self) -> f64 {
        self.start
    }
}

/// By how much two ways to compute a time may differ, s: the distance to the next double, or up to twice that.
pub(crate) fn rounding(time: f64) -> f64 {
    f64::EPSILON * time.abs()
}

fn least_common_multiple(a: i64, b: i64) -> Option<i64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

/// Macro-steps from one point that two rates share to the next; as many as the type holds if
/// there are more, which no run reaches.
pub(crate) fn common_macro_steps(a: u32, b: u32) -> u32 {
    let multiple = least_common_multiple(i64::from(a), i64::from(b));
    multiple
        .and_then(|multiple| u32::try_from(multiple).ok())
        .unwrap_or(u32::MAX)
}

/// How often a component communicates, relative to the macro-step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// `n` communication steps to one macro-step.
    Divides(u32),
    /// One communication step to `n` macro-steps.
    Multiple(u32),
}

impl Rate {
    /// The rate of a component with communication step `step` under the macro-step `macro_step`.
    ///
    /// # Errors
    /// The nearest steps that do divide or are a multiple, if neither holds to a part in 10⁹.
    pub fn new(step: f64, macro_step: f64) -> Result<Self, [f64; 2]> {
        let whole =
            |ratio: f64| (ratio - ratio.round()).abs() <= 1e-9 * ratio && ratio.round() <= 1e6;
        let (divisions, multiple) = (macro_step / step, step / macro_step);
        if divisions >= 1.0 - 1e-9 {
            if whole(divisions) {
                return Ok(Self::Divides(divisions.round() as u32));
            }
            let below = divisions.floor().max(1.0);
            return Err([macro_step / (below + 1.0), macro_step / below]);
        }
        if whole(multiple) {
            return Ok(Self::Multiple(multiple.round() as u32));
        }
        Err([macro_step * multiple.floor(), macro_step * multiple.ceil()])
    }

    /// Communication steps in one macro-step; 1 for a slow component.
    pub fn substeps(self) -> u32 {
        match self {
            Self::Divides(n) => n,
            Self::Multiple(_) => 1,
        }
    }

    /// Macro-steps in one communication step; 1 for a fast component.
    pub fn every(self) -> u32 {
        match self {
            Self::Divides(_) => 1,
            Self::Multiple(n) => n,
        }
    }

    /// Communication step over macro-step.
    pub fn ratio(self) -> f64 {
        f64::from(self.every()) / f64::from(self.substeps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macro_steps_are_exact_multiples() {
        let clock = Clock::new(0.5, 0.01, [3, 10]).unwrap();
        for k in [1, 10, 997, 1_000_000] {
            assert_eq!(
                clock.seconds(k * clock.ticks_per_step()),
                0.5 + k as f64 * 0.01
            );
        }
    }

    #[test]
    fn rates_that_do_not_divide_name_their_neighbours() {
        assert_eq!(Rate::new(1e-4, 1e-3), Ok(Rate::Divides(10)));
        assert_eq!(Rate::new(1e-2, 1e-3), Ok(Rate::Multiple(10)));
        assert_eq!(Rate::new(1e-3, 1e-3), Ok(Rate::Divides(1)));
        let [below, above] = Rate::new(3e-4, 1e-3).unwrap_err();
        assert!((below - 2.5e-4).abs() < 1e-12 && (above - 1e-3 / 3.0).abs() < 1e-12);
        assert!(Rate::new(2.5e-3, 1e-3).is_err());
    }

    #[test]
    fn rates_without_a_small_common_multiple_do_not_overflow() {
        assert_eq!(common_macro_steps(4, 6), 12);
        assert_eq!(common_macro_steps(999_983, 1_000_003), u32::MAX);
    }

    #[test]
    fn ticks_and_seconds_agree() {
        let clock = Clock::new(0.5, 0.01, [4, 6]).unwrap();
        assert_eq!(clock.start(), 0.5);
        // Twelve parts make quarters and sixths whole.
        assert_eq!(clock.grain(), 12);
        assert_eq!(clock.ticks_per_step() % 12, 0);
        for (ticks, seconds) in [
            (0, 0.0),
            (clock.ticks_per_step() / 4, 0.0025),
            (3 * clock.ticks_per_step(), 0.03),
        ] {
            assert_eq!(clock.ticks(seconds), ticks);
            assert!((clock.duration(ticks) - seconds).abs() <= f64::EPSILON * seconds);
            assert!((clock.seconds(ticks) - (0.5 + seconds)).abs() <= f64::EPSILON);
        }
        for steps in [0, 1, 997, 1_000_000] {
            let ticks = clock.ticks_per_step() * steps as Ticks;
            assert_eq!(clock.seconds_after(steps), clock.seconds(ticks));
        }
    }

    /// 1.7e9 s has a resolution of 0.24 µs, far more than a millionth of these macro-steps.
    #[test]
    fn late_communication_points_are_whole_macro_steps_after_the_start() {
        let clock = Clock::new(1.7e9, 1e-3, []).unwrap();
        for steps in [1, 100, 10_100, 123_457] {
            let point = clock.seconds_after(steps);
            for time in [point.next_down(), point, point.next_up()] {
                let ticks = clock.ticks_per_step() * steps as Ticks;
                assert_eq!(clock.ticks_until(time), ticks, "{time}");
            }
        }
        assert_eq!(clock.ticks_until(1.7e9 + 0.5), 500 * clock.ticks_per_step());
        let between = clock.ticks_until(1.7e9 + 0.5e-3);
        assert!((between - clock.ticks_per_step() / 2).abs() < clock.ticks_per_step() / 1000);
    }

    #[test]
    fn a_duration_is_known_but_for_rounding() {
        let clock = Clock::new(0.0, 1e-3, []).unwrap();
        let step = clock.ticks_per_step();
        assert!(clock.is_duration(step, 1e-3));
        assert!(clock.is_duration(step / 2, 0.5e-3 * (1.0 + f64::EPSILON)));
        assert!(!clock.is_duration(step / 2, 0.5e-3 * (1.0 + 1e-14)));
        assert!(!clock.is_duration(step / 2, 1e-3));
        assert!(!clock.is_duration(step, 0.5e-3));
        assert!(!clock.is_duration(step, -1e-3));
    }

    #[test]
    fn rates_count_steps_on_both_sides_of_the_macro_step() {
        let [fast, slow] = [Rate::Divides(4), Rate::Multiple(5)];
        assert_eq!((fast.substeps(), fast.every(), fast.ratio()), (4, 1, 0.25));
        assert_eq!((slow.substeps(), slow.every(), slow.ratio()), (1, 5, 5.0));
    }

    #[test]
    fn rates_are_whole_to_a_part_in_a_thousand_million() {
        let [below, above] = Rate::new(2.5e-3, 1e-3).unwrap_err();
        assert!((below - 2e-3).abs() < 1e-15 && (above - 3e-3).abs() < 1e-15);
        let [below, above] = Rate::new(0.7e-3, 1e-3).unwrap_err();
        assert!((below - 0.5e-3).abs() < 1e-15 && (above - 1e-3).abs() < 1e-15);
        for (exponent, is_whole) in [(1e-10, true), (1e-8, false)] {
            for factor in [1.0 + exponent, 1.0 - exponent] {
                assert_eq!(Rate::new(1e-3 * factor, 1e-2).is_ok(), is_whole);
                assert_eq!(Rate::new(1e-2 * factor, 1e-3).is_ok(), is_whole);
                assert_eq!(Rate::new(1e-3 * factor, 1e-3).is_ok(), is_whole);
            }
        }
        assert_eq!(Rate::new(1e-6, 1.0), Ok(Rate::Divides(1_000_000)));
        assert!(Rate::new(0.5e-6, 1.0).is_err());
    }

    #[test]
    fn divisions_without_a_small_common_multiple_are_refused() {
        assert!(Clock::new(0.0, 1.0, [9973, 9967, 9949]).is_none());
        // 2²⁴, the first size that is too great.
        assert!(Clock::new(0.0, 1.0, [1 << 23]).is_some());
        assert!(Clock::new(0.0, 1.0, [1 << 24]).is_none());
    }
}
