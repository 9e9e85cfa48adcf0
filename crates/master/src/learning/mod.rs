//! Iterative learning control over co-simulation runs (Thielemans et al. 2023).
//!
//! The same system is run again and again. After each run the reference r of an input at a bond, the
//! value that it should have had, is known in hindsight. The addition c to that input is learned from
//! the error: c ← c + gain·(r − u) (eqs 5–6). Delayed outputs get fresh values this way, without
//! calls that FMI 2.0 forbids; r between communication points is a spline (own).
//!
//! Use it if one scenario is simulated many times. Limits: it costs a run for each
//! iteration; the feed-forward belongs to one system, one macro-step and one scenario; it
//! may diverge, and the gain must be smaller then.
//!
//! A file of learned additions names the inputs and the outputs that feed them, the macro-step, the start time, the
//! communication steps, whether an input is fed one step late, and the exchange mode. A run with it takes the last
//! two from the file and refuses to start if the rest differs. Delay and c together count as the correction of the
//! ledger: its energy is the delay's in the first run, and in single rate it vanishes as learning converges.
//!
//! Thielemans et al. learn in single rate. Here c is a cubic for each macro-step and r is interpolated in hindsight,
//! so that the law also finds what a unit with smaller steps should have seen between the points. If outputs are not
//! delayed (`--base fresh`, `compensated`), that is all there is to learn. Errors may grow a hundredfold before they
//! vanish: learning stops as diverging only if their growth does not slow down.
//!
//! `gyrator learn` calls it. It never changes a run by itself.

mod channels;
mod record;
mod recorded;
mod sequence;
mod spline;

use channels::{Learner, learners};
use sequence::Sequence;

use gyrator_record::Table;

use crate::fault::RunError;
pub use crate::feed_forward::{FeedForward, FeedForwardError};
use crate::report::StopReason;
use crate::run::Run;
use crate::run_options::RunOptions;
use crate::start_error::StartError;
use crate::system::System;
use crate::unit::{InProcess, UnitMaker};
pub use recorded::Recorded;

/// Macro-steps times inputs that learn: some gigabytes.
const MAX_CURVES: usize = 10_000_000;

/// Inputs to which the feed-forward is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Base {
    /// Outputs with direct feed-through one macro-step late (Thielemans 2023 §3.1): read again after their inputs were
    /// set if units declare that safe, otherwise compensated.
    #[default]
    Delay,
    /// Outputs read again after their inputs were set, not delayed: learning adds only the course of an input between
    /// communication points.
    Fresh,
    /// Compensated outputs, not delayed.
    Compensated,
    /// Outputs as the step left them, which the paper calls ZOH. The reference is the value that
    /// the next step leaves: it is learned perfectly, and is not the right one (§3.1).
    Stale,
}

/// Interpolation of a recorded reference between communication points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// The value of the last point.
    Hold,
    /// Straight lines.
    Linear,
    /// A cubic spline.
    #[default]
    Cubic,
}

impl Interpolation {
    fn degree(self) -> usize {
        match self {
            Self::Hold => 0,
            Self::Linear => 1,
            Self::Cubic => 3,
        }
    }
}

/// Learns feed-forward for the inputs at the power bonds of a system, over a sequence of runs.
///
/// After each run, the error e = r − u of every learning input is its reference, known in
/// hindsight, less the value used; and c ← c + gain·e is added to the input in the next run
/// (Thielemans 2023 eqs 5–6). Inputs fed by outputs with direct feed-through learn, and in either
/// direction of a bond inputs whose unit steps within the macro-step or accepts derivatives.
#[derive(Debug, Clone, PartialEq)]
pub struct Learning {
    /// Runs after the first one, which is without feed-forward.
    pub iterations: u32,
    /// Gain of the law; smaller than 1 if learning diverges.
    pub gain: f64,
    /// How often the gain is halved, and learning goes on from the best run, before it is given up as diverging.
    pub gain_halvings: u32,
    /// Greatest error, in the units of the inputs, at which learning ends.
    pub tolerance: f64,
    /// Learning diverges if ‖e‖₂ exceeds this many times the best in two runs one after the other,
    /// while its growth does not slow down or ‖e‖₂ exceeds even the fourth power of it.
    pub divergence: f64,
    /// Inputs to which the feed-forward is added.
    pub base: Base,
    /// How references go on between communication points.
    pub interpolation: Interpolation,
    /// Feed-forward of the first run, learned before on the same system; `None`: none.
    pub start: Option<FeedForward>,
}

impl Default for Learning {
    /// 20 iterations with gain 1 from the delayed outputs, until no error exceeds 1e-6: the accuracy
    /// that Thielemans 2023 §4 reports, after 12 iterations. `divergence` and `gain_halvings`, down to a gain of
    /// 1/32, are choices.
    fn default() -> Self {
        Self {
            iterations: 20,
            gain: 1.0,
            gain_halvings: 5,
            tolerance: 1e-6,
            divergence: 10.0,
            base: Base::Delay,
            interpolation: Interpolation::Cubic,
            start: None,
        }
    }
}

/// The error of one input in one run, in the unit of the input.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct ChannelError {
    /// ‖e‖₂, over the points at which the receiver reads a value.
    pub norm_2: f64,
    /// max |e|.
    pub max: f64,
}

/// One run.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Iteration {
    /// 0 is the run without feed-forward, or with the one of [`start`](Learning::start).
    pub number: u32,
    /// Gain with which its feed-forward was learned.
    pub gain: f64,
    /// ‖e‖₂ over all learning inputs, each in its unit.
    pub norm_2: f64,
    /// max |e| over all learning inputs.
    pub max: f64,
    /// Contraction: ‖e‖₂ divided by the ‖e‖₂ of the run from which its feed-forward was learned; `None` in run 0.
    pub contraction: Option<f64>,
    /// Runs until max |e| is within the tolerance, if it shrinks as in this run; `None` if it does not, and in run 0.
    pub runs_needed: Option<u32>,
    /// The errors, in the order of [`FeedForward::inputs`].
    pub channels: Vec<ChannelError>,
}

/// How learning ended.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "detail")]
pub enum LearningOutcome {
    /// No error exceeds the tolerance.
    Converged,
    /// All iterations were made.
    Iterations,
    /// Errors grew, or a run failed; the text says which.
    Diverged(String),
    /// The watcher or an observer ended it.
    Interrupted,
}

/// Result of learning.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// All runs, in order.
    pub iterations: Vec<Iteration>,
    /// Index of the run with the smallest ‖e‖₂.
    pub best: usize,
    /// How learning ended.
    pub outcome: LearningOutcome,
    /// Feed-forward of the best run.
    pub feed_forward: FeedForward,
    /// Feed-forward of a run that would follow the last one, learned from that.
    pub next: FeedForward,
}

/// Why nothing could be learned.
#[derive(Debug, thiserror::Error)]
pub enum LearningError {
    /// An option is out of its range.
    #[error("{option} is {value}; it must be {range}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Its value.
        value: f64,
        /// Allowed values.
        range: &'static str,
    },
    /// The system has no stop time.
    #[error("learning repeats a run, and the system has no stop time; give one")]
    NoStopTime,
    /// The course of the inputs over all macro-steps would not fit into memory.
    #[error(
        "learning keeps the course of its inputs, and the run has {steps} macro-steps; at most {MAX_CURVES} over all inputs are kept"
    )]
    TooLong {
        /// Macro-steps of a run.
        steps: usize,
    },
    /// The feed-forward to start from was learned on another system, or in another way.
    #[error("the feed-forward to start from does not fit: {0}")]
    Misfit(String),
    /// A recorded run is not one of the system.
    #[error("the recording is not one of a run of this system: {0}")]
    Recording(String),
    /// No input of the system learns.
    #[error(
        "there is nothing to learn: no power bond has an end with direct feed-through, or one that steps within the macro-step"
    )]
    NoChannel,
    /// A run was ended before the stop time.
    #[error(
        "a run ended after {steps} macro-steps ({}); learning needs runs up to the stop time",
        .reason.word()
    )]
    Ended {
        /// Macro-steps that it made.
        steps: usize,
        /// Why.
        reason: StopReason,
    },
    /// The system could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The first run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Watches learning from outside.
pub trait LearningObserver {
    /// Returns the maker of the units of FMUs of the next run; by default all are in this process.
    fn maker(&mut self) -> Box<dyn UnitMaker> {
        Box::new(InProcess)
    }

    /// A run was started: observers can be added to it.
    ///
    /// # Errors
    /// An error that the run reports; learning then ends as if the run had failed.
    fn begin(&mut self, number: u32, run: &mut Run) -> Result<(), RunError> {
        let _ = (number, run);
        Ok(())
    }

    /// A run has ended; `false` ends learning.
    fn end(&mut self, iteration: &Iteration) -> bool {
        let _ = iteration;
        true
    }
}

/// Watches nothing.
impl LearningObserver for () {}

impl Learning {
    /// Runs the system that `describe` gives, afresh for each run, until no error exceeds the
    /// tolerance, the iterations are used up, or the errors grow.
    ///
    /// # Errors
    /// A system that cannot learn or be started, or whose first run fails. Later failures end
    /// learning as [`LearningOutcome::Diverged`], once the gain was halved often enough.
    pub fn learn(
        &self,
        options: &RunOptions,
        mut describe: impl FnMut() -> Result<System, StartError>,
        watch: &mut dyn LearningObserver,
    ) -> Result<Learned, LearningError> {
        let system = describe()?;
        let (learners, mut feed_forward) = self.learners(&system)?;
        if let Some(start) = &self.start {
            start
                .continue_as(&mut feed_forward)
                .map_err(LearningError::Misfit)?;
        }
        let mut sequence = Sequence::new(self, options, learners, feed_forward);
        sequence.run(system, watch)?;
        while sequence.outcome.is_none() {
            let number = sequence.number();
            let described = describe().map_err(LearningError::from);
            if let Err(error) = described.and_then(|system| sequence.run(system, watch)) {
                let text = format!("run {number} failed: {error}");
                sequence.lower_gain(text);
            }
        }
        Ok(sequence.learned())
    }

    /// Feed-forward that adds nothing yet, of run 0: the coupling in which runs are made that are recorded and learned from later.
    ///
    /// # Errors
    /// A system that cannot learn.
    pub fn before(&self, system: &System) -> Result<FeedForward, LearningError> {
        Ok(self.learners(system)?.1)
    }

    /// The units of a run that was recorded, with the feed-forward of [`start`](Self::start) or [`before`](Self::before): the
    /// maker for a run that learns from it, with no iterations.
    ///
    /// # Errors
    /// A system that cannot learn; a recording without a column that feeds an input, or without a row at each communication point.
    pub fn recorded(&self, table: Table, system: &System) -> Result<Recorded, LearningError> {
        self.check()?;
        let (graph, steps) = crate::system::graph_and_steps(system)?;
        let steps = steps.ok_or(LearningError::NoStopTime)?;
        Recorded::new(table, &graph, steps).map_err(LearningError::Recording)
    }

    /// The inputs that learn, with feed-forward that adds nothing yet.
    fn learners(&self, system: &System) -> Result<(Vec<Learner>, FeedForward), LearningError> {
        self.check()?;
        let (graph, steps) = crate::system::graph_and_steps(system)?;
        let steps = steps.ok_or(LearningError::NoStopTime)?;
        let (learners, mut feed_forward) = learners(self, &graph, steps);
        if learners.is_empty() {
            return Err(LearningError::NoChannel);
        }
        if steps > MAX_CURVES / learners.len() {
            return Err(LearningError::TooLong { steps });
        }
        feed_forward.clear();
        Ok((learners, feed_forward))
    }

    fn check(&self) -> Result<(), LearningError> {
        let gain = (self.gain > 0.0 && self.gain <= 2.0, "above 0, at most 2");
        let options = [
            ("gain", self.gain, gain.0, gain.1),
            (
                "tolerance",
                self.tolerance,
                self.tolerance >= 0.0,
                "0 or more",
            ),
            (
                "divergence",
                self.divergence,
                self.divergence > 1.0,
                "greater than 1",
            ),
        ];
        match options
            .into_iter()
            .find(|(_, _, is_allowed, _)| !is_allowed)
        {
            None => Ok(()),
            Some((option, value, _, range)) => Err(LearningError::Option {
                option,
                value,
                range,
            }),
        }
    }
}
