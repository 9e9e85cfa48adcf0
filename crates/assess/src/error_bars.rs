//! The error of a signal from runs at three macro-steps: Richardson extrapolation with the observed order
//! (Richardson & Gaunt 1927; Roache 1994, "grid convergence").
//!
//! With y(h) = y + e·hᵖ, runs at steps of the ratio 2 differ by d₁ = y(h) − y(h/2) and d₂ = y(2h) − y(h), and
//! r = ‖d₂‖ / ‖d₁‖ = 2ᵖ. The error of y(h) is d₁·r/(r − 1). The ratio is that of the whole signal, so that errors
//! that grow with time are estimated well, too. A study on 500 random systems measures how well
//! (`tests/system/error_bars.rs`).

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use gyrator::Verdict;
use gyrator_record::Table;
use serde::Serialize;

use crate::divergence::{Decision, decide};
use crate::grid::{Grid, common_rows};
use crate::size::{correlation, greatest, grows, range, rms};

/// The requirements on the two differences of three runs.
struct Requirements {
    /// Observed orders that are believed.
    orders: RangeInclusive<f64>,
    /// Least correlation of the two. Both have the shape of the leading error where that leads; unrelated ones of a
    /// thousand points have 0.03.
    correlation: f64,
}

/// Between runs at half and twice the macro-step nearly all that depends on it is seen. The differences of chaotic
/// runs have the order 0; orders above those of the methods come with instability, where the run at twice the
/// macro-step is far off and the estimate comes from the other one.
const AROUND: Requirements = Requirements {
    orders: 0.4..=f64::MAX,
    correlation: 0.3,
};

/// The errors that two coarser runs show are extrapolated to finer steps: of 120 random systems, the looser requirements
/// leave 81 % of the estimates within a factor 1.5, these 94 %.
const COARSER: Requirements = Requirements {
    orders: 0.6..=2.3,
    correlation: 0.95,
};

/// Difference, relative to the greatest value, below which rounding may be the cause: a million steps add up
/// 1e6 · 2⁻⁵³ at most.
const ROUNDING: f64 = 1e-9;

/// Why there is no error of a signal that diverges.
const ENDLESS: &str = "it grows without end, and less at half the macro-step";

/// Windows of the running maximum have at least one part in so many of a run: a choice.
const LEAST_WINDOW: usize = 50;

/// The macro-steps of the two companions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Levels {
    /// Half and twice the macro-step of the run.
    HalfAndTwice,
    /// Twice and four times the macro-step, where an FMU cannot take less.
    TwiceAndFourTimes,
}

impl Levels {
    /// The macro-steps of the companions over that of the run.
    #[must_use]
    pub const fn factors(self) -> [f64; 2] {
        match self {
            Self::HalfAndTwice => [0.5, 2.0],
            Self::TwiceAndFourTimes => [2.0, 4.0],
        }
    }

    const fn requirements(self) -> &'static Requirements {
        match self {
            Self::HalfAndTwice => &AROUND,
            Self::TwiceAndFourTimes => &COARSER,
        }
    }
}

/// Results of a run and of its companions.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// Macro-step of the run, s.
    pub step_size: f64,
    /// Rows of the run.
    pub run: &'a Table,
    /// Macro-steps of the companions.
    pub levels: Levels,
    /// Rows of the companions, in the order of [`Levels::factors`]. The first one at half the macro-step has every
    /// time that the run has; others have those that they meet.
    pub companions: [&'a Table; 2],
}

impl Results<'_> {
    /// Decides whether the run diverges, by these signals in the run at half the macro-step; `None` if there is none.
    pub(crate) fn decide(&self, variables: &[String]) -> Option<Decision> {
        let near = common_rows(&self.run.time, &self.companions[0].time, self.step_size);
        let signals = variables
            .iter()
            .filter_map(|name| Signal::find(self, name).ok());
        let at_rows = |signal: Signal<'_>| {
            let run = near.iter().map(|[row, _]| signal.run[*row]).collect();
            [
                run,
                near.iter().map(|[_, row]| signal.first[*row]).collect(),
            ]
        };
        let pairs: Vec<[Vec<f64>; 2]> = signals.map(at_rows).collect();
        let pairs: Vec<[&[f64]; 2]> = pairs
            .iter()
            .map(|[run, half]| [&run[..], &half[..]])
            .collect();
        (self.levels == Levels::HalfAndTwice).then(|| decide(&pairs))
    }
}

/// The estimated error of a signal, as far as it depends on the macro-step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorBar {
    /// Name of the signal's column.
    pub variable: String,
    /// Root of the mean square over the rows, in the unit of the signal; `None` where it is not known.
    pub error: Option<f64>,
    /// The greatest magnitude, in the unit of the signal.
    pub max_error: Option<f64>,
    /// Observed order of convergence; `None` also where the runs differ by rounding only.
    pub order: Option<f64>,
    /// The macro-step, s, at which the error would be the wanted part of the signal's range; at most the largest one
    /// that was run.
    pub step_for: Option<f64>,
    /// The error relative to the range of the signal in the finest run, in a word.
    pub verdict: Verdict,
    /// How far the run is from the companion next to it in macro-step: root of the mean square, relative to the range
    /// of the signal in the finest run. Known also where the error is not.
    pub relative_difference: Option<f64>,
    /// Why there is no error.
    pub reason: Option<String>,
    /// Half the height of the bar at each row of the run: the running maximum of the estimate's magnitude over the
    /// mean time from one change of its sign to the next, since the difference of two runs passes through zero.
    /// Empty where it is not known.
    #[serde(skip)]
    pub bars: Vec<f64>,
}

impl ErrorBar {
    /// A signal of which nothing is known.
    #[must_use]
    pub fn unknown(variable: &str, reason: impl Into<String>) -> Self {
        Self {
            variable: variable.to_owned(),
            error: None,
            max_error: None,
            order: None,
            step_for: None,
            verdict: Verdict::CannotTell,
            relative_difference: None,
            reason: Some(reason.into()),
            bars: Vec::new(),
        }
    }
}

/// The error bars of the signals `variables`, which are columns of numbers in all tables. `wanted` is the relative
/// error for which [`ErrorBar::step_for`] gives the macro-step.
#[must_use]
pub fn error_bars(results: &Results<'_>, variables: &[String], wanted: f64) -> Vec<ErrorBar> {
    let grid = Grid::common(results);
    let bar = |variable: &String| {
        let grid = grid.as_ref().map_err(String::as_str);
        let found = grid.and_then(|grid| {
            let signal = Signal::find(results, variable)?;
            Ok(signal.judge(results, grid, wanted))
        });
        match found {
            Ok(bar) => ErrorBar {
                variable: variable.clone(),
                ..bar
            },
            Err(reason) => ErrorBar::unknown(variable, reason),
        }
    };
    variables.iter().map(bar).collect()
}

/// How two of three runs differ, the coarser less the finer.
struct Differences {
    /// The run and the first companion, at all times that both have.
    near: Vec<f64>,
    /// The same at the times of the second companion.
    fine: Vec<f64>,
    /// The second companion and the finer one next to it.
    coarse: Vec<f64>,
}

/// The values of one variable.
struct Signal<'a> {
    run: &'a [f64],
    first: &'a [f64],
    second: &'a [f64],
}

impl<'a> Signal<'a> {
    fn find(results: &Results<'a>, name: &str) -> Result<Self, &'static str> {
        let find = |table: &'a Table| table.column(name).and_then(|series| series.numbers());
        let [first, second] = results.companions.map(find);
        Ok(Self {
            run: find(results.run).ok_or("the run did not record it as a number")?,
            first: first.ok_or("the companion run did not record it")?,
            second: second.ok_or("the companion run did not record it")?,
        })
    }

    fn judge(&self, results: &Results<'_>, grid: &Grid, wanted: f64) -> ErrorBar {
        let none = |verdict: Verdict, reason: &str| ErrorBar {
            verdict,
            ..ErrorBar::unknown("", reason)
        };
        let is_finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        if !is_finite(self.run) {
            return none(Verdict::Diverging, "it is not finite");
        }
        if !is_finite(self.first) {
            return none(Verdict::CannotTell, "it is not finite in a companion run");
        }
        let Differences { near, fine, coarse } = self.differences(results.levels, grid);
        let finest = match results.levels {
            Levels::HalfAndTwice => self.first,
            Levels::TwiceAndFourTimes => self.run,
        };
        let range = range(finest);
        let difference = Some(rms(&near) / range).filter(|difference| difference.is_finite());
        let diverges = results.levels == Levels::HalfAndTwice && self.diverges(&near);
        let unclear = |reason: &str| {
            let (verdict, reason) = match diverges {
                true => (Verdict::Diverging, ENDLESS),
                false => (Verdict::CannotTell, reason),
            };
            ErrorBar {
                relative_difference: difference,
                ..none(verdict, reason)
            }
        };
        if diverges && rms(&near) >= range {
            return unclear(ENDLESS);
        }
        if !is_finite(self.second) {
            return unclear("it is not finite in a companion run");
        }
        if rms(&near).max(rms(&coarse)) <= ROUNDING * greatest(finest) {
            let bars = vec![greatest(&near); self.run.len()];
            return Self::bar(&near, bars, None, range, None);
        }
        let ratio = rms(&coarse) / rms(&fine);
        let order = ratio.log2();
        let requirements = results.levels.requirements();
        if !requirements.orders.contains(&order) {
            return unclear("the error shows no clear order in the macro-step");
        }
        if correlation(&fine, &coarse) < requirements.correlation {
            return unclear("the runs at different macro-steps differ without a pattern");
        }
        let factor = match results.levels {
            Levels::HalfAndTwice => ratio / (ratio - 1.0),
            Levels::TwiceAndFourTimes => 1.0 / (ratio - 1.0),
        };
        let estimate: Vec<f64> = near.iter().map(|value| factor * value).collect();
        let bars = bars(&estimate, &grid.near, self.run.len());
        let longest = results.levels.factors()[1];
        let part = wanted * range / rms(&estimate);
        let step_for = results.step_size * part.powf(1.0 / order).min(longest);
        let step_for = Some(step_for).filter(|_| range > 0.0);
        let bar = Self::bar(&estimate, bars, Some(order), range, step_for);
        ErrorBar {
            relative_difference: difference,
            verdict: if diverges {
                Verdict::Diverging
            } else {
                bar.verdict
            },
            ..bar
        }
    }

    /// Whether it grows beyond its range, by what half the macro-step does not show; `near` is the difference.
    ///
    /// The error is between once the difference, at a high order, and twice it, at the first: one and a half times
    /// here. The range without an error is not known where half the macro-step grows, too. An amplitude a·exp(g·h) with
    /// R at h and R₂ at h/2 has R₂²/R without it, and the error grows by as much as the difference: the first order's
    /// 2 becomes (R + R₂)/R₂.
    fn diverges(&self, near: &[f64]) -> bool {
        let [at_run, at_half] = [range(self.run), range(self.first)];
        let relative = rms(near) / at_half;
        let growth = (0.5 * (at_run / at_half + 1.0)).max(1.0);
        1.5 * relative * growth >= 1.0 && grows(near)
    }

    fn differences(&self, levels: Levels, grid: &Grid) -> Differences {
        let first = |place: usize| self.first[grid.near[place][1]];
        let run = |place: usize| self.run[grid.near[place][0]];
        // From the finer of the two to the coarser.
        let near = (0..grid.near.len()).map(|place| match levels {
            Levels::HalfAndTwice => run(place) - first(place),
            Levels::TwiceAndFourTimes => first(place) - run(place),
        });
        let near: Vec<f64> = near.collect();
        let coarse = grid.far.iter().map(|[place, row]| match levels {
            Levels::HalfAndTwice => self.second[*row] - run(*place),
            Levels::TwiceAndFourTimes => self.second[*row] - first(*place),
        });
        Differences {
            fine: grid.far.iter().map(|[place, _]| near[*place]).collect(),
            coarse: coarse.collect(),
            near,
        }
    }

    fn bar(
        estimate: &[f64],
        bars: Vec<f64>,
        order: Option<f64>,
        range: f64,
        step_for: Option<f64>,
    ) -> ErrorBar {
        let error = rms(estimate);
        let relative = if order.is_none() { 0.0 } else { error / range };
        ErrorBar {
            variable: String::new(),
            error: Some(error),
            max_error: Some(greatest(estimate)),
            order,
            step_for,
            verdict: Verdict::from_relative_error(relative),
            relative_difference: Some(relative).filter(|relative| relative.is_finite()),
            reason: None,
            bars,
        }
    }
}

/// The running maximum of the magnitude, for every row of the run.
fn bars(estimate: &[f64], places: &[[usize; 2]], rows: usize) -> Vec<f64> {
    let pairs = estimate.windows(2);
    let changes = pairs.filter(|pair| pair[0] * pair[1] < 0.0).count();
    let window = (estimate.len() / (changes + 1)).max(estimate.len() / LEAST_WINDOW + 1);
    let mut bars = Vec::with_capacity(rows);
    // Places of the window whose magnitudes fall: the first one is the greatest.
    let mut falling: VecDeque<usize> = VecDeque::new();
    for (index, value) in estimate.iter().enumerate() {
        while falling
            .back()
            .is_some_and(|last| estimate[*last].abs() <= value.abs())
        {
            falling.pop_back();
        }
        falling.push_back(index);
        while falling.front().is_some_and(|first| first + window <= index) {
            falling.pop_front();
        }
        let greatest = falling.front().map_or(0.0, |first| estimate[*first].abs());
        // Rows that the companion does not have get the bar of the next one.
        bars.resize(places[index][0] + 1, greatest);
    }
    let last = bars.last().copied().unwrap_or(0.0);
    bars.resize(rows, last);
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use gyrator_record::{Series, Values};

    const STEP: f64 = 0.01;

    /// Rows every `every` seconds for 10 s of a run at the step `h`.
    fn table(every: f64, h: f64, value: impl Fn(f64, f64) -> f64) -> Table {
        let rows = (10.0 / every).round() as usize + 1;
        let time: Vec<f64> = (0..rows).map(|row| row as f64 * every).collect();
        let values = time.iter().map(|time| value(*time, h)).collect();
        Table {
            time,
            series: vec![Series {
                name: "a.x".to_owned(),
                unit: None,
                values: Values::Numbers(values),
            }],
        }
    }

    fn judge(levels: Levels, value: impl Fn(f64, f64) -> f64 + Copy) -> ErrorBar {
        let run = table(STEP, STEP, value);
        let rows = |factor: f64| table(STEP * factor.max(1.0), STEP * factor, value);
        let [first, second] = levels.factors().map(rows);
        let results = Results {
            step_size: STEP,
            run: &run,
            levels,
            companions: [&first, &second],
        };
        error_bars(&results, &["a.x".to_owned()], 0.01).remove(0)
    }

    /// y(h) = sin t + e·hᵖ·cos t has the error e·hᵖ/√2 as RMS over whole periods, and the order p.
    #[test]
    fn the_error_of_a_power_law_is_exact() {
        for levels in [Levels::HalfAndTwice, Levels::TwiceAndFourTimes] {
            for order in [1.0, 2.0] {
                let bar = judge(levels, |t, h| t.sin() + 5.0 * h.powf(order) * t.cos());
                let size = 5.0 * STEP.powf(order);
                let error = bar.error.unwrap();
                // Ten seconds are no whole number of periods.
                assert!(
                    (error / (size / 2_f64.sqrt()) - 1.0).abs() < 0.05,
                    "{bar:?}"
                );
                assert!(
                    (bar.max_error.unwrap() / size - 1.0).abs() < 1e-6,
                    "{bar:?}"
                );
                assert!((bar.order.unwrap() - order).abs() < 1e-6, "{bar:?}");
                assert_eq!(bar.verdict, Verdict::from_relative_error(error / 2.0));
                assert_eq!(bar.bars.len(), 1001);
            }
        }
    }

    /// At the order p the error is the wanted part of the range at h·(wanted·range/error)^(1/p).
    #[test]
    fn the_step_for_an_error_follows_the_order() {
        let bar = judge(Levels::HalfAndTwice, |t, h| {
            t.sin() + 500.0 * h * h * t.cos()
        });
        let relative = bar.error.unwrap() / 2.0;
        let expected = STEP * (0.01 / relative).sqrt();
        assert!(
            (bar.step_for.unwrap() / expected - 1.0).abs() < 1e-2,
            "{bar:?}"
        );
        let tiny = judge(Levels::HalfAndTwice, |t, h| t.sin() + 1e-3 * h * t.cos());
        assert_eq!(tiny.step_for, Some(2.0 * STEP));
    }

    #[test]
    fn the_bar_covers_the_error_where_the_difference_passes_through_zero() {
        let bar = judge(Levels::HalfAndTwice, |t, h| t.sin() + h * (3.0 * t).cos());
        let after_first_peak = &bar.bars[110..];
        assert!(
            after_first_peak.iter().all(|bar| *bar > 0.9 * STEP),
            "{bar:?}"
        );
        assert!(bar.bars.iter().all(|bar| *bar < 1.01 * STEP));
    }

    #[test]
    fn runs_without_a_pattern_are_not_judged() {
        // Equal in size at every step, as chaotic runs: the order is 0.
        let bar = judge(Levels::HalfAndTwice, |t, h| (t + 1e4 * h.sqrt() * t).sin());
        assert_eq!(
            (bar.error, bar.verdict),
            (None, Verdict::CannotTell),
            "{bar:?}"
        );
        assert!(bar.reason.is_some() && bar.bars.is_empty());
        // Of a clear order in size, but of another shape each.
        let bar = judge(Levels::HalfAndTwice, |t, h| h * (t / h).sin());
        assert_eq!(
            (bar.error, bar.verdict),
            (None, Verdict::CannotTell),
            "{bar:?}"
        );
    }

    #[test]
    fn growth_that_half_the_step_does_not_have_diverges() {
        let grows = |t: f64, h: f64| (200.0 * h * t).exp() * t.sin();
        let bar = judge(Levels::HalfAndTwice, grows);
        assert_eq!(
            (bar.error, bar.verdict),
            (None, Verdict::Diverging),
            "{bar:?}"
        );
        let overflows = |t: f64, h: f64| {
            if h >= STEP && t > 5.0 {
                f64::INFINITY
            } else {
                t
            }
        };
        let bar = judge(Levels::HalfAndTwice, overflows);
        assert_eq!(
            (bar.error, bar.verdict),
            (None, Verdict::Diverging),
            "{bar:?}"
        );
        let only_coarse = |t: f64, h: f64| if h > STEP { f64::NAN } else { t };
        let bar = judge(Levels::HalfAndTwice, only_coarse);
        assert_eq!(
            (bar.error, bar.verdict),
            (None, Verdict::CannotTell),
            "{bar:?}"
        );
    }

    #[test]
    fn differences_of_rounding_are_small_whatever_their_order() {
        let bar = judge(Levels::HalfAndTwice, |t, h| t.sin() + 1e-15 * (t / h).sin());
        assert_eq!((bar.order, bar.verdict), (None, Verdict::Small), "{bar:?}");
        assert!(bar.error.unwrap() < 1e-14);
        let constant = judge(Levels::HalfAndTwice, |_, _| 300.0);
        assert_eq!(
            (constant.error, constant.verdict),
            (Some(0.0), Verdict::Small)
        );
    }

    #[test]
    fn a_companion_that_ended_early_tells_nothing() {
        let value = |t: f64, h: f64| t.sin() + h * t.cos();
        let run = table(STEP, STEP, value);
        let [half, twice] = [
            table(STEP, 0.5 * STEP, value),
            table(2.0 * STEP, 2.0 * STEP, value),
        ];
        let cut = |table: &Table| Table {
            time: table.time[..50].to_vec(),
            ..table.clone()
        };
        let names = ["a.x".to_owned(), "b.x".to_owned()];
        let judge = |companions| {
            let levels = Levels::HalfAndTwice;
            let run = &run;
            let results = Results {
                step_size: STEP,
                run,
                levels,
                companions,
            };
            error_bars(&results, &names, 0.01)
        };
        let (cut_half, cut_twice) = (cut(&half), cut(&twice));
        for companions in [[&cut_half, &twice], [&half, &cut_twice]] {
            let bar = judge(companions).remove(0);
            assert_eq!(bar.verdict, Verdict::CannotTell, "{bar:?}");
            assert!(bar.reason.unwrap().contains("ended at t = "));
        }
        let unknown = judge([&half, &twice]).remove(1);
        assert_eq!(
            unknown.reason.as_deref(),
            Some("the run did not record it as a number")
        );
    }
}
