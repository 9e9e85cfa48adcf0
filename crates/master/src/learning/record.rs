//! Record of the learned inputs over a run: references and values used.

use super::channels::Learner;
use super::spline::interpolate;
use super::{ChannelError, Interpolation};
use crate::curve::Curve;
use crate::run::Run;

/// The record of one run.
pub(super) struct Record<'a> {
    learners: &'a [Learner],
    /// Times of the communication points, s since the start.
    times: Vec<f64>,
    /// By learner: values that would be fed without delay, at each communication point.
    due: Vec<Vec<f64>>,
    /// By learner: the course of the input over each macro-step, as the receiver was given it.
    used: Vec<Vec<Curve>>,
}

impl<'a> Record<'a> {
    /// Begins with the first communication point of `run`.
    pub(super) fn begin(learners: &'a [Learner], steps: usize, run: &Run) -> Self {
        let mut record = Self {
            learners,
            times: Vec::with_capacity(steps + 1),
            due: learners
                .iter()
                .map(|_| Vec::with_capacity(steps + 1))
                .collect(),
            used: learners.iter().map(|_| Vec::with_capacity(steps)).collect(),
        };
        record.record_point(run);
        record
    }

    /// Notes the step that `run` has just made.
    pub(super) fn record_step(&mut self, run: &Run) {
        let inputs = &run.state.courses.inputs;
        for (learner, used) in self.learners.iter().zip(&mut self.used) {
            used.push(inputs[learner.input].curve);
        }
        self.record_point(run);
    }

    /// Macro-steps noted.
    pub(super) fn steps(&self) -> usize {
        self.times.len() - 1
    }

    fn record_point(&mut self, run: &Run) {
        let state = &run.state;
        let inputs = &state.courses.inputs;
        self.times.push(run.time() - state.graph.clock.start());
        for (learner, due) in self.learners.iter().zip(&mut self.due) {
            due.push(inputs[learner.input].fed(&state.signals.reals));
        }
    }

    /// The errors e = r − u over each macro-step at which the input is fed, by learner: the
    /// reference, known in hindsight, less the value used (Thielemans 2023 eq. 5).
    pub(super) fn errors(&self) -> Vec<Vec<(usize, Curve)>> {
        (0..self.learners.len())
            .map(|index| self.errors_of(index))
            .collect()
    }

    fn errors_of(&self, index: usize) -> Vec<(usize, Curve)> {
        let learner = &self.learners[index];
        let (used, due) = (&self.used[index], &self.due[index]);
        let ahead = if learner.is_ahead {
            learner.source_every
        } else {
            0
        };
        let every = learner.knot_every;
        let points: Vec<(f64, f64)> = (0..due.len().saturating_sub(ahead))
            .step_by(every)
            .map(|point| (self.times[point], due[point + ahead]))
            .collect();
        let pieces = interpolate(&points, learner.interpolation);
        let reference = |step: usize| {
            let piece = (step / every).min(pieces.len().checked_sub(1)?);
            let curve = pieces[piece].shifted(self.times[step] - points[piece].0);
            Some(match learner.interpolation {
                Interpolation::Hold => Curve::constant(curve.at(0.0)),
                _ => curve,
            })
        };
        let fed = (0..used.len()).step_by(learner.feed_every);
        fed.filter_map(|step| Some((step, reference(step)?.plus(&used[step].scaled(-1.0)))))
            .collect()
    }

    /// ‖e‖₂ and max |e| of each learner, at the points at which its receiver reads a value.
    pub(super) fn sizes(&self, errors: &[Vec<(usize, Curve)>]) -> Vec<ChannelError> {
        let of = |(learner, errors): (&Learner, &Vec<(usize, Curve)>)| {
            let mut size = ChannelError::default();
            for &(step, error) in errors {
                let end = (step + learner.feed_every).min(self.times.len() - 1);
                let length = self.times[end] - self.times[step];
                for point in 0..learner.points {
                    size.count(error.at(length * point as f64 / learner.points as f64));
                }
            }
            size.norm_2 = size.norm_2.sqrt();
            size
        };
        self.learners.iter().zip(errors).map(of).collect()
    }
}

impl ChannelError {
    /// Adds the square; a value that is not a number counts as infinite.
    fn count(&mut self, error: f64) {
        let magnitude = if error.is_nan() {
            f64::INFINITY
        } else {
            error.abs()
        };
        self.norm_2 += magnitude * magnitude;
        self.max = self.max.max(magnitude);
    }
}
