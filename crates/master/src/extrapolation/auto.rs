//! A polynomial of degree 0 to 3, selected for each signal by past prediction errors. Each new value gives the errors
//! eₖ of all degrees k, averaged as Eₖ ← m·Eₖ + (1 − m)·eₖ². The degree falls to a lower one with no greater E, and
//! rises by one if that degree's E is below the share g of the present one's. After the start and after a
//! discontinuity it rises with each value. A signal that jumps, and then turns back by more than half of the jump,
//! rings: it is held until a line would have predicted it better.
//!
//! The receiver gets the form that it can follow: the polynomial; the line with its mean and end value, if the unit
//! takes first derivatives; its mean over each communication step, if the unit takes values only. If the inner steps
//! of such a unit prove to be semi-implicit Euler steps, it gets the mean of the values at the starts of its inner
//! steps. This method then integrates the coupled system as a whole.
//!
//! Three additions keep the integral of an input equal to its source's; springs and other integrators need that. They
//! are ũ += (∫p₂ − ∫ũ)/h at the third value, which makes up for the first two steps (p₂ is the parabola through the
//! three values); half an inner step, when inner steps show; and the lag h/2 of held values, when the degree falls to
//! 0 again.
//!
//! Source: own; the polynomials from Sadjina & Pedersen (2019) §2, their means over equal steps the methods of Adams &
//! Bashforth. Use it unless a signal is known to need another one. Limits: a degree is selected after its errors have
//! shown, also in a loop that only hold damps. The implicit Euler method looks like the semi-implicit one, and also
//! gets held values.

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
    /// The step by which the signal left its past, if nothing has announced it; otherwise 0.
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

/// Steps after the first value in which means are compared with values, as in `inner_steps.rs`.
const OPENING: u32 = 16;

/// Changes of the order that are kept for the report: a signal whose order swings has too many.
const KEPT_CHANGES: usize = 4;

/// Share of the past that the averages keep at each value. Measured on random oscillators: 0.5 to 0.7 have
/// the least errors; with 0.9 a degree that has begun to ring is kept too long.
const MEMORY: f64 = 0.6;
/// A higher degree is selected if its squared error is less than this share of the present one's. Measured as
/// [`MEMORY`]: 0.5 costs accuracy. The hysteresis keeps noise from moving the degree, and low degrees are the stable ones.
const GAIN: f64 = 0.9;
/// The missed impulse is made up for if the line misses the third value by less than this share of what hold does:
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
        let before = self.errors;
        self.errors = std::array::from_fn(|degree| averaged(before[degree], misses[degree]));
        // Of higher degrees nothing is known.
        self.errors[highest + 1..].copy_from_slice(&before[highest + 1..]);
    }

    /// The newest value and its backward differences of orders 1 to 3, if there are four values at equal distances, and
    /// `time` follows at the same distance. The polynomial of degree n is then the sum of the first n + 1 of them there.
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

    /// Raises the degree with a new value, if that makes a polynomial possible that has no past errors.
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

    /// Keeps the lag of held values, if the degree has become 0, or was 0 before the newest value. By the trapezoidal rule
    /// steps of length h with held values lack Σ h·(uₖ₊₁ − uₖ)/2, which is 0 again once the signal has come back; steps on a
    /// line from k to n make h·(uₙ₋₁ − uₖ₋₁)/2 of it good, which the next step takes back. If that is more than the last
    /// changes, the signal has gone its way for long, and will be on a line again soon: then it would be a disturbance, not a
    /// lag.
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

    /// Finds the spacing from the values: after the first one, and if the newest one was replaced.
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
mod tests;
