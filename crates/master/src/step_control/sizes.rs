//! First, least and greatest size of the steps: parameters that step controls share.

use crate::registry::{Arguments, POSITIVE, ParameterInfo};

/// The first step of a control that goes on from the macro-step.
pub(super) const FIRST: ParameterInfo = ParameterInfo::number_or_auto(
    "first_step",
    "size of the first step, s; auto: step_size",
    POSITIVE,
);
/// The first step of a control that begins with the smallest one.
pub(super) const SMALLEST_FIRST: ParameterInfo = ParameterInfo {
    summary: "size of the first step, s; auto: the minimum",
    ..FIRST
};
pub(super) const MINIMUM: ParameterInfo = ParameterInfo::number_or_auto(
    "minimum_step",
    "smallest step, s; auto: a hundredth of step_size",
    POSITIVE,
);
pub(super) const MAXIMUM: ParameterInfo = ParameterInfo::number_or_auto(
    "maximum_step",
    "largest step, s; auto: ten times step_size",
    POSITIVE,
);
pub(super) const SMALLEST_CHANGE: ParameterInfo = ParameterInfo::number(
    "smallest_change",
    "smallest ratio of a step to the one before",
    0.2,
    (0.01, 1.0),
);
pub(super) const LARGEST_CHANGE: ParameterInfo = ParameterInfo::number(
    "largest_change",
    "largest ratio of a step to the one before",
    1.5,
    (1.0, 10.0),
);

/// Limits of the ratio of a step to the one before.
pub(super) fn change(arguments: &Arguments) -> (f64, f64) {
    let limit = |name| arguments.number(name);
    (limit("smallest_change"), limit("largest_change"))
}

/// Reason why no step has a size within the limits that were given.
pub(super) fn contradiction(arguments: &Arguments) -> Option<&'static str> {
    let limit = |name| arguments.number_or_auto(name);
    let limits = limit("minimum_step").zip(limit("maximum_step"));
    limits
        .filter(|(least, most)| least > most)
        .map(|_| "`minimum_step` is greater than `maximum_step`")
}

/// The methods that all controls of the size of the steps have alike: their state is what they [keep](Stored) in a stream.
///
/// [`Stored`]: crate::state_stream::Stored
macro_rules! keeps_its_state {
    () => {
        fn duplicate(&self) -> Option<Box<dyn StepControl>> {
            Some(Box::new(self.clone()))
        }

        fn transfer(&mut self, stream: &mut crate::state_stream::StateStream) {
            stream.keep(self);
        }

        fn signals(&self) -> &[(&'static str, f64)] {
            &self.signals
        }
    };
}
pub(super) use keeps_its_state;

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

    /// Sets the limits for an experiment with this `macro_step`: no automatic limit goes beyond one that was given. Returns
    /// the size of the first step, `usual` if none is asked for.
    pub(super) fn begin(&mut self, macro_step: f64, usual: f64) -> f64 {
        let (least, most) = (1e-2 * macro_step, 1e1 * macro_step);
        self.limits = (
            self.minimum
                .unwrap_or(least.min(self.maximum.unwrap_or(least))),
            self.maximum
                .unwrap_or(most.max(self.minimum.unwrap_or(most))),
        );
        self.limited(self.first.unwrap_or(usual))
    }

    /// The smallest size, s.
    pub(super) fn least(&self) -> f64 {
        self.limits.0
    }

    pub(super) fn limited(&self, size: f64) -> f64 {
        let (least, most) = self.limits;
        size.clamp(least, most)
    }

    /// The size of a step that a unit has refused with `size`; `None` if it cannot be less.
    pub(super) fn halved(&self, size: f64) -> Option<f64> {
        let shorter = self.limited(0.5 * size);
        (shorter < size).then_some(shorter)
    }
}
