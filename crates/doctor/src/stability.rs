//! Up to which macro-step a coupling is stable.
//!
//! A disturbance that grows by the factor ρ in a macro-step has grown ρ^(T/H)-fold after the time T. An undamped
//! oscillator with held inputs has ρ > 1 at every macro-step, and is useful where that is little: a coupling counts as
//! stable where a disturbance grows at most tenfold over the run, beyond what it would by itself.

use gyrator_system::SystemFile;
use serde::Serialize;

use crate::disturbance::{Response, Wiring, response};
use crate::modes::Modes;
use crate::probe::{ProbeFailure, Prober};

// Numbers without a reason are choices. The study of fifty systems (docs/doctor.md) judges them by their result: how near the
// limits of stability are to those of whole runs, that no proposal is worse, and the cost.

/// Growth of a disturbance over the run at which its coupling is no longer stable: a choice.
const GROWTH: f64 = 10.0;
/// Macro-steps of a run without a stop time.
const STEPS_WITHOUT_END: f64 = 1e4;
/// Difference from one of the identified spectral radius of a loop that keeps its energy.
const RESOLUTION: f64 = 1e-7;
/// Points of a probe at the macro-step of the system, and at least; larger macro-steps take fewer.
const POINTS: f64 = 72.0;
const FEWEST_POINTS: f64 = 20.0;
/// The macro-step after one that is stable, over a guess of the limit: just on the other side.
const GUESSED: f64 = 1.12;
/// Rate of growth at a macro-step over that at a larger one, at most, of a system that grows by itself: what probes leave of its equality.
const RISING: f64 = 1.05;
/// Exponent of the growth in one macro-step, at most, of a system that grows by itself and is resolved.
const GREATEST_IN_A_STEP: f64 = 0.5;
/// Points of a probe that confirms a slow growth, over those of an ordinary one.
const LONGER: f64 = 3.0;
/// From one probe to the next, until one is on the other side.
const STRIDE: f64 = 4.0;
/// Limits that are guessed are at most so many times the largest macro-step that was looked at.
const FURTHEST_GUESS: f64 = 8.0;
/// How near the two sides are in the end.
const NEAR: f64 = 1.25;
/// Largest and smallest macro-step that are looked at, relative to the one of the system.
const FURTHEST: f64 = 64.0;

/// A macro-step that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    /// Macro-step, s.
    pub step_size: f64,
    /// Spectral radius of the loop over a macro-step; `None` where it was not seen.
    pub spectral_radius: Option<f64>,
    /// How much a disturbance grows over the run, beyond what it would by itself.
    pub growth: Option<f64>,
    /// Whether that is stable.
    pub is_stable: bool,
    /// Why it is not, where that is not its growth.
    pub reason: Option<String>,
}

/// Whether a coupling is stable.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Stability {
    /// Whether it is at the macro-step of the system; `None` where that was not found.
    pub is_stable: Option<bool>,
    /// Largest macro-step at which it is, s; `None` where none was found.
    pub largest_step: Option<f64>,
    /// It is stable at the largest macro-step that was looked at, and shows no limit.
    pub is_open: bool,
    /// It is stable at the largest macro-step that was looked at; the limit follows from the growth there and at smaller ones, or
    /// from the fastest mode.
    pub is_extrapolated: bool,
    /// The macro-steps that were looked at, from small to large.
    pub levels: Vec<Level>,
    /// Time over which growth counts, s.
    pub duration: f64,
}

/// A search for the limit of stability.
pub(crate) struct Search<'s, 'p, 'a> {
    pub(crate) prober: &'s mut Prober<'a>,
    pub(crate) system: &'p SystemFile,
    pub(crate) wiring: &'p Wiring,
    /// Macro-step of the system, s.
    pub(crate) step: f64,
    /// Time from start to stop, s.
    pub(crate) duration: Option<f64>,
    /// Rates of growth, 1/s, by the factor of the macro-step, from small to large; negative where a disturbance fades.
    rates: Vec<(f64, f64)>,
    /// Longest macro-steps by the fastest mode, by the factor of the macro-step that shows it: factors, too.
    longest: Vec<(f64, f64)>,
    found: Vec<(f64, Level)>,
}

impl<'s, 'p, 'a> Search<'s, 'p, 'a> {
    pub(crate) fn new(
        prober: &'s mut Prober<'a>,
        system: &'p SystemFile,
        wiring: &'p Wiring,
        step: f64,
        duration: Option<f64>,
    ) -> Self {
        Self {
            prober,
            system,
            wiring,
            step,
            duration,
            rates: Vec::new(),
            longest: Vec::new(),
            found: Vec::new(),
        }
    }

    fn duration(&self) -> f64 {
        self.duration.unwrap_or(STEPS_WITHOUT_END * self.step)
    }

    /// Looks at the macro-step of the system only.
    pub(crate) fn at_given(mut self) -> Result<Stability, ProbeFailure> {
        match self.is_stable(1.0) {
            Ok(_) | Err(ProbeFailure::Spent) => Ok(self.outcome(true)),
            Err(failure) => Err(failure),
        }
    }

    /// Looks for the limit, as long as there are steps left.
    pub(crate) fn limit(mut self) -> Result<Stability, ProbeFailure> {
        match self.bracket() {
            Ok(is_open) => Ok(self.outcome(is_open)),
            Err(ProbeFailure::Spent) => Ok(self.outcome(true)),
            Err(failure) => Err(failure),
        }
    }

    /// Narrows the limit down; true where none was found up to the largest macro-step.
    fn bracket(&mut self) -> Result<bool, ProbeFailure> {
        let mut factor = 1.0;
        let (mut below, mut above);
        if self.is_stable(factor)? {
            loop {
                below = factor;
                factor = self.next_above(below);
                // Of a run with few steps a larger one shows nothing.
                let is_beyond = self
                    .duration
                    .is_some_and(|duration| duration / (factor * self.step) < FEWEST_POINTS / 2.0);
                if factor > FURTHEST || is_beyond {
                    return Ok(true);
                }
                if !self.is_stable(factor)? {
                    above = factor;
                    break;
                }
            }
        } else {
            loop {
                above = factor;
                factor /= STRIDE;
                if factor < FURTHEST.recip() {
                    return Ok(false);
                }
                if self.is_stable(factor)? {
                    below = factor;
                    break;
                }
            }
        }
        while above / below > NEAR {
            let middle = (above * below).sqrt();
            match self.is_stable(middle)? {
                true => below = middle,
                false => above = middle,
            }
        }
        Ok(false)
    }

    /// The macro-step after a stable one: just above the limit where growth shows one, since its rate is about
    /// proportional to the macro-step, or the fastest mode; else much larger.
    fn next_above(&self, below: f64) -> f64 {
        let rate = self.rates.iter().find(|(factor, _)| *factor == below);
        let exponent = rate.map_or(0.0, |(_, rate)| rate * self.duration());
        let of_growth = match exponent > 0.0 {
            true => below * GROWTH.ln() / exponent,
            false => f64::INFINITY,
        };
        let guess = of_growth.min(self.longest_by_mode(below));
        match guess < STRIDE * below {
            true => (GUESSED * guess).max(NEAR * below),
            false => STRIDE * below,
        }
    }

    fn is_stable(&mut self, factor: f64) -> Result<bool, ProbeFailure> {
        let level = self.level(factor)?;
        let is_stable = level.is_stable;
        self.found.push((factor, level));
        Ok(is_stable)
    }

    fn level(&mut self, factor: f64) -> Result<Level, ProbeFailure> {
        let step_size = factor * self.step;
        let unstable = |reason: String| Level {
            step_size,
            spectral_radius: None,
            growth: None,
            is_stable: false,
            reason: Some(reason),
        };
        let modes = match self.response(factor) {
            Ok(Response { modes, .. }) => modes,
            Err(ProbeFailure::Failed(reason) | ProbeFailure::Refused(reason)) => {
                return Ok(unstable(reason));
            }
            Err(failure) => return Err(failure),
        };
        let Some(Modes { radius, longest }) = modes else {
            return Ok(unstable(
                "the response to a disturbance has no clear modes".to_owned(),
            ));
        };
        self.longest.push((factor, factor * longest));
        let radius = self.confirmed(radius, factor)?;
        let rate = self.keep_rate(radius, factor);
        let natural = match rate * self.duration() > GROWTH.ln() {
            true => self.natural_rate(factor)?,
            false => 0.0,
        };
        let rate = rate.max(0.0);
        let growth = ((rate - natural) * self.duration()).exp();
        Ok(Level {
            step_size,
            spectral_radius: Some(radius),
            growth: Some(growth),
            is_stable: growth <= GROWTH,
            reason: None,
        })
    }

    /// The radius of a longer probe, where growth over the run was inferred from a probe that hardly shows it: in a system that is not
    /// linear it is that of one phase of its course.
    fn confirmed(&mut self, radius: f64, factor: f64) -> Result<f64, ProbeFailure> {
        let steps = self.duration() / (factor * self.step);
        let grows = steps * radius.ln() > GROWTH.ln();
        if !grows || POINTS * radius.ln() > GROWTH.ln() {
            return Ok(radius);
        }
        match self.response_over(factor, LONGER) {
            Ok(longer) => Ok(longer.modes.map_or(radius, |modes| modes.radius)),
            Err(ProbeFailure::Spent | ProbeFailure::Failed(_)) => Ok(radius),
            Err(failure) => Err(failure),
        }
    }

    /// Growth in a second, as a rate.
    fn keep_rate(&mut self, radius: f64, factor: f64) -> f64 {
        let rate = match (radius - 1.0).abs() <= RESOLUTION {
            true => 0.0,
            false => radius.ln() / (factor * self.step),
        };
        self.rates.retain(|(known, _)| *known != factor);
        self.rates.push((factor, rate));
        self.rates.sort_by(|a, b| a.0.total_cmp(&b.0));
        rate
    }

    /// The rate at which the system grows by itself: that at a macro-step of nothing, on a line through those at the two
    /// smallest macro-steps; two more are made where there are no smaller ones.
    fn natural_rate(&mut self, factor: f64) -> Result<f64, ProbeFailure> {
        for part in [0.5, 0.25] {
            if self.rates.len() < 3 {
                let smaller = part * factor;
                let found = self.response(smaller)?;
                self.keep_rate(found.modes.map_or(0.0, |modes| modes.radius), smaller);
            }
        }
        let [(one, slow), (other, fast)] = [self.rates[0], self.rates[1]];
        let (slow, fast) = (slow.max(0.0), fast.max(0.0));
        // Growth that is faster in smaller macro-steps, or large in each, comes from the coupling.
        let is_converging = slow <= RISING * fast && slow * one * self.step < GREATEST_IN_A_STEP;
        if !is_converging {
            return Ok(0.0);
        }
        let at_nothing = slow - (fast - slow) * one / (other - one);
        Ok(at_nothing.clamp(0.0, slow))
    }

    fn response(&mut self, factor: f64) -> Result<Response, ProbeFailure> {
        self.response_over(factor, 1.0)
    }

    fn response_over(&mut self, factor: f64, times: f64) -> Result<Response, ProbeFailure> {
        let length = factor.max(1.0) * self.wiring.stride as f64;
        let points = times * (POINTS / length.sqrt()).max(FEWEST_POINTS);
        let most = self.duration.map_or(f64::MAX, |duration| {
            (duration / (factor * self.step) * (1.0 + 1e-9)).floor()
        });
        let points = (points as usize, most as usize);
        response(self.prober, self.system, self.wiring, factor, points)
    }

    /// The longest macro-step by the fastest mode at this one.
    fn longest_by_mode(&self, factor: f64) -> f64 {
        let known = self.longest.iter().find(|(known, _)| *known == factor);
        known.map_or(f64::INFINITY, |(_, longest)| *longest)
    }

    /// The limit, s, where all macro-steps that were looked at are stable.
    fn extrapolated(&self) -> Option<f64> {
        let (last, _) = self.found.last()?;
        let of_growth = self.by_growth().unwrap_or(f64::INFINITY);
        let nearest = of_growth.min(self.longest_by_mode(*last));
        (nearest < FURTHEST_GUESS * last).then_some(nearest * self.step)
    }

    /// The factor of the macro-step at which the growth over the run reaches its limit: on a parabola of the rates at the three
    /// largest ones that were looked at.
    fn by_growth(&self) -> Option<f64> {
        let rates = self.rates.iter().filter(|(_, rate)| rate.is_finite());
        let rates: Vec<(f64, f64)> = rates.copied().collect();
        let points = &rates[rates.len().saturating_sub(3)..];
        let &(last, _) = points.last()?;
        let limit = GROWTH.ln() / self.duration();
        let excess = |factor: f64| interpolated(points, factor) - limit;
        let furthest = STRIDE * last;
        if points.len() < 2 || excess(last) > 0.0 || excess(furthest) < 0.0 {
            return None;
        }
        let (mut below, mut above) = (last, furthest);
        while above / below > 1.001 {
            let middle = (below * above).sqrt();
            match excess(middle) > 0.0 {
                true => above = middle,
                false => below = middle,
            }
        }
        Some(below)
    }

    fn outcome(mut self, is_open: bool) -> Stability {
        self.found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let given = self.found.iter().find(|(factor, _)| *factor == 1.0);
        let first_unstable = self.found.iter().position(|(_, level)| !level.is_stable);
        let stable = &self.found[..first_unstable.unwrap_or(self.found.len())];
        let largest = stable.last().map(|(_, level)| level);
        let next = first_unstable.map(|index| &self.found[index].1);
        let extrapolated = first_unstable
            .is_none()
            .then(|| self.extrapolated())
            .flatten();
        let largest_step = match (largest, next) {
            (Some(below), Some(above)) => Some(between(below, above)),
            (below, _) => extrapolated.or_else(|| below.map(|level| level.step_size)),
        };
        Stability {
            is_stable: given.map(|(_, level)| level.is_stable),
            largest_step,
            is_open: is_open && first_unstable.is_none() && extrapolated.is_none(),
            is_extrapolated: extrapolated.is_some(),
            duration: self.duration(),
            levels: self.found.into_iter().map(|(_, level)| level).collect(),
        }
    }
}

/// The polynomial through some points (Lagrange).
fn interpolated(points: &[(f64, f64)], at: f64) -> f64 {
    let weight = |own: f64| {
        let others = points.iter().filter(|(other, _)| *other != own);
        others.fold(1.0, |weight, (other, _)| {
            weight * (at - other) / (own - other)
        })
    };
    points.iter().map(|(own, value)| value * weight(*own)).sum()
}

/// The macro-step between two at which growth reaches its limit, on a line of logarithms.
fn between(below: &Level, above: &Level) -> f64 {
    let exponent = |level: &Level| {
        level
            .growth
            .map(f64::ln)
            .filter(|found| found.is_finite() && *found > 0.0)
    };
    let (small, large) = (below.step_size, above.step_size);
    let middle = (small * large).sqrt();
    let (Some(least), Some(most)) = (exponent(below), exponent(above)) else {
        return middle;
    };
    let slope = (most / least).ln() / (large / small).ln();
    match slope > 0.0 {
        true => (small * (GROWTH.ln() / least).powf(slope.recip())).clamp(small, large),
        false => middle,
    }
}
