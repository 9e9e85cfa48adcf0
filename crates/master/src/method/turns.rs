//! The order in which components take their turns.

use crate::graph::Graph;
use crate::order::dependency_order;

/// Components with direct feed-through come after those that feed them; fast ones before slow ones.
pub(super) const FEEDTHROUGH_LAST: &str = "feedthrough-last";
/// Fast components come before slow ones; those with direct feed-through after the others.
pub(super) const FAST_FIRST: &str = "fast-first";

/// An order as the system file asks for it.
#[derive(Debug, Clone)]
pub(super) enum Order {
    FeedthroughLast,
    FastFirst,
    /// These first; the others after them, those with direct feed-through last.
    Named(Vec<String>),
}

impl Order {
    pub(super) fn new(text: &str) -> Self {
        match text {
            FEEDTHROUGH_LAST => Self::FeedthroughLast,
            FAST_FIRST => Self::FastFirst,
            names => {
                let names = names.split(',').map(|name| name.trim().to_owned());
                Self::Named(names.filter(|name| !name.is_empty()).collect())
            }
        }
    }

    /// All components in this order. Components that get nothing back from those they feed come
    /// before them in any case, unless they are named.
    pub(super) fn components(&self, graph: &Graph) -> Vec<usize> {
        let names: &[String] = match self {
            Self::Named(names) => names,
            _ => &[],
        };
        let stage = stages(graph);
        let depends = |component: usize| !feeding(graph, component).is_empty();
        let rate = |component: usize| graph.components[component].rate;
        let key = |component: usize| {
            let name = &graph.components[component].name;
            let named = names.iter().position(|known| known == name);
            let speed = (
                rate(component).every(),
                u32::MAX - rate(component).substeps(),
            );
            let (first, second) = match self {
                Self::FastFirst => (speed, (u32::from(depends(component)), 0)),
                _ => ((u32::from(depends(component)), 0), speed),
            };
            (named.unwrap_or(usize::MAX), stage[component], first, second)
        };
        let mut sorted: Vec<usize> = (0..graph.components.len()).collect();
        sorted.sort_by_key(|component| key(*component));
        if !matches!(self, Self::FeedthroughLast) {
            return sorted;
        }
        after_their_sources(graph, &sorted)
    }
}

/// For each component how many groups come before it: a group is a component alone, or those that
/// feed each other.
fn stages(graph: &Graph) -> Vec<usize> {
    let sources: Vec<Vec<usize>> = graph
        .components
        .iter()
        .map(|component| {
            let inputs = graph.inputs[component.inputs.clone()].iter();
            inputs
                .map(|input| graph.outputs[input.source].component)
                .collect()
        })
        .collect();
    let mut stages = vec![0; sources.len()];
    let groups = dependency_order(sources.len(), &sources);
    for (stage, group) in groups.into_iter().enumerate() {
        for member in group.members {
            stages[member] = stage;
        }
    }
    stages
}

/// The components whose outputs go straight through `component`.
fn feeding(graph: &Graph, component: usize) -> Vec<usize> {
    let outputs = graph.components[component].outputs.clone();
    let inputs = outputs.flat_map(|output| graph.feedthrough(output, false));
    let source = |input: usize| graph.outputs[graph.inputs[input].source].component;
    inputs.map(source).collect()
}

/// The `sorted` components, moved as little as it takes for those with direct feed-through to come
/// after what goes through them.
fn after_their_sources(graph: &Graph, sorted: &[usize]) -> Vec<usize> {
    let place = |component: usize| sorted.iter().position(|known| *known == component);
    let dependencies: Vec<Vec<usize>> = sorted
        .iter()
        .map(|component| {
            feeding(graph, *component)
                .into_iter()
                .filter_map(place)
                .collect()
        })
        .collect();
    let groups = dependency_order(sorted.len(), &dependencies);
    let members = groups.into_iter().flat_map(|group| group.members);
    members.map(|place| sorted[place]).collect()
}
