//! The course of an input over the steps of its component. The operations `prepare` and `observe` call it, the accounts read it; it calls
//! no unit.

use super::jump::JumpDetector;
use crate::curve::Curve;
use crate::extrapolation::{Extrapolation, Sample};
use crate::graph::{Graph, Input, Output};
use crate::state_stream::{StateStream, Stored, stored};

/// A connected real input while it runs.
#[derive(Clone)]
pub(crate) struct InputCourse {
    pub(crate) source: usize,
    pub(crate) source_component: usize,
    /// Macro-steps from one value of it to the next.
    source_every: u64,
    /// The component whose input it is.
    pub(crate) component: usize,
    pub(crate) factor: f64,
    pub(crate) offset: f64,
    /// `None`: held, which needs no history.
    pub(crate) extrapolation: Option<Box<dyn Extrapolation>>,
    /// The source changes at events only (variability discrete): its past cannot predict it.
    is_discrete: bool,
    /// The extrapolation receives each communication step of the source.
    pub(crate) needs_substeps: bool,
    /// The extrapolation uses slopes.
    pub(crate) needs_slope: bool,
    /// A method passes the mean over its source's communication steps on to it.
    pub(crate) takes_mean: bool,
    /// A method puts the value of the end of the step in its course.
    pub(crate) is_led: bool,
    /// Each communication step of the receiver has a curve of its own.
    pub(super) comes_in_pieces: bool,
    piece: Curve,
    jumps: JumpDetector,
    /// The past ends with the next value: the source is another one, or none.
    is_to_forget: bool,
    /// Addition by the correction of a bond over the coming step.
    pub(crate) correction: Curve,
    /// Addition by learned feed-forward over the coming step.
    pub(crate) feed_forward: Curve,
    /// A scenario replaces the value: no correction is added to it.
    pub(crate) is_replaced: bool,
    /// A correction, feed-forward or a scenario may change this input.
    pub(crate) is_corrected: bool,
    /// The course of the input over the step, correction included.
    pub(crate) curve: Curve,
    /// Length of the step that the course was prepared for, s.
    pub(crate) length: f64,
    /// Factor and offset over that step.
    conversion: (f64, f64),
    /// Degree of that course.
    pub(crate) degree: usize,
}

fn is_discrete(output: &Output, graph: &Graph) -> bool {
    graph.components[output.component].description.variables[output.variable].is_discrete
}

impl InputCourse {
    pub(crate) fn new(component: usize, input: &Input, graph: &Graph) -> Self {
        let facts = &input.facts;
        let source = &graph.components[graph.outputs[input.source].component];
        let mut extrapolation = input.extrapolation.build();
        // An error here was already reported when the graph was made.
        let _ = extrapolation.prepare(&graph.steps_of(component, input));
        Self {
            source: input.source,
            source_component: graph.outputs[input.source].component,
            source_every: u64::from(source.rate.every()),
            component,
            factor: input.factor,
            offset: input.offset,
            needs_substeps: facts.needs_substeps,
            needs_slope: facts.needs_slope,
            takes_mean: false,
            is_led: false,
            comes_in_pieces: facts.comes_in_pieces,
            piece: Curve::default(),
            extrapolation: (!facts.is_plain_hold).then_some(extrapolation),
            is_discrete: is_discrete(&graph.outputs[input.source], graph),
            jumps: JumpDetector::default(),
            is_to_forget: false,
            correction: Curve::default(),
            feed_forward: Curve::default(),
            is_replaced: false,
            is_corrected: false,
            curve: Curve::default(),
            length: 0.0,
            conversion: (input.factor, input.offset),
            degree: facts.degree,
        }
    }

    /// Whether its source publishes before the macro-step with the `next` index.
    #[inline]
    pub(crate) fn is_fed_before(&self, next: u64) -> bool {
        self.source_every == 1 || next.is_multiple_of(self.source_every)
    }

    /// Whether its source changes at events only.
    pub(crate) fn is_discrete(&self) -> bool {
        self.is_discrete
    }

    /// The input is the output that feeds it, and nothing else.
    pub(crate) fn is_plain_copy(&self) -> bool {
        self.factor == 1.0 && self.offset == 0.0 && self.is_held()
    }

    /// It has one value over each step: the published one that feeds it.
    pub(crate) fn is_held(&self) -> bool {
        let is_replaced = self.takes_mean || self.is_led;
        !is_replaced && !self.comes_in_pieces && self.extrapolation.is_none() && !self.is_corrected
    }

    /// The fed value, in the input's unit.
    #[inline]
    pub(crate) fn fed(&self, outputs: &[f64]) -> f64 {
        self.converted(outputs[self.source])
    }

    /// An output in the input's unit.
    #[inline]
    pub(crate) fn converted(&self, output: f64) -> f64 {
        output * self.factor + self.offset
    }

    /// Receives outputs published at `time`, s since the start; NaN is an unknown slope. Returns
    /// whether the prediction failed as it only does at a discontinuity.
    pub(crate) fn observe(&mut self, outputs: &[f64], slope: f64, time: f64) -> bool {
        let value = self.fed(outputs);
        let Some(extrapolation) = &mut self.extrapolation else {
            return false;
        };
        if self.needs_substeps {
            // The past of a filter is not a prediction that could fail.
            extrapolation.observe(Sample {
                time,
                value,
                slope: None,
            });
            if std::mem::take(&mut self.is_to_forget) || self.is_discrete {
                extrapolation.clear();
            }
            return false;
        }
        let is_forgotten = std::mem::take(&mut self.is_to_forget);
        if is_forgotten {
            self.jumps = JumpDetector::default();
        }
        let error = value - extrapolation.at(time);
        let is_jump = !is_forgotten && self.jumps.is_jump(error, value);
        let slope = (!slope.is_nan()).then_some(slope * self.factor);
        extrapolation.observe(Sample { time, value, slope });
        if is_forgotten || self.is_discrete {
            extrapolation.clear();
        } else if is_jump {
            extrapolation.jumped();
        }
        is_jump
    }

    /// Forgets the past before the value that is observed next: an action of a scenario begins or ends on it.
    pub(crate) fn forget(&mut self) {
        self.is_to_forget = self.extrapolation.is_some();
    }

    /// The course of the input without correction, from `now` (s since the start) on.
    pub(crate) fn uncorrected(&self, outputs: &[f64], now: f64, step: f64) -> Curve {
        match &self.extrapolation {
            Some(extrapolation) => extrapolation.curve(now, step),
            None => Curve::constant(self.fed(outputs)),
        }
    }

    /// Goes on to the communication step of the receiver that starts `since` s after the start of the
    /// step and is `size` s long, and returns the value at its start.
    #[inline]
    pub(crate) fn begin_part(&mut self, since: f64, size: f64) -> f64 {
        if !self.comes_in_pieces {
            return self.curve.at(since);
        }
        if let Some(extrapolation) = &mut self.extrapolation {
            self.piece = extrapolation.next_piece(size);
        }
        self.piece = self.piece.plus(&self.added().shifted(since));
        self.piece.at(0.0)
    }

    /// The course over the communication step that was begun `since` s after the start of the step.
    #[inline]
    pub(crate) fn part(&self, since: f64) -> Curve {
        if self.comes_in_pieces {
            self.piece
        } else {
            self.curve.shifted(since)
        }
    }

    /// The value that the prepared course has for its source at the end of the step, without additions; the published one
    /// if the input does not depend on its source.
    pub(crate) fn expected(&self, outputs: &[f64]) -> f64 {
        let (factor, offset) = self.conversion;
        let end = self.curve.at(self.length) - self.added().at(self.length);
        match (end - offset) / factor {
            value if value.is_finite() => value,
            _ => outputs[self.source],
        }
    }

    /// The published value less the one that was in effect at the end of the step, which ends with `used` with all additions.
    /// If a mean of the prediction was given, the prediction for the end was in effect. A mean is off by half of the change
    /// within the step, but the energy that it passes on is right.
    pub(crate) fn error_at_end(&self, outputs: &[f64], used: f64) -> f64 {
        let extrapolation = self.extrapolation.as_ref();
        match extrapolation.and_then(|extrapolation| extrapolation.error_of_prediction()) {
            Some(error) => error - self.added().at(self.length),
            None => self.fed(outputs) - used,
        }
    }

    /// Sum of correction and feed-forward over the coming step.
    pub(crate) fn added(&self) -> Curve {
        self.correction.plus(&self.feed_forward)
    }

    /// Prepares the course over the coming step, of length `step` s, and returns the value at its start.
    pub(crate) fn prepare(&mut self, outputs: &[f64], now: f64, step: f64) -> f64 {
        self.length = step;
        self.conversion = (self.factor, self.offset);
        let added = match self.is_corrected {
            true => self.added(),
            false => Curve::default(),
        };
        self.curve = self.uncorrected(outputs, now, step).plus(&added);
        self.curve.coefficients[0]
    }

    /// Another course over the step that was prepared: an output's, in the input's unit, with all additions.
    pub(crate) fn converted_curve(&self, output: Curve) -> Curve {
        let (factor, offset) = self.conversion;
        output
            .scaled(factor)
            .plus(&Curve::constant(offset))
            .plus(&self.added())
    }

    /// Takes the output that its source gave at a communication step of its own.
    pub(crate) fn observe_substep(&mut self, output: f64, time: f64) {
        let value = self.converted(output);
        if let Some(extrapolation) = &mut self.extrapolation {
            extrapolation.observe(Sample {
                time,
                value,
                slope: None,
            });
        }
    }
}

/// The learned feed-forward of one input.
pub(crate) struct FeedForwardSignal {
    /// Global index of the input.
    pub(crate) input: usize,
    /// The input is fed one macro-step late.
    pub(crate) is_delayed: bool,
    /// Highest degree of the curves.
    pub(crate) degree: usize,
    /// The addition over each macro-step; nothing after the last one.
    pub(crate) curves: Vec<Curve>,
    /// The value that was due one macro-step ago.
    pub(crate) previous: f64,
}

impl Stored for InputCourse {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self {
            factor,
            offset,
            extrapolation,
            piece,
            jumps,
            is_to_forget,
            correction,
            feed_forward,
            is_replaced,
            curve,
            length,
            conversion,
            source: _,
            source_component: _,
            source_every: _,
            component: _,
            is_discrete: _,
            needs_substeps: _,
            needs_slope: _,
            takes_mean: _,
            is_led: _,
            comes_in_pieces: _,
            is_corrected: _,
            degree: _,
        } = self;
        if let Some(extrapolation) = extrapolation {
            extrapolation.transfer(stream);
        }
        stream.keep(factor);
        stream.keep(offset);
        stream.keep(piece);
        stream.keep(jumps);
        stream.keep(is_to_forget);
        stream.keep(correction);
        stream.keep(feed_forward);
        stream.keep(is_replaced);
        stream.keep(curve);
        stream.keep(length);
        stream.keep(conversion);
    }
}

stored!(FeedForwardSignal { previous; input, is_delayed, degree, curves });
