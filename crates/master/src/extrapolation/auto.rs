//! A polynomial of degree 0 to 3, selected for each signal by past prediction errors. Each new value gives the errors
//! eₖ of all degrees k, averaged as Eₖ ← m·Eₖ + (1 − m)·eₖ². The degree falls to a lower one with no greater E, and
//! rises by one where that degree's E is below the share g of the present one's. After the start and after a
//! discontinuity it rises with each value. A signal that jumps, and then turns back by more than half of the jump,
//! rings: it is held until a line would have predicted it better.
//!
//! The receiver gets the form that it can follow: the polynomial; the line with its mean and end value, where a unit
//! takes first derivatives; its mean over each communication step, where a unit takes values only. Units of the last
//! kind whose inner steps prove to be those of the semi-implicit Euler method get the mean of the values at the starts
//! of their inner steps, so that this method integrates the coupled system as a whole.
//!
//! Three additions keep the integral of an input at that of its source, which springs and other integrators need: ũ +=
//! (∫p₂ − ∫ũ)/h at the third value makes up for the first two steps, p₂ being the parabola through the three values;
//! half an inner step, when inner steps show; and the lag h/2 of held values, when the degree falls to 0 again.
//!
//! Source: own; the polynomials are those of Sadjina & Pedersen (2019) §2, their means over equal steps the methods of
//! Adams & Bashforth. Use it unless a signal is known to need another one. Limits: a degree is selected after its
//! errors have shown, also in a loop that only hold damps. The implicit Euler method looks like the semi-implicit one,
//! and gets held values, too.

use super::history::History;
use super::means::Means;
use super::spacing::Spacing;
use super::{Extrapolation, ExtrapolationFacts, OrderChange, Sample, SignalSteps};
use crate::curve::Curve;
use crate::extremes::fading;
use crate::registry::Entry;
use crate::state_stream::{StateStream, Stored, stored};

/// The polynomial of the degree, 0 to 3, that would have predicted the past values best.
#[derive(Debug, Clone)]
pub(super) struct Auto {
    history: History,
    order: usize,
    /// The newest values as they follow each other at equal distances.
    spacing: Spacing,
    /// Averaged squares of the prediction errors of each degree; NaN before the first.
    errors: [f64; 4],
    /// The newest value less the prediction.
    last_error: f64,
    /// Highest degree of curves that the receiver follows.
    follows: usize,
    means: Means,
    /// The first steps, while means may prove to be wrong.
    opening: Opening,
    /// Addition to the step that starts at a time, s.
    owed: (f64, f64),
    /// The step by which the signal left its past, where nothing has announced that; else 0.
    jump: f64,
    /// The value before the one from which on the degree has not been 0.
    held_to: f64,
    /// Addition until the next value: held again, the signal is as late as it was.
    regained: f64,
    /// The last changes of the order, oldest first.
    changes: [OrderChange; KEPT_CHANGES],
    changed: usize,
}

/// The first steps of a past.
#[derive(Debug, Clone, Copy, Default)]
struct Opening {
    /// The value at their start.
    first: f64,
    steps: u32,
    /// Sum of the values at the starts of the steps less the means that were given over them.
    surplus: f64,
}

/// Steps after the first value in which means are compared with values: those of `inner_steps.rs`.
const OPENING: u32 = 16;

/// Changes of the order that are kept for the report: a signal whose order swings has too many.
const KEPT_CHANGES: usize = 4;

/// Share of the past that the averages keep at each value. Measured on random oscillators: 0.5 to 0.7 have
/// the least errors; with 0.9 a degree that has begun to ring is kept too long.
const MEMORY: f64 = 0.6;
/// A higher degree is selected if its squared error is less than this share of the present one's. Measured as
/// [`MEMORY`]: 0.5 costs accuracy. The hysteresis keeps noise from moving the degree, and low degrees are the stable ones.
const GAIN: f64 = 0.9;
/// The missed impulse is made up for where the line misses the third value by less than this share of what hold does:
/// below some 12 values a period.
const SMOOTH: f64 = 0.5;

/// A change after a jump that goes back by more than this share of it is ringing. A choice.
const TURNED: f64 = 0.5;

pub(super) const ENTRY: Entry<dyn Extrapolation> = Entry {
    name: "auto",
    summary: "a polynomial of degree 0 to 3, chosen signal by signal from past prediction errors; its mean where a unit takes values only",
    source: "own; degrees as in Sadjina 2019 §2",
    parameters: &[],
    facts: |_, steps| ExtrapolationFacts {
        // With three of them the curve makes up for the first steps.
        values_until_exact: 3,
        gives_means: Means::of(steps).are_given,
        ..ExtrapolationFacts::polynomial(highest_degree(steps.follows).min(steps.follows))
    },
    build: |_| Box::<Auto>::default(),
};

impl Default for Auto {
    fn default() -> Self {
        Self {
            history: History::default(),
            order: 0,
            spacing: Spacing::default(),
            errors: [f64::NAN; 4],
            last_error: 0.0,
            follows: usize::MAX,
            means: Means::NONE,
            opening: Opening::default(),
            owed: (0.0, f64::NAN),
            jump: 0.0,
            held_to: 0.0,
            regained: 0.0,
            changes: [OrderChange::default(); KEPT_CHANGES],
            changed: 0,
        }
    }
}

/// Highest degree of a prediction for a receiver that follows curves of degree `follows`.
fn highest_degree(follows: usize) -> usize {
    match follows {
        // A parabola with the mean and the end value of a cubic would start beside the newest value.
        2 => 2,
        _ => 3,
    }
}

/// The sums of the numbers up to each degree.
#[inline]
fn sums([a, b, c, d]: [f64; 4]) -> [f64; 4] {
    [a, a + b, a + b + c, a + b + c + d]
}

impl Auto {
    fn learn(&mut self, sample: Sample) {
        let highest = self.history.degree().min(highest_degree(self.follows));
        let misses = match self.differences(sample.time) {
            Some(differences) => {
                let mut miss = sample.value;
                differences.map(|difference| {
                    miss -= difference;
                    miss
                })
            }
            None => [0, 1, 2, 3].map(|degree| match degree <= highest {
                true => sample.value - self.history.polynomial(degree, sample.time).at(0.0),
                false => f64::NAN,
            }),
        };
        if self.order <= highest {
            self.last_error = misses[self.order];
        }
        let averaged = |past: f64, miss: f64| {
            let square = miss * miss;
            fading(if past.is_nan() {
                square
            } else {
                MEMORY * past + (1.0 - MEMORY) * square
            })
        };
        // All at once, without a branch: of a higher degree nothing is known.
        let errors: [f64; 4] =
            std::array::from_fn(|degree| averaged(self.errors[degree], misses[degree]));
        self.errors = std::array::from_fn(|degree| match degree <= highest {
            true => errors[degree],
            false => self.errors[degree],
        });
    }

    /// The newest value and its backward differences of orders 1 to 3, where there are four values at equal distances, and `time`
    /// follows at the same distance. The polynomial of degree n is then the sum of the first n + 1 of them there.
    fn differences(&self, time: f64) -> Option<[f64; 4]> {
        let newest = self.history.newest()?;
        let is_even = self.spacing.equal == 3 && self.spacing.is_equal(time - newest.time);
        is_even.then_some(self.spacing.differences)
    }

    fn error(&self, degree: usize) -> f64 {
        self.errors.get(degree).copied().unwrap_or(f64::NAN)
    }

    /// An error that is not known is neither less nor greater than another one.
    fn choose(&mut self) {
        let present = self.error(self.order);
        // Without a branch for each.
        let mut lower = None;
        for (degree, error) in self.errors[..3].iter().enumerate() {
            if degree < self.order && *error <= present {
                lower = Some(degree);
            }
        }
        if let Some(lower) = lower {
            self.order = lower;
        } else if self.error(self.order + 1) < GAIN * present {
            self.order += 1;
        }
    }

    /// Raises the degree with a new value, where that makes a polynomial possible that has no past errors.
    fn try_next(&mut self) {
        let next = self.history.degree();
        let is_next = next == self.order + 1 && next <= highest_degree(self.follows);
        if !is_next || !self.error(next).is_nan() {
            return;
        }
        if let [newest, first] = self.history.newest_values()
            && self.turns_back(newest.value - first.value)
        {
            return;
        }
        let lower = next.checked_sub(2).map_or(f64::NAN, |d| self.error(d));
        let present = self.error(next - 1);
        let is_known = !lower.is_nan() && !present.is_nan();
        if !is_known || present < GAIN * lower {
            self.order = next;
        }
    }

    /// Whether the first change after a jump shows that the signal rings, and follows no line.
    fn turns_back(&self, change: f64) -> bool {
        change * self.jump < 0.0 && change.abs() > TURNED * self.jump.abs()
    }

    /// Keeps the lag of held values, where the degree has become 0 or has been that before the newest value. By the trapezoidal rule steps of
    /// length h with held values lack Σ h·(uₖ₊₁ − uₖ)/2, which is 0 again where the signal has come back; steps on a line from k to n make
    /// h·(uₙ₋₁ − uₖ₋₁)/2 of it good, which the next step takes back. Where that is more than the last changes, the signal has gone its way for long,
    /// and will be on a line again soon: then it would be a disturbance, and no lag.
    #[cold]
    fn keep_lag(&mut self) {
        let Some(before) = self.history.before_newest() else {
            return;
        };
        if self.order > 0 {
            self.held_to = before.value;
        } else if self.spacing.equal > 1 {
            let [_, lag, ..] = self.means.of_differences;
            let regained = -lag * (before.value - self.held_to);
            if regained.abs() <= self.spacing.greatest_change() {
                self.regained = regained;
            }
        }
    }

    /// Finds the spacing from the values: after the first one, and where the newest one was replaced.
    #[cold]
    fn respace(&mut self) {
        let mut spacing = Spacing::default();
        let mut before: Option<&Sample> = None;
        for sample in self.history.newest_values().iter().rev() {
            match before {
                Some(before) => spacing.push(sample.time - before.time, sample.value),
                None => spacing.differences[0] = sample.value,
            }
            before = Some(sample);
        }
        self.spacing = spacing;
    }

    #[cold]
    fn note(&mut self, before: usize, time: f64) {
        if self.changed == KEPT_CHANGES {
            self.changes.rotate_left(1);
            self.changed -= 1;
        }
        self.changes[self.changed] = OrderChange {
            time,
            from: before as u32,
            to: self.order as u32,
        };
        self.changed += 1;
    }

    /// Compares the step that ends at `time` with hold.
    #[cold]
    fn pass(&mut self, time: f64) {
        if let Some(newest) = self.history.newest() {
            let (value, step) = (newest.value, time - newest.time);
            let polynomial = self.history.polynomial(self.order, newest.time);
            let added = self.missed() + self.regained;
            self.opening.surplus += value - polynomial.mean(step) - added;
            self.opening.steps += 1;
        }
    }

    /// Addition to the step that starts `now`.
    fn owed(&self, now: f64) -> f64 {
        let (owed, from) = self.owed;
        if now == from { owed } else { 0.0 }
    }

    /// Error of the first two steps of a past that has three values, for each second of the step that comes.
    fn missed(&self) -> f64 {
        let [newest, middle, first] = match self.history.newest_values() {
            [newest, middle, first] => [newest, middle, first],
            _ => return 0.0,
        };
        let (before, last) = (middle.time - first.time, newest.time - middle.time);
        let change = newest.value - middle.value;
        let on_line = (middle.value - first.value) / before * last;
        if (change - on_line).abs() > SMOOTH * change.abs() {
            return 0.0;
        }
        let whole = before + last;
        let passed = self.history.polynomial(2, first.time).mean(whole) * whole;
        let second = match self.turns_back(middle.value - first.value) {
            true => middle.value,
            false => middle.value + 0.5 * on_line,
        };
        let given = first.value * before + second * last;
        (passed - given) / last
    }
}

impl Extrapolation for Auto {
    fn prepare(&mut self, steps: &SignalSteps) -> Result<(), String> {
        self.follows = steps.follows;
        self.means = Means::of(steps);
        Ok(())
    }

    fn observe(&mut self, sample: Sample) {
        let newest = self.history.newest().map(|newest| newest.time);
        let was_held = self.order == 0;
        if newest.is_none_or(|newest| sample.time == newest && self.history.degree() == 0) {
            self.opening.first = sample.value;
        }
        if newest.is_some_and(|newest| sample.time > newest) {
            if self.means.are_given && self.opening.steps < OPENING {
                self.pass(sample.time);
            }
            self.learn(sample);
            let before = self.order;
            self.choose();
            if self.order != before {
                self.note(before, sample.time);
            }
        }
        let is_new = self.history.push(sample);
        match newest {
            Some(newest) if is_new => self.spacing.push(sample.time - newest, sample.value),
            _ => self.respace(),
        }
        if is_new {
            self.regained = 0.0;
            self.try_next();
            if was_held != (self.order == 0) {
                self.keep_lag();
            }
            if self.history.newest_values().len() == 3 && self.missed() != 0.0 {
                self.held_to = self.opening.first;
            }
        }
    }

    fn curve(&self, now: f64, step: f64) -> Curve {
        let newest = self.history.newest().map_or(now, |newest| newest.time);
        if self.follows == 0
            && now == newest
            && let Some(differences) = self.differences(now + step)
        {
            let weights = self.means.of_differences;
            let weighted = std::array::from_fn(|degree| weights[degree] * differences[degree]);
            let mean = sums(weighted)[self.order];
            return Curve::constant(mean + self.owed(now) + self.regained);
        }
        let mut curve = self.history.polynomial(self.order, now);
        curve.coefficients[0] += self.missed() + self.owed(now) + self.regained;
        match self.follows {
            _ if self.means.are_given => self.means.over(curve, step),
            1 => curve.secant(step),
            _ => curve,
        }
    }

    fn at(&self, time: f64) -> f64 {
        match self.differences(time) {
            Some(differences) => sums(differences)[self.order],
            None => self.curve(time, 0.0).at(0.0) - self.regained,
        }
    }

    fn clear(&mut self) {
        self.history.clear();
        self.respace();
        self.order = 0;
        (self.jump, self.regained) = (0.0, 0.0);
        self.errors = [f64::NAN; 4];
        self.opening = Opening {
            first: self.history.newest().map_or(0.0, |newest| newest.value),
            ..Opening::default()
        };
    }

    fn jumped(&mut self) {
        let jump = match self.history.newest_values() {
            [newest, before, ..] => newest.value - before.value,
            _ => 0.0,
        };
        self.clear();
        self.jump = jump;
    }

    fn gives_means(&self) -> bool {
        self.means.are_given
    }

    fn inner_steps(&self) -> Option<(u32, f64)> {
        (self.means.inner > 0).then_some((self.means.inner, self.owed.1))
    }

    fn error_of_prediction(&self) -> Option<f64> {
        (self.means.are_given && self.means.inner == 0).then_some(self.last_error)
    }

    fn follow_inner_steps(&mut self, count: u32) {
        if count == self.means.inner || !self.means.are_given {
            return;
        }
        let is_first = self.means.inner == 0;
        self.means.follow(count);
        // The values at the starts of inner steps are earlier by half of one than the means that were given.
        if let Some(newest) = self.history.newest()
            && is_first
        {
            let Opening { first, surplus, .. } = self.opening;
            let [middle, ..] = Means::moments(count);
            self.owed = (surplus + middle * (newest.value - first), newest.time);
        }
    }

    fn order(&self) -> usize {
        self.order.min(self.history.degree())
    }

    fn changes(&self) -> &[OrderChange] {
        &self.changes[..self.changed]
    }

    fn duplicate(&self) -> Box<dyn Extrapolation> {
        Box::new(self.clone())
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        stream.keep(self);
    }
}

stored!(Opening {
    first,
    steps,
    surplus
});

impl Stored for Auto {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self {
            history,
            order,
            errors,
            last_error,
            changes,
            changed,
            opening,
            owed,
            jump,
            held_to,
            regained,
            means,
            spacing: _,
            follows: _,
        } = self;
        stream.keep(history);
        stream.below(order, errors.len());
        stream.keep(errors);
        stream.keep(last_error);
        stream.keep(changes);
        stream.below(changed, KEPT_CHANGES + 1);
        stream.keep(opening);
        stream.keep(owed);
        stream.keep(jump);
        stream.keep(held_to);
        stream.keep(regained);
        let mut inner = means.inner;
        stream.keep(&mut inner);
        means.follow(inner);
        self.respace();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(values: impl IntoIterator<Item = f64>) -> Auto {
        let mut auto = Auto::default();
        for (time, value) in (0_i32..).zip(values) {
            auto.observe(Sample {
                time: f64::from(time),
                value,
                slope: None,
            });
        }
        auto
    }

    #[test]
    fn smooth_signals_get_the_highest_degree() {
        assert_eq!(
            after((0..40).map(|k| (0.1 * f64::from(k)).sin())).order(),
            3
        );
    }

    #[test]
    fn noise_gets_degree_0() {
        // A linear congruential generator: numbers without a pattern of low degree.
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state) / f64::from(u32::MAX)
        });
        assert_eq!(after(noise.take(200)).order(), 0);
    }

    #[test]
    fn a_discontinuity_starts_anew() {
        let mut auto = after((0..40).map(|k| (0.1 * f64::from(k)).sin()));
        auto.clear();
        assert_eq!(auto.order(), 0);
        assert_eq!(
            auto.curve(39.0, 1.0),
            Curve::constant((0.1_f64 * 39.0).sin())
        );
    }

    /// After a jump by −1 the signal comes back by more than half of it, or goes on.
    #[test]
    fn a_change_that_turns_a_jump_back_is_no_line() {
        let after_change = |change: f64| {
            let mut auto = after([0.0; 6]);
            let mut observe = |time: f64, value: f64| {
                auto.observe(Sample {
                    time,
                    value,
                    slope: None,
                });
                if time == 6.0 {
                    auto.jumped();
                }
            };
            observe(6.0, -1.0);
            observe(7.0, -1.0 + change);
            auto.order()
        };
        assert_eq!([0.6, 2.0].map(after_change), [0, 0]);
        assert_eq!([0.4, -0.6, -2.0].map(after_change), [1, 1, 1]);
    }

    /// The areas of the polynomials over the steps, as a whole, are those of the values by the trapezoidal rule once the signal rests
    /// again, whenever it is held and when on a line.
    #[test]
    fn nothing_is_left_of_a_pulse_that_is_held_and_on_a_line_by_turns() {
        let values = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, -1.0, 0.0, 0.0, 0.0];
        let mut auto = Auto::default();
        let (mut area, mut orders) = (0.0, Vec::new());
        for (time, value) in (0_i32..).zip(values) {
            let (time, slope) = (f64::from(time), None);
            auto.observe(Sample { time, value, slope });
            area += auto.curve(time, 1.0).mean(1.0);
            orders.push(auto.order());
        }
        orders.dedup();
        assert_eq!(orders, [0, 1, 0, 1, 0]);
        assert!((area - values.iter().sum::<f64>()).abs() < 1e-12, "{area}");
    }

    /// Half of the ramp would be taken back, many times the change of a step.
    #[test]
    fn nothing_is_taken_back_of_a_long_ramp() {
        let mut auto = after((0..=20).map(f64::from));
        assert_eq!(auto.order(), 1);
        let (time, value, slope) = (21.0, 19.0, None);
        auto.observe(Sample { time, value, slope });
        assert_eq!(auto.order(), 0);
        assert_eq!(auto.curve(time, 1.0), Curve::constant(value));
    }

    /// A value that comes once more, or takes the place of another one, was predicted by the values before it alone.
    #[test]
    fn a_second_value_for_the_same_time_is_not_predicted() {
        let values = [1.0, 1.5, 1.25, 2.0, 3.0, 2.5];
        let [mut once, mut twice] = [(); 2].map(|()| Auto::default());
        for (time, value) in (0_i32..).zip(values) {
            let sample = Sample {
                time: f64::from(time),
                value,
                slope: None,
            };
            once.observe(sample);
            twice.observe(sample);
            twice.observe(sample);
            assert_eq!(twice.order(), once.order());
            for (again, error) in twice.errors.iter().zip(once.errors) {
                assert_eq!(again.to_bits(), error.to_bits());
            }
        }
        assert_eq!(twice.curve(5.0, 1.0), once.curve(5.0, 1.0));
    }

    /// Squares of the errors of prediction, averaged with a memory of 0.6, first one as it is: the
    /// values 0, 1, 1, 3 are missed by 1, 0, 2 (held), 1 and 2 (line) and 3 (parabola).
    #[test]
    fn errors_of_each_degree_are_averaged() {
        let auto = after([0.0, 1.0, 1.0, 3.0]);
        let [held, line, parabola, cubic] = auto.errors;
        assert!((held - (0.6 * 0.6 + 0.4 * 4.0)).abs() < 1e-12);
        assert!((line - (0.6 * 1.0 + 0.4 * 4.0)).abs() < 1e-12);
        assert!((parabola - 9.0).abs() < 1e-12);
        assert!(cubic.is_nan());
    }

    #[test]
    fn a_higher_degree_has_to_be_better_and_a_lower_one_as_good() {
        let chosen = |order: usize, errors: [f64; 4]| {
            let mut auto = Auto {
                order,
                errors,
                ..Auto::default()
            };
            auto.choose();
            auto.order
        };
        assert_eq!(chosen(0, [4.0, 3.5, 0.0, 0.0]), 1);
        assert_eq!(chosen(0, [4.0, 3.7, 0.0, 0.0]), 0);
        assert_eq!(chosen(0, [1.0, GAIN, 0.0, 0.0]), 0);
        assert_eq!(chosen(0, [0.25, 0.22, 0.0, 0.0]), 1);
        assert_eq!(chosen(0, [0.25, 0.23, 0.0, 0.0]), 0);
        assert_eq!(chosen(2, [5.0, 3.0, 3.0, 0.0]), 1);
        assert_eq!(chosen(2, [3.0, 5.0, 3.0, 0.0]), 0);
        assert_eq!(chosen(2, [5.0, 3.1, 3.0, 2.8]), 2);
        assert_eq!(chosen(3, [5.0, 4.0, 3.0, 2.0]), 3);
    }

    /// The degree rises with each value of a smooth signal, and not beyond the line where the line has missed
    /// the third value by as much as hold.
    #[test]
    fn the_degree_rises_from_the_start() {
        let smooth = |count: i32| after((0..count).map(|k| (0.1 * f64::from(k)).exp())).order();
        assert_eq!([1, 2, 3, 4, 5].map(smooth), [0, 1, 2, 3, 3]);
        // A parabola with the mean and the end of a cubic would not begin at the newest value.
        let values: Vec<f64> = (0..6).map(|k| (0.1 * f64::from(k)).exp()).collect();
        let orders = [0, 1, 2, 3, usize::MAX].map(|follows| fed(follows, &values).order());
        assert_eq!(orders, [3, 3, 2, 3, 3]);
        assert_eq!(after([0.0, 1.0, 0.0]).order(), 0);
    }

    fn fed(follows: usize, values: &[f64]) -> Auto {
        let mut auto = Auto::default();
        let usual = <dyn Extrapolation as crate::registry::EntryKind>::USUAL;
        auto.prepare(&SignalSteps { follows, ..usual }).unwrap();
        for (time, value) in (0_i32..).zip(values) {
            auto.observe(Sample {
                time: f64::from(time),
                value: *value,
                slope: None,
            });
        }
        auto
    }

    /// Over equal steps the means are the formulas of Adams & Bashforth: (3y₀ − y₁)/2, and (55y₀ − 59y₁ + 37y₂ − 9y₃)/24.
    #[test]
    fn a_unit_that_takes_values_only_gets_the_mean() {
        let mean = |values: &[f64]| fed(0, values).curve(values.len() as f64 - 1.0, 1.0);
        assert_eq!(mean(&[1.0, 3.0]), Curve::constant(4.0));
        let [y3, y2, y1, y0] = [1.0, 1.1, 1.22, 1.361];
        let cubic = mean(&[y3, y2, y1, y0]);
        let bashforth = (55.0 * y0 - 59.0 * y1 + 37.0 * y2 - 9.0 * y3) / 24.0;
        assert!((cubic.at(0.0) - bashforth).abs() < 1e-12);
        assert_eq!(cubic.truncated(0), cubic);
    }

    /// Equal spans have formulas of their own, which agree with those of any spans.
    #[test]
    fn equal_spans_are_no_exception() {
        let values: Vec<f64> = (0..9).map(|k| (0.3 * f64::from(k)).exp()).collect();
        let auto = fed(0, &values);
        assert_eq!(auto.order(), 3);
        let differences = auto.differences(9.0).unwrap();
        for (degree, sum) in (0..4).zip([1, 2, 3, 4].map(|n| differences[..n].iter().sum::<f64>()))
        {
            let polynomial = auto.history.polynomial(degree, 9.0).at(0.0);
            assert!((sum - polynomial).abs() < 1e-12 * polynomial.abs());
        }
        assert!(auto.differences(9.0 + 1e-6).is_none());
        let uneven = auto.curve(8.0, 1.0 + 1e-6).at(0.0);
        assert!((auto.curve(8.0, 1.0).at(0.0) - uneven).abs() < 1e-4);
        let mean = auto.history.polynomial(3, 8.0).mean(1.0);
        assert!((auto.curve(8.0, 1.0).at(0.0) - mean).abs() < 1e-12 * mean);
        assert!((auto.at(9.0) - auto.history.polynomial(3, 9.0).at(0.0)).abs() < 1e-11);
    }

    /// A cubic, the receiver makes four communication steps: the mean of each, by its integral.
    #[test]
    fn each_communication_step_of_a_unit_that_takes_values_has_its_mean() {
        let steps = SignalSteps {
            takes_slopes: false,
            curve_parts: 4,
            ..<dyn Extrapolation as crate::registry::EntryKind>::USUAL
        };
        let mut auto = Auto::default();
        auto.prepare(&steps).unwrap();
        let value = |t: f64| 1000.0 + 100.0 * t + 10.0 * t * t + t * t * t;
        let integral =
            |t: f64| 1000.0 * t + 50.0 * t * t + 10.0 / 3.0 * t.powi(3) + 0.25 * t.powi(4);
        for time in (0..6_i32).map(f64::from) {
            let value = value(time);
            auto.observe(Sample {
                time,
                value,
                slope: None,
            });
        }
        let curve = auto.curve(5.0, 1.0);
        for part in [0.0, 0.25, 0.5, 0.75] {
            let mean = 4.0 * (integral(5.25 + part) - integral(5.0 + part));
            assert!((curve.at(part) - mean).abs() < 1e-8, "{part}");
        }
        // Its error is that of the prediction, which is exact here.
        assert!(auto.error_of_prediction().unwrap().abs() < 1e-8);
    }

    /// One inner step of the semi-implicit Euler method: held values, and in all as much as if they had been held from the start. Of
    /// two, the mean of the values at their starts.
    #[test]
    fn inner_steps_get_the_values_at_their_starts() {
        let values: Vec<f64> = (0..7).map(|k| (0.2 * f64::from(k)).exp()).collect();
        let mut auto = fed(0, &[]);
        let mut given = 0.0;
        for (time, value) in (0..6_i32).map(f64::from).zip(&values) {
            let sample = |value| Sample {
                time,
                value,
                slope: None,
            };
            auto.observe(sample(*value));
            if time == 5.0 {
                auto.follow_inner_steps(1);
            }
            given += auto.curve(time, 1.0).at(0.0);
        }
        assert!((given - values[..6].iter().sum::<f64>()).abs() < 1e-12);
        assert_eq!(auto.inner_steps(), Some((1, 5.0)));
        let next = |auto: &mut Auto| {
            let value = values[6];
            auto.observe(Sample {
                time: 6.0,
                value,
                slope: None,
            });
            auto.curve(6.0, 1.0)
        };
        assert_eq!(next(&mut auto.clone()), Curve::constant(values[6]));
        auto.follow_inner_steps(2);
        let mean = next(&mut auto).at(0.0);
        let polynomial = auto.history.polynomial(auto.order(), 6.0);
        assert!((mean - 0.5 * (polynomial.at(0.0) + polynomial.at(0.5))).abs() < 1e-12);
    }

    /// A ramp over two communication steps in each step, which turn out to be inner steps: the receiver was to get the mean of the
    /// values at their starts, 7 + k and 7 + k + 1/2, from the first step on.
    #[test]
    fn communication_steps_get_the_values_at_their_starts() {
        let mut auto = Auto::default();
        let steps = SignalSteps {
            takes_slopes: false,
            curve_parts: 2,
            ..<dyn Extrapolation as crate::registry::EntryKind>::USUAL
        };
        auto.prepare(&steps).unwrap();
        let mut given = 0.0;
        for time in (0..6_i32).map(f64::from) {
            auto.observe(Sample {
                time,
                value: 7.0 + time,
                slope: None,
            });
            if time == 5.0 {
                auto.follow_inner_steps(2);
            }
            let curve = auto.curve(time, 1.0);
            given += 0.5 * (curve.at(0.0) + curve.at(0.5));
        }
        let expected = (0..6_i32).map(|k| 7.25 + f64::from(k)).sum::<f64>();
        assert!((given - expected).abs() < 1e-12, "{given} {expected}");
    }

    /// At the start, on the way, with inner steps, and held again after a line.
    #[test]
    fn a_state_goes_on_from_its_bytes() {
        let values = [
            0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, -1.0, 0.2, 0.9, 1.7, 2.4, 2.9, 3.1, 3.0,
        ];
        for follows in [0, usize::MAX] {
            for saved_at in [0, 2, 5, 7, 8, 13] {
                let mut auto = fed(follows, &values[..=saved_at]);
                if saved_at == 13 {
                    auto.follow_inner_steps(1);
                }
                let mut stream = StateStream::to_write();
                Extrapolation::transfer(&mut auto, &mut stream);
                let bytes = stream.finish().unwrap();
                let mut restored = fed(follows, &[]);
                let mut stream = StateStream::to_read(&bytes);
                Extrapolation::transfer(&mut restored, &mut stream);
                assert_eq!(stream.trouble(), None);
                for (time, value) in (0_i32..).zip(values).skip(saved_at) {
                    let (time, slope) = (f64::from(time), None);
                    if time > saved_at as f64 {
                        auto.observe(Sample { time, value, slope });
                        restored.observe(Sample { time, value, slope });
                    }
                    assert_eq!(restored.curve(time, 1.0), auto.curve(time, 1.0));
                    assert_eq!(restored.order(), auto.order());
                    assert_eq!(restored.changes(), auto.changes());
                    assert_eq!(restored.inner_steps(), auto.inner_steps());
                }
            }
        }
    }

    #[test]
    fn a_unit_that_takes_first_derivatives_gets_mean_and_end_value() {
        let values = [1.0, 1.1, 1.22, 1.361];
        let (whole, line) = (
            fed(3, &values).curve(3.0, 1.0),
            fed(1, &values).curve(3.0, 1.0),
        );
        assert!((line.mean(1.0) - whole.mean(1.0)).abs() < 1e-12);
        assert!((line.at(1.0) - whole.at(1.0)).abs() < 1e-12);
        assert_eq!(line.truncated(1), line);
    }

    /// y = t + t²/10 at 0, 1 and 3 s: its integral is 5.4; hold and line have given 0·1 + (1.1 + 1.1)·2.
    #[test]
    fn the_third_value_makes_up_for_the_impulse_that_the_first_steps_missed() {
        let mut auto = fed(0, &[]);
        for (time, value) in [(0.0, 0.0), (1.0, 1.1), (3.0, 3.9)] {
            auto.observe(Sample {
                time,
                value,
                slope: None,
            });
        }
        let passed = 4.5 + 0.9;
        let given = 0.0 + (1.1 + 1.1) * 2.0;
        assert!((auto.missed() - (passed - given) / 2.0).abs() < 1e-12);
        // An offset changes nothing.
        let mut higher = fed(0, &[]);
        for (time, value) in [(0.0, 7.0), (1.0, 8.1), (3.0, 10.9)] {
            higher.observe(Sample {
                time,
                value,
                slope: None,
            });
        }
        assert!((higher.missed() - auto.missed()).abs() < 1e-12);
        // The mean of y from 3 to 5 s, and what was missed.
        let mean = (8.0 + 98.0 / 30.0) / 2.0;
        assert!((auto.curve(3.0, 2.0).at(0.0) - mean - auto.missed()).abs() < 1e-12);
        auto.observe(Sample {
            time: 5.0,
            value: 7.5,
            slope: None,
        });
        assert_eq!(auto.missed(), 0.0);
        assert_eq!(fed(0, &[0.0, 1.0, 0.0]).missed(), 0.0);
    }
}
