//! Step doubling: every macro-step is made as a whole, undone, and made again in two halves. The halves stand, and their
//! difference to the whole is the error of each output, e = |y₂ − y₁|/(2ᵖ − 1). A step stands with ε = max e/(r·|y₂| +
//! a·y_nom) ≤ 1. The next size is H′ = H·α·ε^(−1/(m + 2)) within limits of size and change; m is the order of extrapolation
//! in use.
//!
//! Source: Hairer, Nørsett & Wanner 1993 §II.4; as a step control of co-simulation Schierz, Arnold & Clauß 2012. Use it if an
//! error is to be bounded and units save their states. Limits: three steps of the units for two; the error belongs to one
//! step, not to the run. p = 1 whatever the extrapolation: the halves extrapolate from a past that is closer, so that a line
//! gives 2.8 and a parabola 3.6 instead of 4 and 8, and sub-steps and many units are of order 1 anyway. An output that is
//! passed on stale has an error of order m + 1 itself, which both have alike in the next step, and which bounds the step
//! before.
//!
//! With E(s) = ∫₀ˢ t·(t + h)…(t + m·h) dt an extrapolation from m + 1 points leaves E(2h) over the whole step and
//! 2·E(h) over its halves. The ratio is 2 for a hold, 2.8 for a line, 3.56 for a parabola. Units with several
//! sub-steps, or with integrators of order 1, leave 2 in any case. p = m + 1 would claim 2, 4 and 8 and miss the true
//! error by up to 2.7 times. With p = 1 it is 0.16 to 0.81 of the tolerance in the median (docs/step-control.md);
//! smooth errors are overestimated by at most 2.6 times, which costs 1.3 times as many steps.

use super::sizes::{self, Sizes, keeps_its_state};
use super::{ControlledSystem, StepAudit, StepControl, StepControlFacts, StepDecision};
use crate::registry::{Arguments, Entry, POSITIVE, ParameterInfo};
use crate::state_stream::stored;

/// The controller: its parameters, and its memory.
#[derive(Debug, Clone)]
struct Richardson {
    tolerance: f64,
    absolute_tolerance: f64,
    safety: f64,
    change: (f64, f64),
    sizes: Sizes,
    /// Error that is allowed to each output whatever its value; infinite for outputs that change at events only.
    allowed: Vec<f64>,
    /// Outputs after the whole step.
    whole: Vec<f64>,
    misses: Misses,
    signals: [(&'static str, f64); 2],
}

/// Steps that missed the tolerance and could not be made shorter.
#[derive(Debug, Clone, Copy, Default)]
struct Misses {
    count: u64,
    /// Greatest error in units of the tolerance, and the end of its step, s.
    greatest: f64,
    time: f64,
}

// `tolerance` is the usual relative tolerance of FMI's default experiments; `safety` comes from Hairer et al., and the
// limits of change and size from `ecco`.
pub(super) const ENTRY: Entry<dyn StepControl> = Entry {
    name: "richardson",
    summary: "steps as long as a whole step and two halves agree; units have to save their states",
    source: "Hairer 1993 §II.4; Schierz 2012",
    parameters: &[
        ParameterInfo::number(
            "tolerance",
            "error of a step that each real output may have, relative to its value",
            1e-4,
            POSITIVE,
        ),
        ParameterInfo::number_or_auto(
            "absolute_tolerance",
            "error of a step that each real output may have besides, relative to its nominal value; auto: as tolerance",
            (0.0, f64::INFINITY),
        ),
        ParameterInfo::number("safety", "safety factor of the step size", 0.9, (0.01, 1.0)),
        sizes::SMALLEST_FIRST,
        ParameterInfo {
            summary: "smallest step, s, which stands whatever its error; auto: a hundredth of step_size",
            ..sizes::MINIMUM
        },
        sizes::MAXIMUM,
        sizes::SMALLEST_CHANGE,
        sizes::LARGEST_CHANGE,
    ],
    facts: |arguments, ()| StepControlFacts {
        may_repeat: true,
        always_repeats: true,
        parts: 2,
        contradiction: sizes::contradiction(arguments),
        ..StepControlFacts::default()
    },
    build: |arguments| Box::new(Richardson::new(arguments)),
};

/// Greatest ratio of a step to the rejected one before it: errors near the tolerance would reject it again.
const REJECTED: f64 = 0.9;

impl Richardson {
    fn new(arguments: &Arguments) -> Self {
        let tolerance = arguments.number("tolerance");
        let absolute = arguments.number_or_auto("absolute_tolerance");
        Self {
            tolerance,
            absolute_tolerance: absolute.unwrap_or(tolerance),
            safety: arguments.number("safety"),
            change: sizes::change(arguments),
            sizes: Sizes::new(arguments),
            allowed: Vec::new(),
            whole: Vec::new(),
            misses: Misses::default(),
            signals: [("step_size", 0.0), ("richardson.error", 0.0)],
        }
    }

    /// ε: the greatest error of an output over the one that it may have.
    fn error(&self, audit: &StepAudit<'_>) -> f64 {
        let outputs = audit.outputs.iter().zip(&self.whole).zip(&self.allowed);
        let errors = outputs.map(|((halves, whole), allowed)| {
            let error = (halves - whole).abs();
            let allowed = self.tolerance * halves.abs() + allowed;
            match error == 0.0 || allowed.is_infinite() {
                true => 0.0,
                false => error / allowed,
            }
        });
        errors.fold(0.0, |greatest, error| match error.is_nan() {
            true => f64::INFINITY,
            false => error.max(greatest),
        })
    }

    /// The ratio of the next step to the one that was made.
    fn ratio(&self, error: f64, order: usize) -> f64 {
        let (least, most) = self.change;
        let ratio = self.safety * error.powf(-1.0 / (order as f64 + 2.0));
        ratio.clamp(least, most)
    }
}

impl StepControl for Richardson {
    fn first(&mut self, system: &ControlledSystem<'_>) -> f64 {
        let outputs = system.outputs.iter();
        let allowed = outputs.map(|output| match output.is_discrete {
            true => f64::INFINITY,
            false => self.absolute_tolerance * output.nominal,
        });
        self.allowed = allowed.collect();
        self.whole = vec![0.0; system.outputs.len()];
        self.sizes.begin(system.macro_step, 0.0)
    }

    fn next(&mut self, audit: &StepAudit<'_>) -> StepDecision {
        let size = audit.step.size;
        if audit.parts == 1 {
            self.whole.copy_from_slice(audit.outputs);
            return StepDecision::Redo { size, parts: 2 };
        }
        // Halves are not a whole step if one of them ended the simulation.
        let error = match audit.has_ended {
            true => 0.0,
            false => self.error(audit),
        };
        self.signals[0].1 = size;
        self.signals[1].1 = error;
        let ratio = self.ratio(error, audit.order);
        if error > 1.0 {
            let shorter = self.sizes.limited(size * ratio.min(REJECTED));
            if audit.can_shrink_to(shorter) {
                return StepDecision::Redo {
                    size: shorter,
                    parts: 1,
                };
            }
            self.misses.add(error, audit.step.time + size);
        }
        StepDecision::Continue(self.sizes.limited(size * ratio))
    }

    fn refused(&mut self, size: f64) -> Option<f64> {
        self.sizes.halved(size)
    }

    fn warnings(&self) -> Vec<String> {
        let Misses {
            count,
            greatest,
            time,
        } = self.misses;
        if count == 0 {
            return Vec::new();
        }
        let steps = if count == 1 { "step has" } else { "steps have" };
        let greatest = if greatest < 1e4 {
            format!("{greatest:.1}")
        } else {
            format!("{greatest:.1e}")
        };
        vec![format!(
            "step control `richardson`: {count} {steps} an error above the tolerance, and cannot be made shorter than {} s; the \
             greatest is {greatest} times the tolerance, at t = {time:.6} s: set a smaller `minimum_step`, or a larger \
             `tolerance`",
            self.sizes.least()
        )]
    }

    keeps_its_state!();
}

impl Misses {
    fn add(&mut self, error: f64, time: f64) {
        self.count += 1;
        if error > self.greatest {
            (self.greatest, self.time) = (error, time);
        }
    }
}

stored!(Misses {
    count,
    greatest,
    time
});
// `whole` holds within a step only.
stored!(Richardson {
    misses, signals;
    whole, tolerance, absolute_tolerance, safety, change, sizes, allowed
});
