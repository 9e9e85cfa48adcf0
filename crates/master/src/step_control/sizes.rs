//! First, least and greatest size of the steps: parameters that step controls share.

use crate::registry::{Arguments, ParameterInfo};

/// Every size that is positive.
pub(super) const POSITIVE: (f64, f64) = (f64::MIN_POSITIVE, f64::INFINITY);

/// The parameters, with these summaries of the first and the smallest size.
pub(super) const fn parameters(
    first: &'static str,
    minimum: &'static str,
) -> (ParameterInfo, ParameterInfo, ParameterInfo) {
    (
        ParameterInfo::number_or_auto("first_step", first, POSITIVE),
        ParameterInfo::number_or_auto("minimum_step", minimum, POSITIVE),
        ParameterInfo::number_or_auto(
            "maximum_step",
            "largest step, s; auto: ten times step_size",
            POSITIVE,
        ),
    )
}

/// The sizes as they are asked for, s, and their limits.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    first: Option<f64>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    limits: (f64, f64),
}

impl Sizes {
    pub(super) fn new(arguments: &Arguments) -> Self {
        Self {
            first: arguments.number_or_auto("first_step"),
            minimum: arguments.number_or_auto("minimum_step"),
            maximum: arguments.number_or_auto("maximum_step"),
            limits: (0.0, f64::INFINITY),
        }
    }

    /// Sets the limits where the experiment's macro-step is `macro_step`. Returns the size of the first step, `usual` if none is
    /// asked for.
    pub(super) fn begin(&mut self, macro_step: f64, usual: f64) -> f64 {
        self.limits = (
            self.minimum.unwrap_or(1e-2 * macro_step),
            self.maximum.unwrap_or(1e1 * macro_step),
        );
        self.limited(self.first.unwrap_or(usual))
    }

    /// The smallest size, s.
    pub(super) fn least(&self) -> f64 {
        self.limits.0
    }

    pub(super) fn limited(&self, size: f64) -> f64 {
        let (least, most) = self.limits;
        size.clamp(least, most.max(least))
    }

    /// The size of a step that a unit has refused with `size`; `None` where it cannot be less.
    pub(super) fn halved(&self, size: f64) -> Option<f64> {
        let shorter = self.limited(0.5 * size);
        (shorter < size).then_some(shorter)
    }
}
