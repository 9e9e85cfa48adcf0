use crate::curve::Curve;
use crate::extrapolation::{Extrapolation, Sample};
use crate::graph::{Graph, Input};

/// A connected real input while it runs.
pub(crate) struct InputState {
    pub(crate) source: usize,
    pub(crate) source_component: usize,
    factor: f64,
    offset: f64,
    /// `None`: held, which needs no history.
    pub(crate) extrapolation: Option<Box<dyn Extrapolation>>,
    /// What the correction of a bond adds over the coming step.
    pub(crate) correction: Curve,
    /// What learned feed-forward adds over the coming step.
    pub(crate) feed_forward: Curve,
    /// What turns the value at the start of the coming step into that of the step before, where
    /// feed-forward was learned on a delayed signal; else 0.
    pub(crate) delay: f64,
    /// A correction or feed-forward may add to this input.
    pub(crate) is_corrected: bool,
    /// The course of the input over the step, correction included.
    pub(crate) curve: Curve,
    /// Degree of that course.
    pub(crate) degree: usize,
}

impl InputState {
    pub(crate) fn new(input: &Input, graph: &Graph) -> Self {
        let (entry, arguments) = &input.extrapolation;
        let extrapolation = (entry.build)(arguments);
        let degree = extrapolation.degree();
        let needs_history = degree > 0 || entry.name != "hold";
        Self {
            source: input.source,
            source_component: graph.outputs[input.source].component,
            factor: input.factor,
            offset: input.offset,
            extrapolation: needs_history.then_some(extrapolation),
            correction: Curve::default(),
            feed_forward: Curve::default(),
            delay: 0.0,
            is_corrected: false,
            curve: Curve::default(),
            degree,
        }
    }

    /// The input is the output that feeds it, and nothing else.
    pub(crate) fn is_plain_copy(&self) -> bool {
        self.factor == 1.0
            && self.offset == 0.0
            && self.extrapolation.is_none()
            && !self.is_corrected
    }

    /// The fed value, in the input's unit.
    #[inline]
    pub(crate) fn fed(&self, outputs: &[f64]) -> f64 {
        outputs[self.source] * self.factor + self.offset
    }

    pub(crate) fn observe(&mut self, outputs: &[f64], time: f64) {
        let value = self.fed(outputs);
        if let Some(extrapolation) = &mut self.extrapolation {
            extrapolation.observe(Sample { time, value });
        }
    }

    /// The course of the input without correction, from `now` (s since the start) on.
    pub(crate) fn uncorrected(&self, outputs: &[f64], now: f64) -> Curve {
        match &self.extrapolation {
            Some(extrapolation) => extrapolation.curve(now),
            None => Curve::constant(self.fed(outputs)),
        }
    }

    /// What correction and feed-forward add over the coming step.
    pub(crate) fn added(&self) -> Curve {
        self.correction.plus(&self.feed_forward)
    }

    /// Plans the coming step and returns the value at its start.
    pub(crate) fn plan(&mut self, outputs: &[f64], now: f64) -> f64 {
        self.curve = self.uncorrected(outputs, now).plus(&self.added());
        self.curve.coefficients[0] += self.delay;
        self.curve.coefficients[0]
    }
}
