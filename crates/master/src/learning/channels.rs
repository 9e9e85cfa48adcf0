//! Selection of the inputs that learn, and the use that each of them makes of its values.

use super::{Base, Interpolation, Learning};
use crate::exchange_mode::Exchange;
use crate::feed_forward::{Channel, FeedForward, named_inputs};
use crate::graph::Graph;
use crate::time::common_macro_steps;

/// An input that learns.
pub(super) struct Learner {
    /// Global index of the input.
    pub(super) input: usize,
    /// How the reference is interpolated for it.
    pub(super) interpolation: Interpolation,
    /// Macro-steps between two feeds of the input.
    pub(super) feed_every: usize,
    /// Macro-steps between two values of the output that feeds it.
    pub(super) source_every: usize,
    /// Macro-steps between the points that the interpolation goes through.
    pub(super) knot_every: usize,
    /// Points per feed at which the error is measured: the points at which the receiver reads a
    /// value.
    pub(super) points: usize,
    /// The reference of a step is the value that the source publishes one step later.
    pub(super) is_ahead: bool,
}

/// The inputs that learn, and feed-forward for them that adds nothing yet.
pub(super) fn learners(
    learning: &Learning,
    graph: &Graph,
    steps: usize,
) -> (Vec<Learner>, FeedForward) {
    let mut learners = Vec::new();
    let mut feed_forward = FeedForward {
        start_time: graph.clock.start(),
        macro_step: graph.macro_step,
        steps,
        channels: Vec::new(),
        exchange: Vec::new(),
        origin: None,
    };
    for (component, input, name) in named_inputs(graph) {
        let source = graph.inputs[input].source;
        let feeder = graph.outputs[source].component;
        let feeds_through = !graph.feedthrough(source, false).is_empty();
        let interpolation = interpolation_for(graph, component, learning.interpolation);
        let has_bond = graph.bonds.iter().any(|bond| {
            let ends = [bond.effort_side, bond.flow_side];
            ends == [component, feeder] || ends == [feeder, component]
        });
        if !has_bond || !(feeds_through || interpolation != Interpolation::Hold) {
            continue;
        }
        if feeds_through {
            let mode = (
                graph.components[feeder].name.clone(),
                mode_for(graph, feeder, learning),
            );
            if !feed_forward.exchange.contains(&mode) {
                feed_forward.exchange.push(mode);
            }
        }
        feed_forward.channels.push(Channel {
            input: name,
            output: graph.output_name(source),
            step: graph.macro_step * graph.components[component].rate.ratio(),
            is_delayed: feeds_through && learning.base == Base::Delay,
            degree: interpolation.degree(),
            curves: Vec::new(),
        });
        learners.push(learner(graph, (component, input, feeder), interpolation));
        if let Some(learner) = learners.last_mut() {
            learner.is_ahead = feeds_through && learning.base == Base::Stale;
        }
    }
    (learners, feed_forward)
}

fn learner(
    graph: &Graph,
    (component, input, feeder): (usize, usize, usize),
    interpolation: Interpolation,
) -> Learner {
    let node = &graph.components[component];
    let feed_every = node.rate.every() as usize;
    let source_every = graph.components[feeder].rate.every() as usize;
    // A curve that lasts for a whole step of a slow receiver goes through that receiver's points.
    let knot_every = if interpolation == Interpolation::Hold {
        source_every
    } else {
        let rate = |of: usize| graph.components[of].rate.every();
        common_macro_steps(rate(feeder), rate(component)) as usize
    };
    // Derivatives act between the points at which values are set.
    let has_derivatives = node.description.capabilities.input_derivatives > 0;
    let per_step = if has_derivatives && interpolation != Interpolation::Hold {
        2
    } else {
        1
    };
    Learner {
        input,
        interpolation,
        feed_every,
        source_every,
        knot_every,
        points: node.rate.substeps() as usize * per_step,
        is_ahead: false,
    }
}

/// A receiver that can do nothing with the course of an input within its step gets a value for it;
/// one that makes a single step with a derivative or two, the straight line to the next point.
fn interpolation_for(graph: &Graph, component: usize, wanted: Interpolation) -> Interpolation {
    let node = &graph.components[component];
    let degree = node.description.capabilities.input_derivatives;
    match (node.rate.substeps(), degree) {
        (1, 0) => Interpolation::Hold,
        (1, 1 | 2) if wanted == Interpolation::Cubic => Interpolation::Linear,
        _ => wanted,
    }
}

/// How a component has to exchange its outputs so that the law gets its reference.
fn mode_for(graph: &Graph, component: usize, learning: &Learning) -> Exchange {
    let node = &graph.components[component];
    match (learning.base, node.exchange) {
        (Base::Stale, _) => Exchange::STALE,
        (Base::Fresh, _) => Exchange::FRESH,
        (Base::Compensated, _) => Exchange::COMPENSATED,
        (Base::Delay, mode) if mode.facts().follows_inputs => mode,
        (Base::Delay, _) if node.description.capabilities.fresh_outputs => Exchange::FRESH,
        (Base::Delay, _) => Exchange::COMPENSATED,
    }
}
