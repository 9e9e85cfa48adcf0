//! A pass of the exchange, as data. The exchange modes work on it.

use crate::exchange_mode::Exchange;
use crate::state_stream::stored;
use crate::unit::{Handle, SavedState};

/// A pass of the exchange between steps, ready to run: some inputs of a component, and the outputs
/// that depend on them directly.
pub(crate) struct Pass {
    pub(crate) component: usize,
    pub(crate) mode: Exchange,
    pub(crate) inputs: Vec<usize>,
    pub(crate) input_handles: Vec<Handle>,
    pub(crate) outputs: Vec<usize>,
    pub(crate) output_handles: Vec<Handle>,
    /// D: ∂output/∂input, row by row; read again at each point if the unit gives derivatives, else measured again if it may
    /// have moved.
    pub(crate) gains: Vec<f64>,
    /// D is smooth, as far as it was probed: the errors of stale outputs follow from it.
    pub(crate) is_smooth: bool,
    /// The unit declares that its outputs may be read again between steps.
    pub(crate) may_read_again: bool,
    /// The unit gives directional derivatives.
    pub(crate) by_unit: bool,
    /// The algebraic loop that it is a part of; its first pass stands for it in the plan.
    pub(crate) in_loop: Option<usize>,
    pub(crate) new_inputs: Vec<f64>,
    /// The new inputs less those of the last step.
    pub(crate) changes: Vec<f64>,
    pub(crate) new_outputs: Vec<f64>,
    pub(crate) record: PassRecord,
    /// The unit can go back, so that D may be measured again in steps.
    pub(crate) trial: Option<PassTrial>,
}

/// How the outputs of a compensated pass have followed its inputs so far.
#[derive(Debug, Default)]
pub(crate) struct PassRecord {
    /// Communication points so far.
    pub(crate) points: u64,
    /// Of each input: its values at the ends of the last steps, newest first.
    pub(crate) inputs: Vec<[f64; 4]>,
    pub(crate) rows: Vec<RowRecord>,
    /// What this point says of D.
    pub(crate) doubt: Doubt,
    /// Points until D may be measured again, and how many that were.
    pub(crate) wait: u64,
    pub(crate) patience: u64,
    /// D had moved when it was measured last.
    pub(crate) is_moving: bool,
}

/// Whether D has moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doubt {
    #[default]
    None,
    /// It may have.
    Possible,
    /// It has.
    Sudden,
}

/// How often something was so, and the first and the last time, s.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Times {
    pub(crate) count: u64,
    pub(crate) first: f64,
    pub(crate) last: f64,
}

impl Times {
    /// Once more, at this time, s.
    pub(crate) fn add(&mut self, time: f64) {
        self.count += 1;
        self.last = time;
        if self.count == 1 {
            self.first = time;
        }
    }
}

/// How one output has followed the inputs of its pass so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct RowRecord {
    /// The output as the last steps left it, newest first.
    pub(crate) values: [f64; 4],
    /// The greatest magnitude so far.
    pub(crate) magnitude: f64,
    /// The greatest change over a step, fading.
    pub(crate) change: f64,
    /// Fading sums of squares: of the rough motion of the output, of what D says of it, of the difference, and of what D says of the
    /// changes.
    pub(crate) seen: f64,
    pub(crate) said: f64,
    pub(crate) missed: f64,
    pub(crate) changes: f64,
    /// The usual error of a prediction: the greatest, fading.
    pub(crate) usual: f64,
    /// Another D was measured now, and at which times.
    pub(crate) is_other: bool,
    pub(crate) measured: Times,
    /// D does not predict the output. It is stale for so many points yet, at least; it was for so many at first.
    pub(crate) is_distrusted: bool,
    pub(crate) wait: u64,
    pub(crate) patience: u64,
    /// The part of its correction that is left out at this point: 1 if the output is stale.
    pub(crate) left_out: f64,
    /// When it was stale, and when a part was left out.
    pub(crate) stale: Times,
    pub(crate) limited: Times,
}

impl PassRecord {
    /// Of so many inputs and outputs.
    pub(crate) fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            inputs: vec![[0.0; 4]; inputs],
            rows: vec![RowRecord::default(); outputs],
            ..Self::default()
        }
    }
}

impl Clone for PassRecord {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Uses the memory of the lists again.
    fn clone_from(&mut self, source: &Self) {
        let Self {
            points,
            inputs,
            rows,
            doubt,
            wait,
            patience,
            is_moving,
        } = source;
        (self.points, self.wait, self.patience) = (*points, *wait, *patience);
        (self.doubt, self.is_moving) = (*doubt, *is_moving);
        self.inputs.clone_from(inputs);
        self.rows.clone_from(rows);
    }
}

/// Room for the trial steps of a pass.
pub(crate) struct PassTrial {
    /// The unit is given this stop time, s, beyond which no trial step goes; infinite where there is none.
    pub(crate) until: f64,
    /// It has shown that it goes back.
    pub(crate) is_checked: bool,
    pub(crate) saved: Option<SavedState>,
    /// Inputs that are tried, and the outputs after a step with those of the step before and with them.
    pub(crate) inputs: Vec<f64>,
    pub(crate) usual: Vec<f64>,
    pub(crate) tried: Vec<f64>,
}

impl PassTrial {
    /// Of so many inputs and outputs.
    pub(crate) fn new((inputs, outputs): (usize, usize), until: f64) -> Self {
        Self {
            until,
            is_checked: false,
            saved: None,
            inputs: vec![0.0; inputs],
            usual: vec![0.0; outputs],
            tried: vec![0.0; outputs],
        }
    }
}

/// How the outputs of a component follow its inputs in steps.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum StepResponse {
    /// As the probe shows.
    #[default]
    AsProbed,
    /// These outputs follow these inputs, as pairs of indices of the graph. None where the unit was tried and its
    /// outputs follow by states.
    Tried(Vec<(usize, usize)>),
    /// Direct feed-through is declared and shows nowhere, and the unit cannot be tried.
    Unknown,
}

stored!(Pass {
    gains,
    new_inputs,
    changes,
    new_outputs,
    record;
    component,
    mode,
    inputs,
    input_handles,
    outputs,
    output_handles,
    is_smooth,
    may_read_again,
    by_unit,
    in_loop,
    trial
});

stored!(PassRecord {
    points,
    inputs,
    rows,
    wait,
    patience,
    is_moving;
    // Of one point.
    doubt
});

stored!(Times { count, first, last });

stored!(RowRecord {
    values,
    magnitude,
    change,
    seen,
    said,
    missed,
    changes,
    usual,
    is_other,
    measured,
    is_distrusted,
    wait,
    patience,
    left_out,
    stale,
    limited
});
