//! Learned feed-forward while a system runs: known in advance, so it needs no hindsight and
//! allocates nothing per step.

use super::FeedForward;
use crate::curve::Curve;
use crate::graph::{Axis, Bond};
use crate::plant::{Plant, Step};

/// Adds learned feed-forward to the inputs of a plant, step by step.
#[derive(Default)]
pub(crate) struct Player {
    voices: Vec<Voice>,
}

/// The feed-forward of one input.
pub(crate) struct Voice {
    /// Global index of the input.
    pub(crate) input: usize,
    /// The input is fed one macro-step late.
    pub(crate) is_delayed: bool,
    /// Highest degree of the curves.
    pub(crate) degree: usize,
    /// What is added over each macro-step; nothing after the last one.
    pub(crate) curves: Vec<Curve>,
    /// The value that was due one macro-step ago.
    pub(crate) previous: f64,
}

impl Player {
    pub(crate) fn new(voices: Vec<Voice>) -> Self {
        Self { voices }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.voices.is_empty()
    }

    /// Whether an input of the bond gets feed-forward.
    pub(crate) fn plays_on(&self, bond: &Bond) -> bool {
        let inputs = |axis: &Axis| [axis.effort_input, axis.flow_input];
        let mut inputs = bond.axes.iter().flat_map(inputs);
        inputs.any(|input| self.voices.iter().any(|voice| voice.input == input))
    }
}

impl Plant {
    /// Has feed-forward that fits added to the inputs from now on.
    pub(crate) fn play(&mut self, feed_forward: FeedForward) {
        self.player = feed_forward.player(&self.graph);
        self.mark_corrected_inputs();
    }

    pub(crate) fn mark_fed_forward_inputs(&mut self) {
        for voice in &self.player.voices {
            let state = &mut self.states[voice.input];
            state.is_corrected = true;
            state.degree = state.degree.max(voice.degree);
        }
    }

    /// Sets what feed-forward adds over the coming step. What a delay takes away counts to it, so that
    /// the ledger tells by how much energy the whole still differs from an exchange without delay.
    pub(crate) fn play_feed_forward(&mut self, step: &Step) {
        for voice in &mut self.player.voices {
            let state = &mut self.states[voice.input];
            let now = state.fed(&self.outputs);
            let curve = voice.curves.get(step.index as usize);
            let mut curve = curve.copied().unwrap_or_default();
            if voice.is_delayed && step.index > 0 {
                curve.coefficients[0] += voice.previous - now;
            }
            voice.previous = now;
            state.feed_forward = curve;
        }
    }
}
