//! Learned feed-forward while a system runs: known in advance, so it needs no hindsight and
//! allocates nothing per step. The operation `feed-forward`; it looks at no unit.

use crate::state::{Courses, FeedForwardSignal, Signals, SystemState};
use crate::step::Step;

/// Has feed-forward added to the inputs from now on.
pub(crate) fn add_feed_forward(state: &mut SystemState, signals: Vec<FeedForwardSignal>) {
    state.courses.feed_forward = signals;
    super::select_ways_of_giving(state);
}

/// Marks the inputs that feed-forward changes.
pub(super) fn mark_inputs(courses: &mut Courses) {
    for signal in &courses.feed_forward {
        let input = &mut courses.inputs[signal.input];
        input.is_corrected = true;
        input.degree = input.degree.max(signal.degree);
    }
}

/// Sets the addition of feed-forward over the coming step. It includes the part that a delay
/// removes: the ledger shows by how much energy the whole differs from an exchange without delay.
#[inline]
pub(super) fn play(courses: &mut Courses, signals: &Signals, step: &Step) {
    for signal in &mut courses.feed_forward {
        let input = &mut courses.inputs[signal.input];
        let now = input.fed(&signals.reals);
        let curve = signal.curves.get(step.index as usize);
        let mut curve = curve.copied().unwrap_or_default();
        if signal.is_delayed && step.index > 0 {
            curve.coefficients[0] += signal.previous - now;
        }
        signal.previous = now;
        input.feed_forward = curve;
    }
}
