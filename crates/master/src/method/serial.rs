//! Methods in which components step one after the other: those that come later receive values of those that have
//! stepped before them.

use crate::curve::Curve;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::order::{Group, dependency_order};
use crate::plan::{Draft, Effect, Phase, Stage, StageView, Store};
use crate::registry::{Arguments, ParameterInfo, ParameterKind};
use crate::state_stream::StateStream;

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

/// The components in groups, each after those that feed it: a component alone, or those that feed each other by Reals. Among
/// the orders that Reals allow, other values choose.
pub(super) fn groups(graph: &Graph) -> Vec<Group> {
    let senders = |component: usize| {
        let inputs = graph.inputs[graph.components[component].inputs.clone()].iter();
        inputs.map(|input| graph.outputs[input.source].component)
    };
    let components = 0..graph.components.len();
    let sources: Vec<Vec<usize>> = components.map(|c| senders(c).collect()).collect();
    let groups = dependency_order(sources.len(), &sources);
    let wires = &graph.signal_wires;
    if wires.is_empty() {
        return groups;
    }
    let mut group_of = vec![0; graph.components.len()];
    for (place, group) in groups.iter().enumerate() {
        group
            .members
            .iter()
            .for_each(|member| group_of[*member] = place);
    }
    let sources = groups.iter().map(|group| {
        let members = &group.members;
        let fed = wires.iter().filter(|w| members.contains(&w.component));
        let of_wires = fed.map(|wire| graph.source_component(wire));
        let all = members
            .iter()
            .flat_map(|member| senders(*member))
            .chain(of_wires);
        all.map(|sender| group_of[sender]).collect()
    });
    let order = dependency_order(groups.len(), &sources.collect::<Vec<_>>());
    // Groups that feed each other stay in the order of their Reals.
    let places = order.into_iter().flat_map(|group| group.members);
    places.map(|place| groups[place].clone()).collect()
}

/// For each component how many groups come before it.
fn stages(graph: &Graph) -> Vec<usize> {
    let mut stages = vec![0; graph.components.len()];
    for (stage, group) in groups(graph).into_iter().enumerate() {
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
    /// When its communication step is made: at its end, if something faster comes before it.
    pub(super) phase: Phase,
    /// Its inputs whose sources have stepped before it.
    pub(super) led: Vec<LookAhead>,
    /// Its connections with an end that is not real whose sources have.
    pub(super) led_wires: Vec<usize>,
}

/// An input whose source steps before its component does.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookAhead {
    pub(super) input: usize,
    /// The output that feeds it.
    pub(super) source: usize,
    /// The component that has it.
    pub(super) sender: usize,
}

impl LookAhead {
    pub(super) fn of(input: usize, graph: &Graph) -> Self {
        let source = graph.inputs[input].source;
        let sender = graph.outputs[source].component;
        Self {
            input,
            source,
            sender,
        }
    }
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
        add(draft, turn, &stage);
    }
    draft.show();
    draft.tail();
}

/// Adds a component in its place.
pub(super) fn add<S: Stage + 'static>(
    draft: &mut Draft<'_>,
    turn: Turn,
    stage: impl Fn(Turn) -> S,
) {
    let (component, phase) = ([turn.component], turn.phase);
    draft.led_wires.extend_from_slice(&turn.led_wires);
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

/// The components in this order, each with its inputs whose sources come before it.
pub(super) fn turns(graph: &Graph, order: &[usize]) -> Vec<Turn> {
    let every = |component: usize| graph.components[component].rate.every();
    let mut is_late = vec![false; graph.components.len()];
    let mut is_led = vec![false; graph.inputs.len() + graph.signal_wires.len()];
    // The connections of a component whose sources come before it, by its place.
    let before = |place: usize| {
        let (before, component) = (&order[..place], order[place]);
        let mut found = connections(graph, component);
        found.retain(|(_, sender)| before.contains(sender));
        found
    };
    for (place, &component) in order.iter().enumerate() {
        let own = every(component);
        for (connection, sender) in before(place) {
            let of_source = every(sender);
            if own.is_multiple_of(of_source) {
                is_led[connection] = true;
                is_late[component] |= of_source < own || is_late[sender];
            }
        }
    }
    for (place, &component) in order.iter().enumerate() {
        for (connection, sender) in before(place) {
            let (from, own) = (every(sender), every(component));
            let is_slower = from > own && from.is_multiple_of(own);
            is_led[connection] |= is_slower && !is_late[sender];
        }
    }
    let turn = |&component: &usize| {
        let all = connections(graph, component).into_iter();
        let led = all.filter_map(|(connection, _)| is_led[connection].then_some(connection));
        let count = graph.inputs.len();
        let (inputs, wires): (Vec<_>, Vec<_>) = led.partition(|connection| *connection < count);
        Turn {
            component,
            phase: if is_late[component] {
                Phase::End
            } else {
                Phase::Begin
            },
            led: inputs
                .into_iter()
                .map(|input| LookAhead::of(input, graph))
                .collect(),
            led_wires: wires.into_iter().map(|wire| wire - count).collect(),
        }
    };
    order.iter().map(turn).collect()
}

/// The connections that feed a component, with the components that they come from: its real inputs by their numbers in the
/// graph, then wires, which are numbered on.
fn connections(graph: &Graph, component: usize) -> Vec<(usize, usize)> {
    let inputs = graph.components[component].inputs.clone();
    let inputs = inputs.map(|input| (input, LookAhead::of(input, graph).sender));
    let wires = graph.signal_wires.iter().enumerate();
    let wires = wires.filter(|(_, wire)| wire.component == component);
    let count = graph.inputs.len();
    inputs
        .chain(wires.map(|(index, wire)| (count + index, graph.source_component(wire))))
        .collect()
}

/// The value of a component that takes values only, over its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// The value at the end of the step.
    End,
    /// The mean of the values at its start and its end.
    Mean,
}

impl Held {
    pub(super) const PARAMETER: ParameterInfo = ParameterInfo {
        name: "held",
        summary: "input of a unit that follows no lines: the value of the end of the step, or the mean of its start and its end",
        kind: ParameterKind::Word(&["end", "mean"]),
    };

    pub(super) fn of(arguments: &Arguments) -> Self {
        match arguments.word("held") {
            "mean" => Self::Mean,
            _ => Self::End,
        }
    }
}

/// The inputs of a component follow lines to the values that their sources have ahead of their time.
#[derive(Clone)]
pub(super) struct Lines {
    turn: Turn,
    held: Held,
    /// Values of the sources when the component's communication step began.
    starts: Vec<f64>,
}

impl Lines {
    pub(super) fn new(turn: Turn, held: Held) -> Self {
        Self {
            starts: vec![0.0; turn.led.len()],
            turn,
            held,
        }
    }
}

impl Stage for Lines {
    fn effects(&self, graph: &Graph) -> Vec<Effect> {
        let node = &graph.components[self.turn.component];
        let follows =
            node.rate.substeps() > 1 || node.description.capabilities.input_derivatives > 0;
        let replaced = self.turn.led.iter().map(|led| Effect::Replaces {
            input: led.input,
            phase: self.turn.phase,
            degree: 1,
            is_mean: self.held == Held::Mean && !follows,
        });
        replaced.collect()
    }

    fn words(&self, graph: &Graph) -> String {
        let name = &graph.components[self.turn.component].name;
        let sources = self.turn.led_names(graph);
        let held = match self.held {
            Held::End => "that value",
            Held::Mean => "the mean of its ends",
        };
        format!(
            "{name} receives {sources} of the end of the step: as a line where it follows one, else {held}"
        )
    }

    fn run(&mut self, view: &mut StageView<'_>) -> Result<(), Fault> {
        let component = self.turn.component;
        if view.begins(component) {
            for (start, led) in self.starts.iter_mut().zip(&self.turn.led) {
                *start = view.shown(led.source);
            }
        }
        if !view.is_due(component, self.turn.phase) {
            return Ok(());
        }
        let (step, every) = (view.step_of(component), view.every(component));
        let length = step.size * every as f64;
        for (led, &start) in self.turn.led.iter().zip(&self.starts) {
            let line = view.line(led.source, start, component);
            let is_faster = view.every(led.sender) <= every;
            let curve = if view.follows_courses(component) {
                line
            } else if self.held == Held::Mean {
                Curve::constant(line.at(0.5 * length))
            } else if is_faster {
                Curve::constant(view.ahead(led.source))
            } else {
                Curve::constant(line.at(length))
            };
            view.replace(led.input, curve);
        }
        Ok(())
    }

    fn duplicate(&self) -> Option<Box<dyn Stage>> {
        Some(Box::new(self.clone()))
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        stream.keep(&mut self.starts);
    }
}
