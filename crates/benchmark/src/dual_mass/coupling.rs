//! The halves of the dual mass, coupled at macro-steps of 50 ms.

use nalgebra::DMatrix;

use super::stability::spectral_radius;
use super::system::{Course, DualMass, MICRO_STEP, MICRO_STEPS, Motion, external};
use crate::channel::{Channel, Steps};
use crate::metrics::nrms;

/// Micro-steps in a macro-step.
pub(crate) const PARTS: usize = 50;
/// Macro-step, s.
pub(crate) const MACRO_STEP: f64 = PARTS as f64 * MICRO_STEP;

/// Compensators and smoothers work at each micro-step.
pub(crate) const STEPS: Steps = Steps {
    exchange: MACRO_STEP,
    sender: MICRO_STEP,
    receiver: MICRO_STEP,
};

/// A micro-step's start as part of the macro-step.
fn place(part: usize) -> f64 {
    part as f64 / PARTS as f64
}

/// A coupling of the two halves, at a communication point.
#[derive(Debug, Clone)]
pub(crate) struct Coupling {
    /// Mass 2's velocity, to half 1.
    pub(crate) velocity: Channel,
    /// The coupling force, to half 2.
    pub(crate) force: Channel,
    /// Half 1 takes the new velocity before it gives its force; else the force belongs to the
    /// velocity that half 1 had until now.
    pub(crate) is_fresh: bool,
    /// Shares of the integrated errors of velocity and force that are given back per macro-step
    /// (NEPCE).
    pub(crate) given_back: [f64; 2],
    /// Integrals of sent less received velocity and force.
    missing: [f64; 2],
    motion: Motion,
}

impl Coupling {
    pub(crate) fn new(velocity: Channel, force: Channel, is_fresh: bool) -> Self {
        Self {
            velocity,
            force,
            is_fresh,
            given_back: [0.0; 2],
            missing: [0.0; 2],
            motion: Motion::default(),
        }
    }

    pub(crate) fn with_nepce(self, given_back: [f64; 2]) -> Self {
        Self { given_back, ..self }
    }

    fn exchange(&mut self, system: &DualMass) {
        let back = |signal: usize| self.given_back[signal] * self.missing[signal] / MACRO_STEP;
        let (velocity, force) = (back(0), back(1));
        let before = self.velocity.value(1.0);
        self.velocity.send(self.motion[3]);
        self.velocity.add(velocity);
        let known = if self.is_fresh {
            self.velocity.value(0.0)
        } else {
            before
        };
        self.force.send(system.force(&self.motion, known));
        self.force.add(force);
    }

    /// One macro-step; `seen` receives velocity and force at each micro-step.
    fn advance(
        &mut self,
        system: &DualMass,
        external: impl Fn(usize) -> f64,
        mut seen: impl FnMut([f64; 2]),
    ) {
        self.exchange(system);
        for part in 0..PARTS {
            let received = [
                self.velocity.value(place(part)),
                self.force.value(place(part)),
            ];
            let sent = [self.motion[3], system.force(&self.motion, received[0])];
            seen(sent);
            for (signal, missing) in self.missing.iter_mut().enumerate() {
                *missing += MICRO_STEP * (sent[signal] - received[signal]);
            }
            system.advance(&mut self.motion, received, external(part));
            for (channel, sent) in [(&mut self.velocity, sent[0]), (&mut self.force, sent[1])] {
                channel.advance_sender(sent);
                channel.advance_receiver();
            }
        }
    }

    /// The whole run.
    pub(crate) fn course(mut self, system: &DualMass, pulse: usize) -> Course {
        let mut course = Vec::with_capacity(MICRO_STEPS);
        for step in 0..MICRO_STEPS / PARTS {
            let external = |part| external(step * PARTS + part, pulse);
            self.advance(system, external, |seen| course.push(seen));
        }
        course
    }

    fn memory(&mut self) -> Vec<&mut f64> {
        let mut memory: Vec<&mut f64> = self.motion.iter_mut().collect();
        memory.extend(self.velocity.memory());
        memory.extend(self.force.memory());
        let is_given_back = |(_, share): &(&mut f64, &f64)| **share > 0.0;
        let missing = self.missing.iter_mut().zip(&self.given_back);
        memory.extend(missing.filter(is_given_back).map(|(missing, _)| missing));
        memory
    }

    /// The greatest eigenvalue of a macro-step, without the 1 of the drift that the integral of a
    /// received velocity always has.
    pub(crate) fn spectral_radius(mut self, system: &DualMass) -> f64 {
        let order = self.memory().len();
        let mut monodromy = DMatrix::zeros(order, order);
        for (column, mut after) in monodromy.column_iter_mut().enumerate() {
            for (row, entry) in self.memory().into_iter().enumerate() {
                *entry = f64::from(u8::from(row == column));
            }
            self.advance(system, |_| 0.0, drop);
            for (entry, after) in self.memory().into_iter().zip(after.iter_mut()) {
                *after = *entry;
            }
        }
        spectral_radius(monodromy, Some(1.0))
    }
}

/// Errors of velocity and force.
pub(crate) fn errors(course: &Course, reference: &Course) -> [f64; 2] {
    std::array::from_fn(|variable| nrms(course, reference, variable))
}
