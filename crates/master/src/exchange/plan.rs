use std::collections::BTreeMap;

use super::Exchange;
use crate::graph::Graph;
use crate::order::dependency_order;

/// Inputs to set on one component, and outputs to read from it afterwards; indices of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) component: usize,
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<usize>,
}

/// A part of the initialisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// One output can be computed.
    Pass(Pass),
    /// An algebraic loop: its outputs have to be iterated.
    Loop(Vec<Pass>),
}

/// The order in which all real outputs are computed at the start (C-51).
pub(crate) fn initial_stages(graph: &Graph) -> Vec<Stage> {
    let inputs: Vec<Vec<usize>> = (0..graph.outputs.len())
        .map(|output| graph.feedthrough(output, true))
        .collect();
    let sources = sources(graph, &inputs);
    let pass = |output: usize| Pass {
        component: graph.outputs[output].component,
        inputs: inputs[output].clone(),
        outputs: vec![output],
    };
    let groups = dependency_order(inputs.len(), &sources);
    let stage = |group: crate::order::Group| {
        if group.is_loop {
            Stage::Loop(group.members.into_iter().map(pass).collect())
        } else {
            Stage::Pass(pass(group.members[0]))
        }
    };
    groups.into_iter().map(stage).collect()
}

fn sources(graph: &Graph, inputs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    inputs
        .iter()
        .map(|inputs| {
            inputs
                .iter()
                .map(|input| graph.inputs[*input].source)
                .collect()
        })
        .collect()
}

/// The passes that make outputs with direct feed-through agree with the new inputs, between steps,
/// for components whose mode is fresh or compensated; and the outputs that cannot be so treated
/// because they form algebraic loops.
pub(crate) fn exchange_passes(graph: &Graph, modes: &[Exchange]) -> (Vec<Pass>, Vec<Vec<usize>>) {
    let treated = |output: usize| {
        matches!(
            modes[graph.outputs[output].component],
            Exchange::Fresh | Exchange::Compensated
        )
    };
    let inputs: Vec<Vec<usize>> = (0..graph.outputs.len())
        .map(|output| {
            if treated(output) {
                graph.feedthrough(output, false)
            } else {
                Vec::new()
            }
        })
        .collect();
    let sources = sources(graph, &inputs);
    let mut loops = Vec::new();
    let mut level = vec![0_usize; inputs.len()];
    for group in dependency_order(inputs.len(), &sources) {
        if group.is_loop {
            loops.push(group.members);
            continue;
        }
        let output = group.members[0];
        if !inputs[output].is_empty() {
            level[output] = 1 + sources[output]
                .iter()
                .map(|source| level[*source])
                .max()
                .unwrap_or(0);
        }
    }
    // Outputs of one component on one level need one pass.
    let mut passes: BTreeMap<(usize, usize), Pass> = BTreeMap::new();
    for output in (0..inputs.len()).filter(|output| level[*output] > 0) {
        let component = graph.outputs[output].component;
        let pass = passes
            .entry((level[output], component))
            .or_insert_with(|| Pass {
                component,
                inputs: Vec::new(),
                outputs: Vec::new(),
            });
        pass.outputs.push(output);
        pass.inputs.extend(&inputs[output]);
        pass.inputs.sort_unstable();
        pass.inputs.dedup();
    }
    (passes.into_values().collect(), loops)
}
