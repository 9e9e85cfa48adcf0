//! The integral of the powers over a step: the course of an axis' inputs, which the master knows, and of
//! its outputs, of which it knows the ends.
//!
//! At the start a unit has the output that follows its new inputs, at the end the one that follows the inputs of the
//! step, before any exchange. Between them the part that follows the inputs at once has their course, and the rest
//! has the curvature of the last two changes if the inputs follow curves; under inputs that are held it moves in a
//! line. Powers are integrated by Simpson's rule, which is exact for the product of two parabolas up to the fourth
//! power of the step.
//!
//! The ledger calls it for each bond, at the end of each of its steps; it calls no unit.

use crate::graph::{Axis, Bond};
use crate::state::{Pass, SystemState};
use crate::state_stream::stored;
use crate::step_row::{InputRow, StepRow};

/// One axis over the step in progress.
#[derive(Debug, Clone, Default)]
pub(super) struct AxisCourse {
    effort: Signal,
    flow: Signal,
}

/// The length of a step relative to the step before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    ratio: f64,
    /// A parabola with the changes of a signal over both steps deviates so much in the middle of the second. It is a part of
    /// the difference of the changes, as if both steps had the length of the second.
    deviation: f64,
}

impl Pace {
    /// Of a step of `length` after one of `last`, s: 0 before the first, whose pace is NaN.
    #[inline]
    pub(super) fn of(length: f64, last: f64) -> Self {
        let ratio = match last {
            0.0 => f64::NAN,
            last => length / last,
        };
        Self {
            ratio,
            deviation: 0.25 * ratio / (1.0 + ratio),
        }
    }
}

/// An output, and the input that it feeds.
#[derive(Debug, Clone, Default)]
struct Signal {
    /// The exchange pass that knows its direct feed-through, and its row.
    feedthrough: Option<(usize, usize)>,
    /// Its component follows curves.
    is_curved: bool,
    /// The output at the start under the uncorrected inputs; NaN if unknown.
    before: f64,
    /// The value published at the present point, and the change to it.
    published: f64,
    published_change: f64,
    /// The change of the output with the new inputs, as far as the outputs show it: all of the step that
    /// follows if inputs are held, otherwise the slope's.
    slope_change: f64,
    /// The inputs that it follows at once, and the values that `before` belongs to.
    follows: Vec<Followed>,
    /// Its change at the start by inputs that are not these values: corrected ones, and ones of
    /// extrapolations that do not begin at the last value.
    start_change: f64,
    input_at_start: f64,
    /// Change over the last step without the part that follows inputs at once, and its curvature.
    last_change: f64,
    last_curvature: f64,
}

/// An input that an output follows at once.
#[derive(Debug, Clone, Copy)]
struct Followed {
    input: usize,
    /// D at the start of the step, 0 if unknown.
    gain: f64,
    /// Change of D over the last step.
    gain_change: f64,
    value: f64,
}

/// Values of one signal at start, middle and end of a step.
type Course = [f64; 3];

/// Inputs and outputs of an axis over a step.
pub(super) struct AxisStep {
    pub(super) effort: SignalStep,
    pub(super) flow: SignalStep,
}

/// An output over a step, and the input that it feeds.
#[derive(Clone, Copy)]
pub(super) struct SignalStep {
    pub(super) input: Course,
    pub(super) output: Course,
    /// Half the range of the output at the start, if that is unknown.
    pub(super) range: f64,
    pub(super) doubt: Doubt,
}

/// The uncertainty of the middle of an output: its curvature if inputs are held, otherwise the change of
/// the curvature from the step before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Doubt {
    pub(super) middle: f64,
    pub(super) is_curved: bool,
}

/// Means of powers over a step, W.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    pub(super) residual: f64,
    pub(super) given: f64,
    /// The contribution of curvatures under held inputs, which are taken to be none.
    pub(super) curvature: f64,
    /// Magnitude of the changes of the other curvatures from step to step.
    pub(super) change: f64,
    /// Half the range of what is not known.
    pub(super) unknown: f64,
}

impl AxisCourse {
    /// The axes of a bond at its first communication point.
    pub(super) fn all(state: &SystemState, bond: &Bond) -> Vec<Self> {
        let course = |axis: &Axis| {
            let signal = |component: usize, output: usize| {
                let feedthrough = pass_of(state, output);
                let inputs = feedthrough.map(|(pass, _)| &*state.exchange.passes[pass].inputs);
                let followed = |input: &usize| Followed {
                    input: *input,
                    gain: 0.0,
                    gain_change: 0.0,
                    value: state.courses.inputs[*input].fed(&state.signals.reals),
                };
                let published = state.signals.reals[output];
                Signal {
                    feedthrough,
                    is_curved: state.units.members[component].follows_curves,
                    follows: inputs.unwrap_or_default().iter().map(followed).collect(),
                    before: published + state.signals.start_changes[output],
                    published,
                    ..Signal::default()
                }
            };
            Self {
                effort: signal(bond.effort_side, axis.effort_output),
                flow: signal(bond.flow_side, axis.flow_output),
            }
        };
        bond.axes.iter().map(course).collect()
    }

    /// Takes what the units have at the start of a step.
    #[inline]
    pub(super) fn begin(&mut self, row: &StepRow<'_>, axis: &Axis) {
        self.effort.begin(row.inputs, axis.effort_input);
        self.flow.begin(row.inputs, axis.flow_input);
    }

    /// The course over the step that has been made.
    #[inline]
    pub(super) fn end(&mut self, row: &StepRow<'_>, axis: &Axis, pace: Pace) -> AxisStep {
        AxisStep {
            effort: (self.effort).pass(row, [axis.effort_output, axis.effort_input], pace),
            flow: (self.flow).pass(row, [axis.flow_output, axis.flow_input], pace),
        }
    }
}

impl Signal {
    /// Takes the value that was published, and what is known of it under the new inputs.
    #[inline]
    fn publish(&mut self, row: &StepRow<'_>, output: usize) {
        let change = row.signals.reals[output] - self.published;
        self.slope_change = change - self.published_change;
        self.published_change = change;
        self.published = row.signals.reals[output];
        self.before = self.published + row.signals.start_changes[output];
        let Some((pass, gains)) = self.gains(row.passes) else {
            return;
        };
        for ((followed, gain), value) in self.follows.iter_mut().zip(gains).zip(&pass.new_inputs) {
            followed.gain_change = gain - followed.gain;
            (followed.gain, followed.value) = (*gain, *value);
        }
    }

    /// Output and input over the step that has been made.
    #[inline(always)]
    fn pass(&mut self, row: &StepRow<'_>, [output, input]: [usize; 2], pace: Pace) -> SignalStep {
        let (ends, range) = self.end(row, output);
        let (output, doubt) = self.course(row, ends, pace);
        SignalStep {
            input: row.inputs[input].course(self.input_at_start),
            output,
            range,
            doubt,
        }
    }

    #[inline]
    fn begin(&mut self, inputs: &[InputRow], input: usize) {
        self.input_at_start = inputs[input].start;
        let change = |followed: &Followed| match inputs[followed.input].start {
            // Whatever D is.
            first if first == followed.value => 0.0,
            first => followed.gain * (first - followed.value),
        };
        self.start_change = self.follows.iter().map(change).sum();
    }

    /// First and last value of the output, and half the range of the first; publishes the coming one.
    #[inline]
    fn end(&mut self, row: &StepRow<'_>, output: usize) -> ([f64; 2], f64) {
        let last = row.signals.reals[output] - row.signals.exchanged[output];
        let (first, range) = if self.before.is_nan() {
            // Between nothing and all of that has changed with the inputs.
            let half = 0.5
                * match self.is_curved {
                    true => self.slope_change,
                    false => last - self.published,
                };
            (self.published + half, half)
        } else {
            (self.before + self.start_change, 0.0)
        };
        self.publish(row, output);
        ([first, last], range)
    }

    /// The course between the ends.
    #[inline]
    fn course(&mut self, row: &StepRow<'_>, ends: [f64; 2], pace: Pace) -> (Course, Doubt) {
        let [first, last] = ends;
        let mut middle = 0.5 * (first + last);
        let mut change = last - first;
        if self.is_curved {
            change -= self.response(row, |[start, _, end]| end - start);
            middle += self.response(row, |[start, middle, end]| middle - 0.5 * (start + end));
        }
        let curvature = pace.deviation * (change - self.last_change * pace.ratio);
        let doubt = |middle| Doubt {
            middle,
            is_curved: self.is_curved,
        };
        self.last_change = change;
        if !curvature.is_finite() {
            return ([first, middle, last], doubt(0.0));
        }
        let last_curvature = std::mem::replace(&mut self.last_curvature, curvature);
        if self.is_curved {
            let is_bent = |followed: &Followed| {
                let input = &row.inputs[followed.input];
                (followed.gain_change * (input.end - input.start)).abs()
            };
            // A D that changes with its input makes a parabola of a line.
            let by_gain = 0.125 * self.follows.iter().map(is_bent).sum::<f64>();
            let doubt = doubt((curvature - last_curvature).abs() + by_gain);
            ([first, middle - curvature, last], doubt)
        } else {
            // How much of it is within the step, and not at its ends, is not known.
            ([first, middle, last], doubt(curvature))
        }
    }

    /// Σ D · value over the inputs that the output follows at once, as far as D is known.
    #[inline]
    fn response(&self, row: &StepRow<'_>, value: impl Fn(Course) -> f64) -> f64 {
        let Some((pass, gains)) = self.gains(row.passes) else {
            return 0.0;
        };
        let inputs = pass.inputs.iter().map(|input| &row.inputs[*input]);
        let values = inputs.map(|input| value(input.course(input.start)));
        values.zip(gains).map(|(value, gain)| gain * value).sum()
    }

    /// The pass that knows its direct feed-through, and D from each of the pass's inputs on.
    #[inline]
    fn gains<'a>(&self, passes: &'a [Pass]) -> Option<(&'a Pass, &'a [f64])> {
        let (pass, row) = self.feedthrough?;
        let pass = &passes[pass];
        Some((pass, &pass.gains[row * pass.inputs.len()..]))
    }
}

fn pass_of(state: &SystemState, output: usize) -> Option<(usize, usize)> {
    let find = |pass: &Pass| pass.outputs.iter().position(|known| *known == output);
    let mut passes = state.exchange.passes.iter().enumerate();
    passes.find_map(|(index, pass)| Some((index, find(pass)?)))
}

impl Work {
    /// Adds an axis.
    #[inline]
    pub(super) fn add(&mut self, axis: &AxisStep, weight: f64) {
        let AxisStep { effort, flow } = axis;
        let given = |at: usize| effort.output[at] * flow.input[at];
        let residual = |at: usize| effort.input[at] * flow.output[at] - given(at);
        let mean = residual(0) + 4.0 * residual(1) + residual(2);
        self.residual += weight * mean / 6.0;
        // Simpson's rule gives two thirds of the weight to the middle.
        let weight_of_middle = weight * 2.0 / 3.0;
        for (doubt, factor) in [
            (flow.doubt, effort.input[1]),
            (effort.doubt, -flow.input[1]),
        ] {
            let difference = weight_of_middle * factor * doubt.middle;
            match doubt.is_curved {
                true => self.change += difference.abs(),
                false => self.curvature += difference,
            }
        }
        let mean = given(0) + 4.0 * given(1) + given(2);
        self.given += weight * mean / 6.0;
        // The range counts in full at the start, by half in the middle and not at the end.
        let unknown = effort.input[0] * flow.range - flow.input[0] * effort.range;
        self.unknown += 0.5 * weight * unknown;
    }
}

stored!(AxisCourse { effort, flow });
stored!(Signal {
    before,
    published,
    published_change,
    slope_change,
    follows,
    start_change,
    input_at_start,
    last_change,
    last_curvature;
    feedthrough,
    is_curved
});
stored!(Followed { gain, gain_change, value; input });

#[cfg(test)]
mod tests;
