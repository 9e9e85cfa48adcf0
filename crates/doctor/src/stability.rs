//! Up to which macro-step a coupling is stable.
//!
//! A disturbance that grows by the factor ρ in a macro-step has grown ρ^(T/H)-fold after the time T. An undamped
//! oscillator with held inputs has ρ > 1 at every macro-step, and is useful where that is little: a coupling counts as
//! stable where a disturbance grows at most tenfold over the run, beyond what it would by itself.

use gyrator_system::SystemFile;
use serde::Serialize;

use crate::disturbance::{Response, Wiring, response};
use crate::probe::{ProbeFailure, Prober};

/// Growth of a disturbance over the run at which its coupling is no longer stable: a choice.
const GROWTH: f64 = 10.0;
/// Macro-steps of a run without a stop time.
const STEPS_WITHOUT_END: f64 = 1e4;
/// What the spectral radius of a loop that keeps its energy differs from one by, as it is identified.
const RESOLUTION: f64 = 1e-7;
/// Points of a probe at the macro-step of the system, and at least; larger macro-steps take fewer.
const POINTS: f64 = 72.0;
const FEWEST_POINTS: f64 = 24.0;
/// From one probe to the next, until one is on the other side.
const STRIDE: f64 = 4.0;
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
    /// It is stable at the largest macro-step that was looked at.
    pub is_open: bool,
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
    /// Rates of growth, 1/s, by the factor of the macro-step.
    rates: Vec<(f64, f64)>,
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
                factor *= STRIDE;
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
        let radius = match self.response(factor) {
            Ok(Response { radius, .. }) => radius,
            Err(ProbeFailure::Failed(reason) | ProbeFailure::Refused(reason)) => {
                return Ok(unstable(reason));
            }
            Err(failure) => return Err(failure),
        };
        let Some(radius) = radius else {
            return Ok(unstable(
                "the response to a disturbance has no clear modes".to_owned(),
            ));
        };
        let steps = self.duration() / step_size;
        let rate = self.rate(radius, step_size);
        let exceeds = |rate: f64| rate * self.duration() > GROWTH.ln();
        let natural = match exceeds(rate) {
            true => self.natural_rate(factor, rate)?,
            false => 0.0,
        };
        let growth = ((rate - natural) * self.duration()).exp();
        let _ = steps;
        Ok(Level {
            step_size,
            spectral_radius: Some(radius),
            growth: Some(growth),
            is_stable: growth <= GROWTH,
            reason: None,
        })
    }

    /// Growth in a second, as a rate.
    fn rate(&self, radius: f64, step_size: f64) -> f64 {
        match radius <= 1.0 + RESOLUTION {
            true => 0.0,
            false => radius.ln() / step_size,
        }
    }

    /// The rate at which the system grows by itself: that at a macro-step of nothing, continued from two small ones.
    fn natural_rate(&mut self, factor: f64, rate: f64) -> Result<f64, ProbeFailure> {
        let mut rates = [rate; 2];
        for (part, found) in [0.5, 0.25].into_iter().zip(&mut rates) {
            let smaller = factor * part;
            let known = self.rates.iter().find(|(other, _)| *other == smaller);
            if let Some((_, known)) = known {
                *found = *known;
                continue;
            }
            let Ok(Response {
                radius: Some(radius),
                ..
            }) = self.response(smaller)
            else {
                return Ok(0.0);
            };
            *found = self.rate(radius, smaller * self.step);
            self.rates.push((smaller, *found));
        }
        let [half, quarter] = rates;
        Ok((2.0 * quarter - half).clamp(0.0, quarter))
    }

    fn response(&mut self, factor: f64) -> Result<Response, ProbeFailure> {
        let points = (POINTS / factor.max(1.0).sqrt()).max(FEWEST_POINTS) as usize;
        response(self.prober, self.system, self.wiring, factor, points)
    }

    fn outcome(mut self, is_open: bool) -> Stability {
        self.found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let given = self.found.iter().find(|(factor, _)| *factor == 1.0);
        let first_unstable = self.found.iter().position(|(_, level)| !level.is_stable);
        let stable = &self.found[..first_unstable.unwrap_or(self.found.len())];
        let largest = stable.last().map(|(_, level)| level.step_size);
        let next = first_unstable.map(|index| self.found[index].1.step_size);
        Stability {
            is_stable: given.map(|(_, level)| level.is_stable),
            largest_step: match (largest, next) {
                (Some(below), Some(above)) if !is_open => Some((below * above).sqrt()),
                (largest, _) => largest,
            },
            is_open: is_open && first_unstable.is_none(),
            duration: self.duration(),
            levels: self.found.into_iter().map(|(_, level)| level).collect(),
        }
    }
}
