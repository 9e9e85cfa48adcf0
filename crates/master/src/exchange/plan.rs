//! The order in which outputs with direct feed-through are computed: stages at the start, passes between steps.
//!
//! The initialisation and the passes of the exchange ask for it. It is a function of the graph and of what was
//! measured, and calls no unit.

use std::collections::BTreeMap;
use std::ops::Range;

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

/// The passes of the exchange between steps, in the order of their dependencies.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ExchangePasses {
    pub(crate) passes: Vec<Pass>,
    /// The passes of each algebraic loop, which stand side by side.
    pub(crate) loops: Vec<Range<usize>>,
    /// The outputs of loops that are not solved, because an input in them has a memory: a filter.
    pub(crate) unsolved: Vec<Vec<usize>>,
}

/// The passes that make outputs with direct feed-through agree with the new inputs, between steps, for
/// the components that are `treated`, in the order of their dependencies; after them those of the
/// outputs that are `audited`, which change nothing.
///
/// Descriptions often declare more dependencies than there are. Where they would make a loop, those
/// count that are not `inert`: whose derivative was not measured to be zero.
pub(crate) fn exchange_passes(
    graph: &Graph,
    treated: &dyn Fn(usize) -> bool,
    audited: &dyn Fn(usize) -> bool,
    inert: &dyn Fn(usize, usize) -> bool,
) -> ExchangePasses {
    let inputs = true_feedthrough(graph, treated, inert);
    let Levels {
        level,
        in_loop,
        unsolved,
    } = levels(graph, &inputs);
    let mut passes = Passes::default();
    for output in (0..inputs.len()).filter(|output| level[*output] > 0) {
        let component = graph.outputs[output].component;
        let place = (level[output], in_loop[output], component);
        passes.add(place, output, &inputs[output]);
    }
    for output in 0..inputs.len() {
        let component = graph.outputs[output].component;
        let inputs = match audited(output) {
            true => graph.feedthrough(output, false),
            false => Vec::new(),
        };
        if !inputs.is_empty() {
            passes.add((usize::MAX, None, component), output, &inputs);
        }
    }
    let mut loops: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (index, (_, in_loop, _)) in passes.0.keys().enumerate() {
        match loops.last_mut() {
            Some(range) if in_loop.is_some() && *in_loop == last => range.end = index + 1,
            _ if in_loop.is_some() => loops.push(index..index + 1),
            _ => {}
        }
        last = *in_loop;
    }
    ExchangePasses {
        passes: passes.0.into_values().collect(),
        loops,
        unsolved,
    }
}

/// The outputs of each algebraic loop between steps that the components that are `treated` form.
pub(crate) fn loops_of(
    graph: &Graph,
    treated: &dyn Fn(usize) -> bool,
    inert: &dyn Fn(usize, usize) -> bool,
) -> Vec<Vec<usize>> {
    let inputs = true_feedthrough(graph, treated, inert);
    let groups = dependency_order(inputs.len(), &sources(graph, &inputs));
    let loops = groups.into_iter().filter(|group| group.is_loop);
    loops.map(|group| group.members).collect()
}

fn feedthrough(graph: &Graph, of: &dyn Fn(usize) -> bool, output: usize) -> Vec<usize> {
    match of(graph.outputs[output].component) {
        true => graph.feedthrough(output, false),
        false => Vec::new(),
    }
}

/// The inputs on which each output depends, without those that are inert where they would make a loop.
fn true_feedthrough(
    graph: &Graph,
    of: &dyn Fn(usize) -> bool,
    inert: &dyn Fn(usize, usize) -> bool,
) -> Vec<Vec<usize>> {
    let outputs = 0..graph.outputs.len();
    let mut inputs: Vec<_> = outputs
        .map(|output| feedthrough(graph, of, output))
        .collect();
    for group in dependency_order(inputs.len(), &sources(graph, &inputs)) {
        for output in group.members.into_iter().filter(|_| group.is_loop) {
            inputs[output].retain(|input| !inert(output, *input));
        }
    }
    inputs
}

/// The place of each output in the order of the passes.
struct Levels {
    /// How many passes have to come before that of the output, 0 where there is nothing to do.
    level: Vec<usize>,
    in_loop: Vec<Option<usize>>,
    unsolved: Vec<Vec<usize>>,
}

/// The levels of outputs that depend on `inputs`.
fn levels(graph: &Graph, inputs: &[Vec<usize>]) -> Levels {
    let sources = sources(graph, inputs);
    let mut found = Levels {
        level: vec![0; inputs.len()],
        in_loop: vec![None; inputs.len()],
        unsolved: Vec::new(),
    };
    let mut loops = 0;
    for group in dependency_order(inputs.len(), &sources) {
        let is_inside = |input: &usize| group.members.contains(&graph.inputs[*input].source);
        let mut fed = group.members.iter().flat_map(|output| &inputs[*output]);
        let has_memory =
            |input: &usize| is_inside(input) && graph.inputs[*input].facts.needs_substeps;
        if group.is_loop && fed.any(has_memory) {
            found.unsolved.push(group.members);
            continue;
        }
        let outside = group.members.iter().flat_map(|output| &sources[*output]);
        let outside = outside.filter(|source| !group.members.contains(*source));
        let deepest = outside.map(|source| found.level[*source]).max();
        for &output in &group.members {
            if !inputs[output].is_empty() {
                found.level[output] = 1 + deepest.unwrap_or(0);
            }
            found.in_loop[output] = group.is_loop.then_some(loops);
        }
        loops += usize::from(group.is_loop);
    }
    found
}

/// Outputs of one component on one level, in one loop or none, need one pass.
#[derive(Default)]
struct Passes(BTreeMap<(usize, Option<usize>, usize), Pass>);

impl Passes {
    /// Adds an output to the pass at a place: level, loop and component.
    fn add(&mut self, place: (usize, Option<usize>, usize), output: usize, inputs: &[usize]) {
        let empty = || Pass {
            component: place.2,
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        let pass = self.0.entry(place).or_insert_with(empty);
        pass.outputs.push(output);
        pass.inputs.extend(inputs);
        pass.inputs.sort_unstable();
        pass.inputs.dedup();
    }
}
