//! A signal that is sent every macro-step, without an engine.

use gyrator::h_infinity::{Compensator, Design, Smoother, TransferFunction};

/// From the samples of a signal to its course over a macro-step.
#[derive(Debug, Clone)]
pub(crate) enum Channel {
    /// The polynomial of this degree, at most 2, through the newest samples, newest first.
    Polynomial { degree: usize, samples: [f64; 3] },
    /// Compensated before it is sampled, held, and perhaps smoothed after.
    Compensated {
        compensator: Box<Compensator>,
        smoother: Option<Smoother>,
        held: f64,
    },
}

/// Macro-step, and the steps of compensator and smoother, s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    pub(crate) exchange: f64,
    pub(crate) sender: f64,
    pub(crate) receiver: f64,
}

impl Channel {
    pub(crate) fn polynomial(degree: usize) -> Self {
        Self::Polynomial {
            degree,
            samples: [0.0; 3],
        }
    }

    pub(crate) fn compensated(design: &Design, steps: Steps) -> Self {
        let cutoff = design.specification.smoother_cutoff;
        Self::Compensated {
            compensator: Box::new(design.discretise(steps.exchange, steps.sender)),
            smoother: cutoff.map(|cutoff| Smoother::new(cutoff / steps.exchange, steps.receiver)),
            held: 0.0,
        }
    }

    /// With a compensator in seconds and a smoother with a cut-off in Hz; `None` if the compensator
    /// has too many states.
    pub(crate) fn with(k1: &TransferFunction, cutoff: f64, steps: Steps) -> Option<Self> {
        Some(Self::Compensated {
            compensator: Box::new(Compensator::new(k1, steps.sender)?),
            smoother: Some(Smoother::new(cutoff, steps.receiver)),
            held: 0.0,
        })
    }

    /// The received value, `part` of a macro-step after the newest exchange; of a smoothed signal the
    /// present value.
    pub(crate) fn value(&self, part: f64) -> f64 {
        match self {
            Self::Polynomial { degree, samples } => {
                let [a, b, c] = *samples;
                let s = part;
                match degree {
                    0 => a,
                    1 => a + s * (a - b),
                    _ => a + s * (1.5 * a - 2.0 * b + 0.5 * c) + s * s * (0.5 * a - b + 0.5 * c),
                }
            }
            Self::Compensated { smoother, held, .. } => {
                smoother.as_ref().map_or(*held, Smoother::output)
            }
        }
    }

    /// Sends `value` at a communication point.
    pub(crate) fn send(&mut self, value: f64) {
        match self {
            Self::Polynomial { samples, .. } => *samples = [value, samples[0], samples[1]],
            Self::Compensated {
                compensator, held, ..
            } => *held = compensator.output(value),
        }
    }

    /// Adds to what is held: a correction.
    pub(crate) fn add(&mut self, correction: f64) {
        match self {
            Self::Polynomial { samples, .. } => samples[0] += correction,
            Self::Compensated { held, .. } => *held += correction,
        }
    }

    /// A step of the sender, at whose start the signal is `value`.
    pub(crate) fn advance_sender(&mut self, value: f64) {
        if let Self::Compensated { compensator, .. } = self {
            compensator.advance(value);
        }
    }

    /// A step of the receiver.
    pub(crate) fn advance_receiver(&mut self) {
        if let Self::Compensated {
            smoother: Some(smoother),
            held,
            ..
        } = self
        {
            smoother.advance(*held);
        }
    }

    /// Everything that a macro-step hands to the next.
    pub(crate) fn memory(&mut self) -> Vec<&mut f64> {
        match self {
            Self::Polynomial { degree, samples } => samples[..=*degree].iter_mut().collect(),
            Self::Compensated {
                compensator,
                smoother,
                held,
            } => {
                let smoothed = smoother.iter_mut().flat_map(Smoother::memory);
                compensator.memory().chain(smoothed).chain([held]).collect()
            }
        }
    }
}
