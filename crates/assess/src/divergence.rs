//! Whether a run diverges by its coupling: the decision after a second run at half of every communication step.
//!
//! The command line verifies with it what one run makes suspicious, and the doctor what its probes show. It makes no runs.
//!
//! Growth that goes away at half the step cannot be the rule: of 433 explosions 353 also explode at half the step, some of
//! them faster. So the rule looks at the difference of the two runs. Its thresholds were found on 770 clear explosions and
//! 1873 healthy runs of 150 to 6000 steps: linear, cubic, contact, friction, noise, self-exciting, chaos, late steps.
//! Truth was a Runge-Kutta run of the whole system. Of the explosions 745 were found, and 25 could not be told. No healthy
//! run was called diverging, and 7 could not be told.

use crate::size::{greatest, range, rms};

/// An estimated error of so many ranges diverges if it still grows.
const GROWING_ERROR: f64 = 3.0;
/// The same, if it does not grow any more.
const ANY_ERROR: f64 = 10.0;
/// A difference of so many times the smaller of the two ranges diverges, if it grows and the run has grown twofold.
const BEYOND_RANGE: f64 = 10.0;
/// A difference of so many smaller ranges counts also if it does not grow.
const FAR_BEYOND_RANGE: f64 = 1e3;
/// The growth of the run's own range that [`BEYOND_RANGE`] asks for.
const OWN_GROWTH: f64 = 2.0;
/// Errors from so much of the range on are in doubt if they grow or stay: below one range.
const DOUBTFUL: f64 = 0.8;
/// Errors from so much of the range on are in doubt in any case: twice the range.
const DOUBTFUL_ANYWAY: f64 = 2.02;
/// The error of a signal that moves in one of the runs only, such as a switch that the other run has not met: it has no range to
/// compare with. In doubt, and no more.
const UNKNOWN: f64 = 2.5;
/// Fewest macro-steps since the first motion, and in the stretch that is looked at.
pub(crate) const SHORT: usize = 16;
/// The growth in each third of a shorter run that explodes. A choice: events do not grow by powers of ten a step.
const EACH_THIRD: f64 = 10.0;
/// The stretch begins when the range was at most one part in so many of the final range. Growth by so much is worth a note.
const STRETCH: f64 = 30.0;
/// The difference grows if its last quarter is so many times its second quarter.
const GROWS: f64 = 2.0;
/// The difference stays if its last quarter has so much of the range.
const STAYS: f64 = 0.2;
/// Two runs that are not finite are so at the same time if it is so many rows apart, or this part of those since the first motion.
const SAME_END: usize = 2;
const SAME_PART: f64 = 0.1;
/// The part of the rows before that in which they must not differ.
const BEFORE_END: f64 = 0.9;
/// A range below this part of the magnitude is rounding: a million steps add up 1e6 · 2⁻⁵³ at most.
const ROUNDING: f64 = 1e-12;

/// What a second run says of the divergence of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The coupling makes the run diverge.
    Diverging,
    /// The two runs do not tell.
    CannotTell,
    /// The run does not diverge: judge its error as for any run. If it grows, the system or an FMU's own solver makes
    /// it grow.
    Ordinary,
}

/// How a signal differs between a run and a run at half of every communication step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The greatest error of the run, estimated, over the range of the signal without it: D/R₂·(1 + max(1, R₁/R₂)). D is
    /// the greatest difference, R₁ the range in the run, R₂ the range in the other one. Median 1.08 times the true error,
    /// .97 to 2.67 times for nine in ten.
    pub error: f64,
    /// The greatest difference over the smaller of the two ranges.
    pub over_smaller_range: f64,
    /// It still grows at the end.
    pub is_growing: bool,
    /// It is still there at the end.
    pub is_persistent: bool,
    /// The range of the run over that until the middle of its last stretch.
    pub own_growth: f64,
}

impl Difference {
    const NONE: Self = Self {
        error: 0.0,
        over_smaller_range: 0.0,
        is_growing: false,
        is_persistent: false,
        own_growth: 1.0,
    };

    /// Between values of the `run` and of the run at `half` the step at the same points, all finite.
    ///
    /// # Panics
    /// If `half` has fewer values.
    #[must_use]
    pub fn between(run: &[f64], half: &[f64]) -> Self {
        let half = &half[..run.len()];
        let differences: Vec<f64> = run.iter().zip(half).map(|(x, y)| x - y).collect();
        let most = greatest(&differences);
        let [of_run, of_half] = [run, half].map(range);
        let magnitude = greatest(run).max(greatest(half)).max(f64::MIN_POSITIVE);
        if most == 0.0 || of_run.max(of_half) <= ROUNDING * magnitude {
            return Self::NONE;
        }
        let start = stretch_start(run);
        let length = run.len() - start;
        let part = |from: f64, to: f64| {
            let [from, to] = [from, to].map(|part| start + (length as f64 * part) as usize);
            rms(&differences[from..to.max(from + 1)])
        };
        let (early, late) = (part(0.25, 0.5), part(0.75, 1.0));
        let until_middle = range(&run[..(start + length / 2).max(2).min(run.len())]);
        let smaller = of_run.min(of_half);
        let is_half_at_rest = of_half <= ROUNDING * greatest(half);
        let of_half = of_half.max(f64::MIN_POSITIVE);
        Self {
            error: match is_half_at_rest {
                true => UNKNOWN,
                false => most / of_half * (1.0 + (of_run / of_half).max(1.0)),
            },
            over_smaller_range: if smaller > 0.0 { most / smaller } else { 0.0 },
            is_growing: late > GROWS * early,
            is_persistent: late >= STAYS * of_half,
            own_growth: of_run / until_middle.max(f64::MIN_POSITIVE),
        }
    }

    /// Whether the difference alone, however the signal grows, is more than an error.
    fn is_beyond_range(&self) -> bool {
        self.over_smaller_range >= BEYOND_RANGE
            && (self.is_growing || self.over_smaller_range >= FAR_BEYOND_RANGE)
    }
}

/// Compares the looped signals of a run with the run at half of every communication step, at the communication points
/// of the run. Each item has the values of one signal in both; a run that ended early has fewer.
///
/// Only signals in a loop count: a counter of steps beside it spoils the comparison.
#[must_use]
pub fn decide(signals: &[[&[f64]; 2]]) -> Decision {
    let finite = |values: &[f64]| {
        let end = values.iter().position(|value| !value.is_finite());
        end.unwrap_or(values.len())
    };
    let least = |of: &dyn Fn(&[&[f64]; 2]) -> usize| signals.iter().map(of).min().unwrap_or(0);
    let rows = least(&|[run, _]| run.len());
    let (of_run, of_half) = (
        least(&|[run, _]| finite(run)),
        least(&|[_, half]| finite(half)),
    );
    let moves = |values: &[f64]| values.iter().position(|value| *value != values[0]);
    let first_motion = signals.iter().filter_map(|[run, _]| moves(run)).min();
    let first_motion = first_motion.unwrap_or(0);
    let compared = of_run.min(of_half);
    if compared == 0 {
        return Decision::CannotTell;
    }
    let found = Found::over(signals, compared);
    if of_run < rows {
        // Only the run is not finite, or they are so at other times, or differ before.
        let since = |end: usize| end.saturating_sub(first_motion);
        let apart = SAME_END.max((SAME_PART * since(of_run).max(since(of_half)) as f64) as usize);
        let before = first_motion + (BEFORE_END * since(compared) as f64) as usize;
        let early = Found::over(signals, before.clamp(1, compared));
        let differs = early.error >= GROWING_ERROR || early.over_smaller_range >= BEYOND_RANGE;
        return match of_half > of_run || of_run.abs_diff(of_half) > apart || differs {
            true => Decision::Diverging,
            false => Decision::CannotTell,
        };
    }
    if of_half < rows {
        // That alone says nothing of the run.
        return if found.diverges {
            Decision::Diverging
        } else {
            Decision::CannotTell
        };
    }
    if compared - first_motion < SHORT {
        let explode = signals
            .iter()
            .any(|[run, _]| explodes(&run[first_motion..compared]));
        return match found.error {
            _ if explode && found.is_far_apart() => Decision::Diverging,
            error if error > DOUBTFUL_ANYWAY => Decision::CannotTell,
            _ => Decision::Ordinary,
        };
    }
    match (found.diverges, found.is_doubtful) {
        (true, _) => Decision::Diverging,
        (false, true) => Decision::CannotTell,
        (false, false) => Decision::Ordinary,
    }
}

/// The differences of all signals.
struct Found {
    error: f64,
    over_smaller_range: f64,
    diverges: bool,
    is_doubtful: bool,
}

impl Found {
    /// Whether the runs differ by far more than either has of a signal.
    fn is_far_apart(&self) -> bool {
        self.error >= ANY_ERROR || self.over_smaller_range >= FAR_BEYOND_RANGE
    }

    /// Over so many rows.
    fn over(signals: &[[&[f64]; 2]], rows: usize) -> Self {
        let between = |[run, half]: &[&[f64]; 2]| Difference::between(&run[..rows], &half[..rows]);
        let all: Vec<Difference> = signals.iter().map(between).collect();
        let most = |of: fn(&Difference) -> f64, counts: fn(&Difference) -> bool| {
            let counted = all.iter().filter(|found| counts(found));
            counted.map(of).fold(0.0, f64::max)
        };
        let error = most(|found| found.error, |_| true);
        let growing = most(|found| found.error, |found| found.is_growing);
        let staying = most(
            |found| found.error.max(found.over_smaller_range),
            |found| found.is_persistent,
        );
        let is_beyond = all.iter().any(Difference::is_beyond_range);
        let has_grown_beyond =
            |found: &Difference| found.is_beyond_range() && found.own_growth >= OWN_GROWTH;
        Self {
            error,
            over_smaller_range: most(|found| found.over_smaller_range, |_| true),
            diverges: growing >= GROWING_ERROR
                || error >= ANY_ERROR
                || all.iter().any(has_grown_beyond),
            is_doubtful: growing >= DOUBTFUL
                || staying >= DOUBTFUL
                || error > DOUBTFUL_ANYWAY
                || is_beyond,
        }
    }
}

/// Whether the range of the values has grown at least thirtyfold since the first third of them.
pub(crate) fn has_grown_much(values: &[f64]) -> bool {
    grows_since_a_third(values, STRETCH)
}

/// Whether the range has grown at least twofold, as in a suspicious run.
pub(crate) fn grows_after_a_third(values: &[f64]) -> bool {
    grows_since_a_third(values, OWN_GROWTH)
}

fn grows_since_a_third(values: &[f64], factor: f64) -> bool {
    let early = &values[..(values.len() / 3).max(2).min(values.len())];
    let range_in_all = range(values);
    range_in_all > ROUNDING * greatest(values) && range_in_all >= factor * range(early)
}

/// Whether the range grows at least tenfold in the second third of the values and again in the last one. One jump does not do
/// so, nor any power of the time below the fifth.
fn explodes(values: &[f64]) -> bool {
    let after = |thirds: usize| range(&values[..(values.len() * thirds).div_ceil(3)]);
    let [early, middle, late] = [1, 2, 3].map(after);
    early > 0.0 && middle >= EACH_THIRD * early && late >= EACH_THIRD * middle
}

/// The last row at which the range so far was at most [one part in thirty](STRETCH) of the final range. It is at least
/// [`SHORT`] rows before the end: a late step does not count as growth.
fn stretch_start(values: &[f64]) -> usize {
    let end = range(values);
    let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
    let so_far = values.iter().map(|value| {
        (least, greatest) = (least.min(*value), greatest.max(*value));
        greatest - least
    });
    let small = so_far.take_while(|range| *range <= end / STRETCH).count();
    small
        .saturating_sub(1)
        .min(values.len().saturating_sub(SHORT))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 400;

    /// Decides on a signal given by x(t, h) over 10 s, at h = 1 and h = 1/2.
    fn decide_on(value: impl Fn(f64, f64) -> f64) -> Decision {
        let time = |row: usize| row as f64 / ROWS as f64 * 10.0;
        let values = |h: f64| (0..ROWS).map(|row| value(time(row), h)).collect();
        let [run, half]: [Vec<f64>; 2] = [1.0, 0.5].map(values);
        decide(&[[&run, &half]])
    }

    #[test]
    fn growth_that_half_the_step_does_not_have_diverges() {
        let grows = |t: f64, h: f64| (0.8 * h * t).exp() * (3.0 * t).sin();
        assert_eq!(decide_on(grows), Decision::Diverging);
        // Faster at half the step.
        let faster = |t: f64, h: f64| (0.8 * t / h).exp() * (3.0 * t).sin();
        assert_eq!(decide_on(faster), Decision::Diverging);
    }

    #[test]
    fn growth_that_half_the_step_has_too_is_the_systems() {
        let grows = |t: f64, h: f64| (0.8 * t).exp() * (3.0 * t).sin() * (1.0 + 0.01 * h);
        assert_eq!(decide_on(grows), Decision::Ordinary);
    }

    #[test]
    fn a_late_step_is_no_growth() {
        let late = |t: f64, h: f64| match t - 9.0 {
            since if since > 0.0 => 1.0 - (-3.0 * since).exp() * (1.0 + 0.05 * h),
            _ => 0.0,
        };
        assert_eq!(decide_on(late), Decision::Ordinary);
        // In the last sixteen points, by another value.
        let last = |t: f64, h: f64| {
            if t > 9.7 {
                (t - 9.7) * 2.0_f64.powf(4.0 * h)
            } else {
                0.0
            }
        };
        assert_eq!(decide_on(last), Decision::CannotTell);
    }

    #[test]
    fn powers_of_ten_a_step_diverge_in_few_steps() {
        let run: Vec<f64> = (0..6).map(|row| (-30.0_f64).powi(row) - 1.0).collect();
        let half: Vec<f64> = (0..6).map(|row| (f64::from(row)).cos()).collect();
        assert_eq!(decide(&[[&run, &half]]), Decision::Diverging);
        let faster: Vec<f64> = run.iter().map(|value| value * value * value).collect();
        assert_eq!(decide(&[[&run, &faster]]), Decision::Diverging);
        let jump = [0.0, 1e-9, 0.0, 1e-9, 0.0, 1.0];
        assert_eq!(
            decide(&[[&jump, &[0.0, 1e-9, 0.0, 1e-9, 0.0, 1e-9]]]),
            Decision::CannotTell
        );
    }

    #[test]
    fn an_error_between_one_and_two_ranges_is_in_doubt() {
        let apart = |t: f64, h: f64| (3.0 * t + 4.0 * (h - 0.5) * t / 10.0).sin();
        assert_eq!(decide_on(apart), Decision::CannotTell);
    }

    #[test]
    fn a_switch_that_half_the_step_never_meets_is_in_doubt() {
        let switch = |t: f64, h: f64| if h == 1.0 && t > 5.0 { 10.0 } else { 0.0 };
        assert_eq!(decide_on(switch), Decision::CannotTell);
        // At rest, but for rounding.
        let grows = |t: f64, h: f64| {
            if h == 1.0 {
                1e-16 * (5.0 * t).exp()
            } else {
                1e-16 * t.sin()
            }
        };
        assert_eq!(decide_on(grows), Decision::Diverging);
    }

    #[test]
    fn half_a_step_that_is_not_finite_tells_only_with_growth_before() {
        let value = |t: f64, h: f64| {
            if h < 1.0 && t > 9.0 {
                f64::NAN
            } else {
                t.sin()
            }
        };
        assert_eq!(decide_on(value), Decision::CannotTell);
        let grows = |t: f64, h: f64| {
            if h < 1.0 && t > 9.0 {
                f64::NAN
            } else {
                (2.0 * t / h).exp()
            }
        };
        assert_eq!(decide_on(grows), Decision::Diverging);
    }

    #[test]
    fn a_run_that_is_not_finite_diverges_unless_half_the_step_is_so_too() {
        let only_run = |t: f64, h: f64| {
            if h == 1.0 && t > 9.0 {
                f64::NAN
            } else {
                t.sin()
            }
        };
        assert_eq!(decide_on(only_run), Decision::Diverging);
        let other_time = |t: f64, h: f64| if t > 8.0 / h { f64::NAN } else { t.sin() };
        assert_eq!(decide_on(other_time), Decision::Diverging);
        let both = |t: f64, h: f64| {
            if t > 9.0 {
                f64::NAN
            } else {
                t.sin() + 0.01 * h
            }
        };
        assert_eq!(decide_on(both), Decision::CannotTell);
    }

    #[test]
    fn signals_at_rest_are_ordinary() {
        assert_eq!(decide_on(|_, _| 300.0), Decision::Ordinary);
        assert_eq!(
            decide_on(|t, h| 300.0 + 1e-13 * (t / h).sin()),
            Decision::Ordinary
        );
        assert_eq!(decide(&[]), Decision::CannotTell);
    }

    #[test]
    fn growth_that_is_worth_a_note_is_thirtyfold() {
        let grows = |factor: f64| {
            (0..90)
                .map(|row| {
                    if row < 45 {
                        f64::from(row % 2)
                    } else {
                        factor * f64::from(row % 2)
                    }
                })
                .collect::<Vec<_>>()
        };
        assert!(has_grown_much(&grows(31.0)));
        assert!(!has_grown_much(&grows(29.0)));
    }
}
