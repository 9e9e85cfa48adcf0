//! The integral of the powers over a step: the course of an axis' inputs, which the master knows, and of
//! its outputs, of which it knows the ends.
//!
//! At the start a unit has the output that follows its new inputs, at the end the one that follows the
//! inputs of the step, before any exchange. Between them the part that follows the inputs at once has
//! their course, and the rest bends as from step to step where the inputs follow curves; under inputs
//! that are held it moves in a line. Powers are integrated by Simpson's rule, which is exact for the
//! product of two parabolas up to the fourth power of the step.

use crate::graph::{Axis, Bond};
use crate::state::{SystemState, input_at_start, input_within};
use crate::state_stream::stored;

/// One axis over the step in progress.
#[derive(Debug, Clone, Default)]
pub(super) struct AxisCourse {
    pub(super) effort: Signal,
    pub(super) flow: Signal,
    /// Length of the last step, s; 0 before the first.
    pub(super) last_length: f64,
}

/// An output, and the input that it feeds.
#[derive(Debug, Clone, Default)]
pub(super) struct Signal {
    /// The exchange pass that knows its direct feed-through, and its row.
    feedthrough: Option<(usize, usize)>,
    /// Its component follows curves.
    is_curved: bool,
    /// The output at the start under the uncorrected inputs; NaN where it is not known.
    pub(super) before: f64,
    /// The value published at the present point, and the change to it.
    pub(super) published: f64,
    pub(super) published_change: f64,
    /// The change of the output with the new inputs, as far as the outputs show it: all of the step that
    /// follows where inputs are held, else that of the slope.
    pub(super) slope_change: f64,
    /// The inputs that it follows at once, and the values that `before` belongs to.
    follows: Vec<Followed>,
    /// Its change at the start by inputs that are not these values: corrected ones, and those of
    /// extrapolations that do not begin at the last value.
    pub(super) start_change: f64,
    pub(super) input_at_start: f64,
    /// Change over the last step without the part that follows inputs at once, and its curvature.
    pub(super) last_change: f64,
    pub(super) last_curvature: f64,
}

/// An input that an output follows at once.
#[derive(Debug, Clone, Copy)]
struct Followed {
    input: usize,
    /// D at the start of the step, 0 where it is not known.
    gain: f64,
    /// Change of D over the last step.
    gain_change: f64,
    value: f64,
}

/// Values of one signal at start, middle and end of a step.
type Course = [f64; 3];

/// Inputs and outputs of an axis over a step.
pub(super) struct AxisStep {
    effort_input: Course,
    flow_input: Course,
    effort_output: Course,
    flow_output: Course,
    /// Half the ranges of the outputs at the start, where they are not known.
    effort_range: f64,
    flow_range: f64,
    effort_doubt: Doubt,
    flow_doubt: Doubt,
}

/// The uncertainty of the middle of an output: its curvature where inputs are held, else the change of the
/// curvature from the step before.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    middle: f64,
    is_curved: bool,
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
                last_length: 0.0,
            }
        };
        bond.axes.iter().map(course).collect()
    }

    /// The length of a step to that of the `last` one, s; NaN for the first.
    #[inline]
    pub(super) fn ratio(length: f64, last: f64) -> f64 {
        match last {
            0.0 => f64::NAN,
            last => length / last,
        }
    }

    /// Whether nothing is known of the direct feed-through of its outputs, and their components take values.
    pub(super) fn is_simple(&self) -> bool {
        [&self.effort, &self.flow].iter().all(|signal| {
            signal.feedthrough.is_none() && signal.follows.is_empty() && !signal.is_curved
        })
    }

    /// Takes what the units have at the start of a step.
    #[inline]
    pub(super) fn begin(&mut self, state: &SystemState, axis: &Axis) {
        self.effort.begin(state, axis.effort_input);
        self.flow.begin(state, axis.flow_input);
    }

    /// The course over the step of `length`, s, that has been made.
    #[inline]
    pub(super) fn end(&mut self, state: &SystemState, axis: &Axis, length: f64) -> AxisStep {
        let ratio = Self::ratio(length, self.last_length);
        self.last_length = length;
        let (effort_output, effort_range) = self.effort.end(state, axis.effort_output);
        let (flow_output, flow_range) = self.flow.end(state, axis.flow_output);
        let (effort_output, effort_doubt) = self.effort.bend(state, effort_output, ratio);
        let (flow_output, flow_doubt) = self.flow.bend(state, flow_output, ratio);
        AxisStep {
            effort_input: self.effort.input(state, axis.effort_input),
            flow_input: self.flow.input(state, axis.flow_input),
            effort_output,
            flow_output,
            effort_range,
            flow_range,
            effort_doubt,
            flow_doubt,
        }
    }
}

impl Signal {
    /// Takes the value that was published, and what is known of it under the new inputs.
    #[inline]
    fn publish(&mut self, state: &SystemState, output: usize) {
        let change = state.signals.reals[output] - self.published;
        self.slope_change = change - self.published_change;
        self.published_change = change;
        self.published = state.signals.reals[output];
        self.before = self.published + state.signals.start_changes[output];
        let Some((pass, row)) = self.feedthrough else {
            return;
        };
        let pass = &state.exchange.passes[pass];
        let gains = &pass.gains[row * pass.inputs.len()..];
        for ((followed, gain), value) in self.follows.iter_mut().zip(gains).zip(&pass.new_inputs) {
            followed.gain_change = gain - followed.gain;
            (followed.gain, followed.value) = (*gain, *value);
        }
    }

    #[inline]
    fn begin(&mut self, state: &SystemState, input: usize) {
        self.input_at_start = input_at_start(state, input);
        let change = |followed: &Followed| {
            followed.gain * (input_at_start(state, followed.input) - followed.value)
        };
        self.start_change = self.follows.iter().map(change).sum();
    }

    /// The input that it feeds.
    #[inline]
    fn input(&self, state: &SystemState, input: usize) -> Course {
        let (first, last) = (self.input_at_start, state.courses.values[input]);
        [first, input_within(state, input, first, last), last]
    }

    /// First and last value of the output, and half the range of the first; publishes the coming one.
    #[inline]
    fn end(&mut self, state: &SystemState, output: usize) -> ([f64; 2], f64) {
        let last = state.signals.reals[output] - state.signals.exchanged[output];
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
        self.publish(state, output);
        ([first, last], range)
    }

    /// The course between the ends. `ratio` is the length of the step to that of the one before, NaN in the
    /// first.
    #[inline]
    fn bend(&mut self, state: &SystemState, ends: [f64; 2], ratio: f64) -> (Course, Doubt) {
        let [first, last] = ends;
        let mut middle = 0.5 * (first + last);
        let mut change = last - first;
        if self.is_curved {
            change -= self.response(state, |input| {
                state.courses.values[input] - input_at_start(state, input)
            });
            middle += self.response(state, |input| {
                let ends = (input_at_start(state, input), state.courses.values[input]);
                input_within(state, input, ends.0, ends.1) - 0.5 * (ends.0 + ends.1)
            });
        }
        // A parabola with these changes over two steps deviates so much in the middle of the second.
        let curvature = 0.25 * ratio / (1.0 + ratio) * (change - self.last_change * ratio);
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
                let first = input_at_start(state, followed.input);
                (followed.gain_change * (state.courses.values[followed.input] - first)).abs()
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
    fn response(&self, state: &SystemState, value: impl Fn(usize) -> f64) -> f64 {
        let Some((pass, row)) = self.feedthrough else {
            return 0.0;
        };
        if state.units.uniform {
            return 0.0;
        }
        let pass = &state.exchange.passes[pass];
        let gains = &pass.gains[row * pass.inputs.len()..];
        let terms = pass.inputs.iter().zip(gains);
        terms.map(|(input, gain)| gain * value(*input)).sum()
    }
}

fn pass_of(state: &SystemState, output: usize) -> Option<(usize, usize)> {
    let find = |pass: &crate::state::Pass| pass.outputs.iter().position(|known| *known == output);
    let mut passes = state.exchange.passes.iter().enumerate();
    passes.find_map(|(index, pass)| Some((index, find(pass)?)))
}

impl Work {
    /// Adds an axis.
    #[inline]
    pub(super) fn add(&mut self, axis: &AxisStep, weight: f64) {
        let given = |at: usize| axis.effort_output[at] * axis.flow_input[at];
        let residual = |at: usize| axis.effort_input[at] * axis.flow_output[at] - given(at);
        self.residual += weight * (residual(0) + 4.0 * residual(1) + residual(2)) / 6.0;
        // Simpson's rule gives two thirds of the weight to the middle.
        let weight_of_middle = weight * 2.0 / 3.0;
        for (doubt, factor) in [
            (axis.flow_doubt, axis.effort_input[1]),
            (axis.effort_doubt, -axis.flow_input[1]),
        ] {
            let difference = weight_of_middle * factor * doubt.middle;
            match doubt.is_curved {
                true => self.change += difference.abs(),
                false => self.curvature += difference,
            }
        }
        self.given += weight * (given(0) + 4.0 * given(1) + given(2)) / 6.0;
        // The range counts in full at the start, by half in the middle and not at the end.
        let unknown =
            axis.effort_input[0] * axis.flow_range - axis.flow_input[0] * axis.effort_range;
        self.unknown += 0.5 * weight * unknown;
    }
}

stored!(AxisCourse {
    effort,
    flow,
    last_length
});
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
