//! The sequence of learning runs: their feed-forward, their errors and the end of learning.

use super::channels::Learner;
use super::record::Record;
use super::{
    ChannelError, FeedForward, Iteration, Learned, Learning, LearningError, LearningObserver,
    LearningOutcome,
};
use crate::curve::Curve;
use crate::feed_forward::Origin;
use crate::report::StopReason;
use crate::run_options::RunOptions;
use crate::system::System;

impl Iteration {
    /// A run with this gain, whose feed-forward was learned from one with the errors ‖e‖₂ and max |e| `before`.
    fn new(
        number: u32,
        channels: Vec<ChannelError>,
        (gain, tolerance): (f64, f64),
        before: Option<[f64; 2]>,
    ) -> Self {
        let squares = channels
            .iter()
            .map(|channel| channel.norm_2 * channel.norm_2);
        let norm_2 = squares.sum::<f64>().sqrt();
        let max = channels
            .iter()
            .fold(0.0, |max: f64, channel| max.max(channel.max));
        let ratio = |now: f64, before: f64| Some(now / before).filter(|ratio| ratio.is_finite());
        Self {
            number,
            gain,
            norm_2,
            max,
            contraction: before.and_then(|[before, _]| ratio(norm_2, before)),
            runs_needed: before
                .and_then(|[_, before]| runs_needed(max, ratio(max, before)?, tolerance)),
            channels,
        }
    }
}

/// Runs until an error that shrinks by this ratio from run to run is within the tolerance.
fn runs_needed(max: f64, ratio: f64, tolerance: f64) -> Option<u32> {
    if max <= tolerance {
        return Some(0);
    }
    let runs = (tolerance / max).ln() / ratio.ln();
    // A thousand runs are not a forecast.
    (ratio < 1.0 && runs < 1000.0).then(|| runs.ceil() as u32)
}

/// The errors of each learning input, by step.
type Errors = Vec<Vec<(usize, Curve)>>;

/// The runs that learn.
pub(super) struct Sequence<'a> {
    learning: &'a Learning,
    options: &'a RunOptions,
    learners: Vec<Learner>,
    /// Number of the first run.
    first: u32,
    iterations: Vec<Iteration>,
    /// Index of the best run.
    best: usize,
    /// Feed-forward of the best run, and its errors.
    kept: FeedForward,
    errors: Errors,
    /// Gain of the next run, and how often it may be halved.
    gain: f64,
    halvings: u32,
    /// Index of the run from which the next one is learned.
    before: usize,
    /// Feed-forward of the next run.
    next: FeedForward,
    /// Runs one after the other whose errors are large and do not grow more slowly.
    growing: u32,
    /// Factor by which the last run's error was larger than in the run before.
    growth: f64,
    /// How learning ended, once it has.
    pub(super) outcome: Option<LearningOutcome>,
}

impl<'a> Sequence<'a> {
    pub(super) fn new(
        learning: &'a Learning,
        options: &'a RunOptions,
        learners: Vec<Learner>,
        feed_forward: FeedForward,
    ) -> Self {
        Self {
            learning,
            options,
            learners,
            first: feed_forward
                .origin
                .map_or(0, |origin| origin.number.saturating_add(1)),
            iterations: Vec::new(),
            best: 0,
            kept: feed_forward.clone(),
            errors: Vec::new(),
            gain: learning.gain,
            halvings: learning.gain_halvings,
            before: 0,
            next: feed_forward,
            growing: 0,
            growth: 0.0,
            outcome: None,
        }
    }

    /// Number of the next run.
    pub(super) fn number(&self) -> u32 {
        let last = self.iterations.last();
        last.map_or(self.first, |last| last.number.saturating_add(1))
    }

    /// Makes one run and learns from it.
    pub(super) fn run(
        &mut self,
        mut system: System,
        watch: &mut dyn LearningObserver,
    ) -> Result<(), LearningError> {
        let steps = self.next.steps;
        system.feed_forward(self.next.clone());
        let mut run = system.start_with(self.options, &mut *watch.maker())?;
        watch.begin(self.number(), &mut run)?;
        let mut record = Record::begin(&self.learners, steps, &run);
        while !run.has_ended() {
            run.step()?;
            record.record_step(&run);
        }
        if record.steps() < steps {
            let reason = run.report().stop_reason;
            if reason == StopReason::Interrupted && !self.iterations.is_empty() {
                self.outcome = Some(LearningOutcome::Interrupted);
                return Ok(());
            }
            return Err(LearningError::Ended {
                steps: record.steps(),
                reason,
            });
        }
        let errors = record.errors();
        let iteration = Iteration::new(
            self.number(),
            record.sizes(&errors),
            (self.gain, self.learning.tolerance),
            self.errors_before(),
        );
        let goes_on = watch.end(&iteration);
        let diverges = self.judge(iteration, &errors);
        if let Some(reason) = diverges {
            self.lower_gain(reason);
        } else {
            self.before = self.iterations.len() - 1;
            self.next.learn(self.gain, &errors);
        }
        if self.outcome.is_none() && !goes_on {
            self.outcome = Some(LearningOutcome::Interrupted);
        }
        Ok(())
    }

    /// ‖e‖₂ and max |e| of the run from which the next one is learned.
    fn errors_before(&self) -> Option<[f64; 2]> {
        let before = self.iterations.get(self.before);
        let before = before.map(|before| [before.norm_2, before.max]);
        before.or_else(|| self.next.origin.map(|origin| [origin.norm_2, origin.max]))
    }

    /// Goes on from the best run with half of the gain; ends learning if it was halved often enough.
    pub(super) fn lower_gain(&mut self, reason: String) {
        let is_last = self.number() - self.first > self.learning.iterations;
        if self.halvings == 0 || is_last || self.errors.is_empty() {
            self.outcome = Some(LearningOutcome::Diverged(reason));
            return;
        }
        self.halvings -= 1;
        self.gain *= 0.5;
        self.before = self.best;
        (self.growing, self.growth) = (0, 0.0);
        self.next = self.kept.clone();
        self.next.learn(self.gain, &self.errors);
    }

    /// Adds a run that was given `next`, keeps it if it is the best, and decides on the end. Returns the reason if
    /// learning diverges.
    fn judge(&mut self, iteration: Iteration, errors: &Errors) -> Option<String> {
        let norm = |iteration: &Iteration| iteration.norm_2;
        let last = self.iterations.get(self.before).map_or(f64::INFINITY, norm);
        let best = self.iterations.get(self.best).map_or(f64::INFINITY, norm);
        let (number, norm_2, max) = (iteration.number, iteration.norm_2, iteration.max);
        if norm_2 < best {
            self.best = self.iterations.len();
            self.kept = self.next.clone();
            self.errors.clone_from(errors);
        }
        self.iterations.push(iteration);
        let diverges = self.diverges(norm_2 / best, norm_2 / last) || !norm_2.is_finite();
        let is_last = number - self.first >= self.learning.iterations;
        if max <= self.learning.tolerance {
            self.outcome = Some(LearningOutcome::Converged);
        } else if diverges || is_last && self.is_worse() {
            let best = &self.iterations[self.best];
            return Some(format!(
                "the error of run {number} is {norm_2:.3e} after {:.3e} in run {}",
                best.norm_2, best.number
            ));
        } else if is_last {
            self.outcome = Some(LearningOutcome::Iterations);
        }
        None
    }

    /// Whether learning diverges if the last run was the last of all. Then its error is far above the best and grows, or
    /// no run is better than the first, although the gain was halved or the error is far above the first.
    fn is_worse(&self) -> bool {
        let was_halved = self.halvings < self.learning.gain_halvings;
        let [first, last] = [self.iterations.first(), self.iterations.last()];
        let is_far_above = first
            .zip(last)
            .is_some_and(|(first, last)| last.norm_2 > self.learning.divergence * first.norm_2);
        self.growing > 0 || self.best == 0 && (was_halved || is_far_above)
    }

    /// Errors may grow a hundredfold in the first runs and vanish later; then they grow more and more
    /// slowly.
    fn diverges(&mut self, of_best: f64, growth: f64) -> bool {
        /// Growth slows down if its factor is below this part of the one before. A choice: errors
        /// that vanish after a hundredfold growth slow down faster than that.
        const SLOWER: f64 = 0.9;
        let factor = self.learning.divergence;
        let grows = growth >= SLOWER * self.growth || of_best > factor.powi(4);
        self.growing = if of_best > factor && grows {
            self.growing + 1
        } else {
            0
        };
        self.growth = growth;
        self.growing > 1
    }

    pub(super) fn learned(mut self) -> Learned {
        let origin = self.iterations.get(self.before);
        let origin = origin.filter(|origin| origin.norm_2.is_finite());
        self.next.origin = origin.map(|origin| Origin {
            number: origin.number,
            norm_2: origin.norm_2,
            max: origin.max,
        });
        Learned {
            iterations: self.iterations,
            best: self.best,
            outcome: self.outcome.unwrap_or(LearningOutcome::Iterations),
            feed_forward: self.kept,
            next: self.next,
        }
    }
}
