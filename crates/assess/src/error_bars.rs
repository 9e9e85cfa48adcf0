//! The error of a signal from runs at three macro-steps: Richardson extrapolation with the observed order
//! (Richardson & Gaunt 1927; Roache 1994, "grid convergence").
//!
//! With y(h) = y + e·hᵖ, runs at steps of the ratio 2 differ by d₁ = y(h) − y(h/2) and d₂ = y(2h) − y(h), and r = ‖d₂‖
//! / ‖d₁‖ = 2ᵖ. The error of y(h) is d₁·r/(r − 1). The ratio is of the whole signal, so that errors that grow with time
//! are also estimated well. If these runs leave a signal in doubt, a run at a quarter of the macro-step replaces the
//! one at twice it. The error is then (y(h) − y(h/4))·r²/(r² − 1), with the ratio r of y(h) − y(h/2) and y(h/2) −
//! y(h/4). Studies on random systems measure how good the estimates are (`tests/system/error_bars.rs`,
//! `tests/system/doubtful_bars.rs`).

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
    /// Least correlation of the two. Both have the shape of the leading error if that leads; unrelated ones of a
    /// thousand points have 0.03.
    correlation: f64,
}

/// Between runs at half and twice the macro-step nearly all that depends on it is seen. The differences of chaotic
/// runs have the order 0.
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

/// Greatest order that an estimate uses. A greater one comes from the coarsest run, which has left the range of the leading
/// error: the factor of the order 2 then is within 1.5 for each order from 1 on.
const GREATEST_ORDER: f64 = 2.0;

/// Least order that an estimate from a quarter of the macro-step uses: the order of held inputs. In the systems of the
/// study, errors without a clear order follow it.
const LEAST_ORDER: f64 = 1.0;

/// Without a clear order, the error over the difference from a quarter of the macro-step. It is the geometric mean of 4/3,
/// for the order 1, and 1, for a run at a quarter without an error. Either is within 1.16.
const WITHOUT_ORDER: f64 = 1.154_700_538_379_251_5;

/// A signal stays in doubt from this ratio on: difference of y(h/2) and y(h/4) over difference of y(h) and y(h/2). The
/// finest runs then differ more than the coarser ones, by more than two unrelated errors do by chance. A choice.
const GREATEST_RISE: f64 = 2.0;

/// Difference, relative to the greatest value, below which rounding may be the cause: a million steps add up
/// 1e6 · 2⁻⁵³ at most.
const ROUNDING: f64 = 1e-9;

/// Why a signal that diverges has no error.
const ENDLESS: &str = "it grows without end, and less at half the macro-step";

/// Windows of the running maximum have at least one part in so many of a run: a choice.
const LEAST_WINDOW: usize = 50;

/// The macro-steps of the two companions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Levels {
    /// Half and twice the macro-step of the run.
    HalfAndTwice,
    /// Half and a quarter of the macro-step, if twice the macro-step leaves signals in doubt.
    HalfAndQuarter,
    /// Twice and four times the macro-step, if an FMU cannot take less.
    TwiceAndFourTimes,
}

impl Levels {
    /// The macro-steps of the companions over the run's.
    #[must_use]
    pub const fn factors(self) -> [f64; 2] {
        match self {
            Self::HalfAndTwice => [0.5, 2.0],
            Self::HalfAndQuarter => [0.5, 0.25],
            Self::TwiceAndFourTimes => [2.0, 4.0],
        }
    }

    /// Whether the first companion has half the macro-step.
    pub(crate) const fn has_half(self) -> bool {
        !matches!(self, Self::TwiceAndFourTimes)
    }

    const fn requirements(self) -> &'static Requirements {
        match self {
            Self::HalfAndTwice | Self::HalfAndQuarter => &AROUND,
            Self::TwiceAndFourTimes => &COARSER,
        }
    }

    /// The order that an estimate uses, for an observed one.
    fn used_order(self, order: f64) -> f64 {
        match self {
            Self::HalfAndTwice => order.min(GREATEST_ORDER),
            Self::HalfAndQuarter => order.clamp(LEAST_ORDER, GREATEST_ORDER),
            Self::TwiceAndFourTimes => order,
        }
    }

    /// The error over [`Differences::whole`], at an order.
    fn factor(self, order: f64) -> f64 {
        let ratio = order.exp2();
        match self {
            Self::HalfAndTwice => ratio / (ratio - 1.0),
            Self::HalfAndQuarter => ratio * ratio / (ratio * ratio - 1.0),
            Self::TwiceAndFourTimes => 1.0 / (ratio - 1.0),
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
    /// Rows of the companions, in the order of [`Levels::factors`]. Those at half and a quarter of the macro-step have every
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
        self.levels.has_half().then(|| decide(&pairs))
    }
}

/// The estimated error of a signal, as far as it depends on the macro-step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorBar {
    /// Name of the signal's column.
    pub variable: String,
    /// Root of the mean square over the rows, in the unit of the signal; `None` if it is not known.
    pub error: Option<f64>,
    /// The greatest magnitude, in the unit of the signal.
    pub max_error: Option<f64>,
    /// Observed order of convergence; `None` also if the runs differ by rounding only, or show an error without a clear
    /// order.
    pub order: Option<f64>,
    /// The macro-step, s, at which the error would be the wanted part of the signal's range; at most the largest one
    /// that was run.
    pub step_for: Option<f64>,
    /// `step_for` is the largest one that was run: a larger one may also do.
    #[serde(skip)]
    pub is_largest_step: bool,
    /// The error relative to the range of the signal in the finest run, in a word.
    pub verdict: Verdict,
    /// How far the run is from the companion next to it in macro-step: root of the mean square, relative to the range
    /// of the signal in the finest run. Known also if the error is not.
    pub relative_difference: Option<f64>,
    /// Why the error is not known.
    pub reason: Option<String>,
    /// Half the height of the bar at each row of the run. It is the running maximum of the estimate's magnitude over
    /// the mean time between changes of its sign, since the difference of two runs passes through zero. Empty if it is
    /// not known.
    #[serde(skip)]
    pub bars: Vec<f64>,
}

impl ErrorBar {
    /// Whether the runs leave the error open.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.verdict == Verdict::CannotTell
    }

    /// A signal of which nothing is known.
    #[must_use]
    pub fn unknown(variable: &str, reason: impl Into<String>) -> Self {
        Self {
            variable: variable.to_owned(),
            error: None,
            max_error: None,
            order: None,
            step_for: None,
            is_largest_step: false,
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
    /// The run and the companion that its error is estimated from, and rows of the run at the same times.
    whole: Vec<f64>,
    rows: Vec<usize>,
    /// The two finer ones, and the two coarser ones, at the times that all three have.
    fine: Vec<f64>,
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
        let differences = self.differences(results.levels, grid);
        let near = &differences.near;
        let diverges = results.levels.has_half() && self.diverges(near);
        let is_endless = diverges && rms(near) >= range(self.first);
        let finest = match results.levels {
            Levels::HalfAndTwice => self.first,
            Levels::HalfAndQuarter => self.second,
            Levels::TwiceAndFourTimes => self.run,
        };
        let finest = if is_finite(finest) {
            finest
        } else {
            self.first
        };
        let range = range(finest);
        let difference = Some(rms(near) / range).filter(|difference| difference.is_finite());
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
        if is_endless {
            return unclear(ENDLESS);
        }
        if !is_finite(self.second) {
            return unclear("it is not finite in a companion run");
        }
        let Estimate { factor, order } = match differences.estimate(results.levels, finest) {
            Ok(estimate) => estimate,
            Err(reason) => return unclear(reason),
        };
        let estimate: Vec<f64> = differences.whole.iter().map(|x| factor * x).collect();
        let error = rms(&estimate);
        let is_rounding = differences.are_rounding(finest);
        let relative = if is_rounding { 0.0 } else { error / range };
        let largest = results.levels.factors()[1].max(1.0);
        let longer = order.filter(|_| range > 0.0).map(|order| {
            let part = (wanted / relative).powf(results.levels.used_order(order).recip());
            part.min(largest)
        });
        ErrorBar {
            variable: String::new(),
            error: Some(error),
            max_error: Some(greatest(&estimate)),
            order,
            step_for: longer.map(|longer| results.step_size * longer),
            is_largest_step: longer == Some(largest),
            verdict: match diverges {
                true => Verdict::Diverging,
                false => Verdict::from_relative_error(relative),
            },
            relative_difference: if is_rounding { Some(0.0) } else { difference },
            reason: None,
            bars: match is_rounding {
                true => vec![greatest(&estimate); self.run.len()],
                false => bars(&estimate, &differences.rows, self.run.len()),
            },
        }
    }

    /// Whether it grows beyond its range, by what half the macro-step does not show; `near` is the difference.
    ///
    /// The error is between once the difference, at a high order, and twice it, at the first: one and a half times
    /// here. The range without an error is not known if half the macro-step grows as well. An amplitude a·exp(g·h) with
    /// R at h and R₂ at h/2 has R₂²/R without it. The error grows by as much as the difference: the first order's 2
    /// becomes (R + R₂)/R₂.
    fn diverges(&self, near: &[f64]) -> bool {
        let [at_run, at_half] = [range(self.run), range(self.first)];
        let relative = rms(near) / at_half;
        let growth = (0.5 * (at_run / at_half + 1.0)).max(1.0);
        1.5 * relative * growth >= 1.0 && grows(near)
    }

    fn differences(&self, levels: Levels, grid: &Grid) -> Differences {
        // At all places of `near`, and at all of `far`.
        let near = |[run, first]: &[usize; 2]| match levels.has_half() {
            true => self.run[*run] - self.first[*first],
            false => self.first[*first] - self.run[*run],
        };
        let beyond = |[place, second]: &[usize; 2]| {
            let [run, first] = grid.near[*place];
            match levels {
                Levels::HalfAndTwice => self.second[*second] - self.run[run],
                Levels::HalfAndQuarter => self.first[first] - self.second[*second],
                Levels::TwiceAndFourTimes => self.second[*second] - self.first[first],
            }
        };
        let at_far = grid.far.iter().map(|[place, _]| near(&grid.near[*place]));
        let at_far: Vec<f64> = at_far.collect();
        let beyond: Vec<f64> = grid.far.iter().map(beyond).collect();
        let near: Vec<f64> = grid.near.iter().map(near).collect();
        let row = |place: usize| grid.near[place][0];
        if levels == Levels::HalfAndQuarter {
            let whole = at_far
                .iter()
                .zip(&beyond)
                .map(|(near, beyond)| near + beyond);
            return Differences {
                whole: whole.collect(),
                rows: grid.far.iter().map(|[place, _]| row(*place)).collect(),
                fine: beyond,
                coarse: at_far,
                near,
            };
        }
        Differences {
            whole: near.clone(),
            rows: (0..near.len()).map(row).collect(),
            fine: at_far,
            coarse: beyond,
            near,
        }
    }
}

/// The error over [`Differences::whole`], and the observed order.
struct Estimate {
    factor: f64,
    order: Option<f64>,
}

impl Differences {
    /// Whether they may come from rounding alone; `values` come from the finest run.
    fn are_rounding(&self, values: &[f64]) -> bool {
        let greatest_rms = rms(&self.near).max(rms(&self.fine)).max(rms(&self.coarse));
        greatest_rms <= ROUNDING * greatest(values)
    }

    /// The error that they show, or why they show none.
    fn estimate(&self, levels: Levels, finest: &[f64]) -> Result<Estimate, &'static str> {
        let without_order = |factor: f64| Estimate {
            factor,
            order: None,
        };
        if self.are_rounding(finest) {
            return Ok(without_order(1.0));
        }
        let (fine, coarse) = (rms(&self.fine), rms(&self.coarse));
        let order = (coarse / fine).log2();
        let requirements = levels.requirements();
        let is_ordered = requirements.orders.contains(&order);
        if is_ordered && correlation(&self.fine, &self.coarse) >= requirements.correlation {
            return Ok(Estimate {
                factor: levels.factor(levels.used_order(order)),
                order: Some(order),
            });
        }
        match (levels, is_ordered) {
            (Levels::HalfAndQuarter, _) if fine <= GREATEST_RISE * coarse => {
                Ok(without_order(WITHOUT_ORDER))
            }
            (Levels::HalfAndQuarter, _) => {
                Err("the runs at smaller macro-steps differ more than those at larger ones")
            }
            (_, true) => Err("the runs at different macro-steps differ without a pattern"),
            (_, false) => Err("the error shows no clear order in the macro-step"),
        }
    }
}

/// The running maximum of the magnitude, for every row of the run.
fn bars(estimate: &[f64], places: &[usize], rows: usize) -> Vec<f64> {
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
        bars.resize(places[index] + 1, greatest);
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
        for levels in [
            Levels::HalfAndTwice,
            Levels::HalfAndQuarter,
            Levels::TwiceAndFourTimes,
        ] {
            for order in [1.0, 2.0] {
                let bar = judge(levels, |t, h| t.sin() + 5.0 * h.powf(order) * t.cos());
                let size = 5.0 * STEP.powf(order);
                let error = bar.error.unwrap();
                // Ten seconds do not hold a whole number of periods.
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

    /// Errors of the first order. At twice the macro-step, which is beyond a limit, they are sixteen times as large. The factor of
    /// the order 2 gives two thirds of the error, the factor of the observed order half of it.
    #[test]
    fn the_order_of_a_run_beyond_its_limit_counts_as_two() {
        let size = |h: f64| if h > STEP { 16.0 * h } else { h };
        let bar = judge(Levels::HalfAndTwice, |t, h| t.sin() + size(h) * t.cos());
        assert!(bar.order.unwrap() > 4.0, "{bar:?}");
        let greatest = bar.max_error.unwrap();
        assert!(
            (greatest / (2.0 / 3.0 * STEP) - 1.0).abs() < 1e-6,
            "{bar:?}"
        );
    }

    /// The run errs by cos t, half the macro-step by cos 7t, as if an event had moved, and a quarter by some of that: the error is the
    /// difference from the finest run, times √(4/3). If the finest run is off by more, nothing is known.
    #[test]
    fn an_error_without_an_order_is_estimated_while_the_runs_come_closer() {
        let value = |at_quarter: f64| {
            move |t: f64, h: f64| {
                let error = match h / STEP {
                    1.0 => t.cos(),
                    0.5 => 1.5 * (7.0 * t).cos(),
                    _ => at_quarter * (7.0 * t).cos(),
                };
                t.sin() + 0.01 * error
            }
        };
        let bar = judge(Levels::HalfAndQuarter, value(0.0));
        assert_eq!((bar.order, bar.step_for), (None, None), "{bar:?}");
        assert!((bar.max_error.unwrap() / (0.01 * WITHOUT_ORDER) - 1.0).abs() < 1e-6);
        assert_eq!(bar.verdict, Verdict::Small);
        assert_eq!(bar.bars.len(), 1001);
        let bar = judge(Levels::HalfAndQuarter, value(-8.0));
        assert!(bar.is_doubtful() && bar.error.is_none(), "{bar:?}");
        assert!(bar.reason.unwrap().contains("differ more"));
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
        assert!(!bar.is_largest_step);
        let tiny = judge(Levels::HalfAndTwice, |t, h| t.sin() + 1e-3 * h * t.cos());
        assert_eq!(
            (tiny.step_for, tiny.is_largest_step),
            (Some(2.0 * STEP), true)
        );
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
