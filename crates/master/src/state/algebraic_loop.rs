//! An algebraic loop of a running system, as data. The exchange solves it; nothing here calls a unit.

use std::ops::Range;

use crate::state_stream::stored;
use crate::unit::SavedState;

/// An algebraic loop between steps: outputs that depend on each other at one instant, and the memory of its solver.
///
/// Its passes stand side by side. Outputs and inputs are numbered through, pass by pass.
pub(crate) struct AlgebraicLoop {
    /// Its passes among the system's.
    pub(crate) passes: Range<usize>,
    /// How the outputs of each pass are found under other inputs.
    pub(crate) ways: Vec<LoopWay>,
    /// Its outputs, as indices of the graph.
    pub(crate) outputs: Vec<usize>,
    /// Its inputs, as indices of the graph.
    pub(crate) inputs: Vec<usize>,
    /// The first output and the first input of each pass.
    pub(crate) firsts: Vec<(usize, usize)>,
    /// The output of the loop that feeds each input, as a position; `None` if it comes from outside.
    pub(crate) sources: Vec<Option<usize>>,
    /// Units are given this stop time, s, beyond which no trial step goes; infinite if there is none.
    pub(crate) until: f64,
    pub(crate) memory: LoopMemory,
    pub(crate) record: LoopRecord,
}

/// How the outputs of a unit are found under other inputs, without a step between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopWay {
    /// The inputs are set and the outputs read: declared safe, or asked for.
    ReadAgain,
    /// A very short step with the inputs, from a saved state to which the unit goes back.
    TrialStep,
    /// The outputs as the step left them plus D·(u − ũ).
    Linear,
}

/// Memory of the solver, which is used again at each point.
pub(crate) struct LoopMemory {
    /// The values of the inputs that are tried, and of the inputs that come from outside.
    pub(crate) tried: Vec<f64>,
    pub(crate) given: Vec<f64>,
    /// Factor of each input that an output of the loop feeds, 0 of the others.
    pub(crate) factors: Vec<f64>,
    /// The outputs as the step left them, and under the inputs that are tried.
    pub(crate) left: Vec<f64>,
    pub(crate) found: Vec<f64>,
    /// The change of these outputs by the linear equations, and the outputs with it.
    pub(crate) change: Vec<f64>,
    pub(crate) solved: Vec<f64>,
    /// The outputs after a trial step with the inputs of the step that has ended.
    pub(crate) after_trial: Vec<f64>,
    /// The inputs with the least residual.
    pub(crate) best: Vec<f64>,
    /// The ways at this point.
    pub(crate) ways: Vec<LoopWay>,
    /// I − D·K, then its factors; the magnitudes of its terms; the order of its rows; the right side.
    pub(crate) matrix: Vec<f64>,
    pub(crate) terms: Vec<f64>,
    pub(crate) order: Vec<usize>,
    pub(crate) right: Vec<f64>,
    /// Outputs of a pass above and below a point.
    pub(crate) pair: [Vec<f64>; 2],
    /// The component of the pass is due.
    pub(crate) is_due: Vec<bool>,
    pub(crate) saved: Vec<Option<SavedState>>,
}

/// The solutions of a loop so far.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LoopRecord {
    /// Communication points at which it was to be solved, and at which it was not.
    pub(crate) points: u64,
    pub(crate) unsolved: u64,
    /// The largest residual, relative to its output, with the position of that and the time, s.
    pub(crate) residual: f64,
    pub(crate) output: usize,
    pub(crate) time: f64,
    /// The largest magnitude of each output so far, nominal values included.
    pub(crate) magnitudes: Vec<f64>,
    /// Time of the last solution, s.
    pub(crate) last_time: f64,
    /// D by which it was found, and the change of each input by it; empty if D is not measured again.
    pub(crate) last_gains: Vec<f64>,
    pub(crate) last_changes: Vec<f64>,
}

impl Clone for LoopRecord {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Uses the memory of the lists again.
    fn clone_from(&mut self, source: &Self) {
        let Self {
            points,
            unsolved,
            residual,
            output,
            time,
            magnitudes,
            last_time,
            last_gains,
            last_changes,
        } = source;
        (self.points, self.unsolved) = (*points, *unsolved);
        (self.residual, self.output, self.time) = (*residual, *output, *time);
        self.magnitudes.clone_from(magnitudes);
        self.last_time = *last_time;
        self.last_gains.clone_from(last_gains);
        self.last_changes.clone_from(last_changes);
    }
}

impl crate::state_stream::Stored for AlgebraicLoop {
    fn transfer(&mut self, stream: &mut crate::state_stream::StateStream) {
        let Self {
            outputs, record, ..
        } = self;
        stream.below(&mut record.output, outputs.len());
        stream.keep(record);
    }
}

stored!(LoopRecord {
    points,
    unsolved,
    residual,
    time,
    magnitudes,
    last_time,
    last_gains,
    last_changes;
    output
});
