use std::collections::BTreeMap;

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

/// The passes that make outputs with direct feed-through agree with the new inputs, between steps, for
/// the components that are `treated`, in the order of their dependencies; after them those of the
/// components that are `audited`, which change nothing. And the outputs of treated components that
/// cannot be so treated because they form algebraic loops.
///
/// Descriptions often declare more dependencies than there are. Where they would make a loop, those
/// count that are not `inert`: whose derivative was not measured to be zero.
pub(crate) fn exchange_passes(
    graph: &Graph,
    treated: &dyn Fn(usize) -> bool,
    audited: &dyn Fn(usize) -> bool,
    inert: &dyn Fn(usize, usize) -> bool,
) -> (Vec<Pass>, Vec<Vec<usize>>) {
    let feedthrough = |of: &dyn Fn(usize) -> bool| -> Vec<Vec<usize>> {
        let inputs = |output: usize| match of(graph.outputs[output].component) {
            true => graph.feedthrough(output, false),
            false => Vec::new(),
        };
        (0..graph.outputs.len()).map(inputs).collect()
    };
    let mut inputs = feedthrough(treated);
    let (mut level, mut loops) = levels(graph, &inputs);
    if !loops.is_empty() {
        for &output in loops.iter().flatten() {
            inputs[output].retain(|input| !inert(output, *input));
        }
        (level, loops) = levels(graph, &inputs);
    }
    let mut passes = Passes::default();
    for output in (0..inputs.len()).filter(|output| level[*output] > 0) {
        let component = graph.outputs[output].component;
        passes.add(level[output], component, output, &inputs[output]);
    }
    for (output, inputs) in feedthrough(audited).iter().enumerate() {
        if !inputs.is_empty() {
            passes.add(usize::MAX, graph.outputs[output].component, output, inputs);
        }
    }
    (passes.0.into_values().collect(), loops)
}

/// How many passes have to come before that of each output, which depends on `inputs`, 0 where
/// there is nothing to do; and the loops.
fn levels(graph: &Graph, inputs: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let sources = sources(graph, inputs);
    let mut loops = Vec::new();
    let mut level = vec![0_usize; inputs.len()];
    for group in dependency_order(inputs.len(), &sources) {
        if group.is_loop {
            loops.push(group.members);
            continue;
        }
        let output = group.members[0];
        if !inputs[output].is_empty() {
            let deepest = sources[output].iter().map(|source| level[*source]).max();
            level[output] = 1 + deepest.unwrap_or(0);
        }
    }
    (level, loops)
}

/// Outputs of one component on one level need one pass.
#[derive(Default)]
struct Passes(BTreeMap<(usize, usize), Pass>);

impl Passes {
    fn add(&mut self, level: usize, component: usize, output: usize, inputs: &[usize]) {
        let empty = || Pass {
            component,
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        let pass = self.0.entry((level, component)).or_insert_with(empty);
        pass.outputs.push(output);
        pass.inputs.extend(inputs);
        pass.inputs.sort_unstable();
        pass.inputs.dedup();
    }
}
