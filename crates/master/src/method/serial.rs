//! Methods in which components step one after the other: those that come later receive values of those that have
//! stepped before them.

use crate::graph::Graph;
use crate::order::dependency_order;
use crate::plan::{Draft, Phase, Stage, Store};

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

/// A component in its place among those that step one after the other.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) component: usize,
    /// Where its communication step is made: at its end, where something faster comes before it.
    pub(super) phase: Phase,
    /// Its inputs whose sources have stepped before it.
    pub(super) led: Vec<Led>,
}

/// An input whose source steps before its component does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Led {
    pub(super) input: usize,
    /// The output that feeds it.
    pub(super) source: usize,
    /// The component that has it.
    pub(super) sender: usize,
}

impl Turn {
    /// The inputs of the component as text.
    pub(super) fn led_names(&self, graph: &Graph) -> String {
        let names = self.led.iter().map(|led| graph.output_name(led.source));
        let mut names: Vec<String> = names.collect();
        names.dedup();
        names.join(", ")
    }
}

/// Writes a plan in which the components step in this order, each with the stage that puts the values of those before it
/// in the place of the prepared courses.
pub(super) fn plan<S: Stage + 'static>(
    draft: &mut Draft<'_>,
    order: &Order,
    stage: impl Fn(Turn) -> S,
) {
    draft.head();
    for turn in turns(draft.graph(), &order.components(draft.graph())) {
        let (component, phase) = ([turn.component], turn.phase);
        draft.prepare(&component);
        match phase {
            Phase::Begin => draft.give_signals(&component),
            Phase::End => draft.postpone(turn.component),
        }
        if !turn.led.is_empty() {
            draft.own(stage(turn));
        }
        if phase == Phase::End {
            draft.give_held(component[0]);
        }
        draft.give(&component, phase);
        draft.step(&component, phase);
        draft.read(&component, Store::Ahead, phase);
    }
    draft.show();
    draft.tail();
}

fn turns(graph: &Graph, order: &[usize]) -> Vec<Turn> {
    let every = |component: usize| graph.components[component].rate.every();
    let led = |input: usize| {
        let source = graph.inputs[input].source;
        let sender = graph.outputs[source].component;
        Led {
            input,
            source,
            sender,
        }
    };
    let mut is_late = vec![false; graph.components.len()];
    let mut is_led = vec![false; graph.inputs.len()];
    // The inputs of a component whose sources come before it, by its place.
    let before = |place: usize| {
        let component = order[place];
        let inputs = graph.components[component].inputs.clone().map(led);
        let before = &order[..place];
        inputs
            .filter(|led| before.contains(&led.sender))
            .collect::<Vec<_>>()
    };
    for (place, &component) in order.iter().enumerate() {
        let own = every(component);
        for led in before(place) {
            let of_source = every(led.sender);
            if own.is_multiple_of(of_source) {
                is_led[led.input] = true;
                is_late[component] |= of_source < own || is_late[led.sender];
            }
        }
    }
    for (place, &component) in order.iter().enumerate() {
        for led in before(place) {
            let (from, own) = (every(led.sender), every(component));
            let is_slower = from > own && from.is_multiple_of(own);
            is_led[led.input] |= is_slower && !is_late[led.sender];
        }
    }
    let turn = |&component: &usize| Turn {
        component,
        phase: if is_late[component] {
            Phase::End
        } else {
            Phase::Begin
        },
        led: graph.components[component]
            .inputs
            .clone()
            .filter(|input| is_led[*input])
            .map(led)
            .collect(),
    };
    order.iter().map(turn).collect()
}
