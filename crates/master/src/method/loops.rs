//! Implicit methods: components that feed each other make a macro-step from outputs that are estimated for its end;
//! the others step once, in the order in which they feed each other.

use super::serial::{self, Held, Lines, LookAhead, Order, Turn};
use crate::graph::Graph;
use crate::plan::{Draft, Effect, Instant, Store};

/// Writes the plan: each loop of components by `add_loop`, which gets them in their order. Components of loops that cannot
/// make a macro-step again are refused.
pub(super) fn plan(
    draft: &mut Draft<'_>,
    held: Held,
    add_loop: impl Fn(&mut Draft<'_>, Vec<Turn>),
) {
    let graph = draft.graph();
    let sequence = Order::FeedthroughLast.components(graph);
    let groups = serial::groups(graph);
    let loops = groups.iter().filter(|group| group.is_loop);
    let members = loops.flat_map(|group| &group.members);
    let lack = |member: &usize| no_way_back(*member, graph).or_else(|| is_slow(*member, graph));
    let lacks: Vec<String> = members.filter_map(lack).collect();
    if !lacks.is_empty() {
        lacks.into_iter().for_each(|reason| draft.refuse(reason));
        return;
    }
    let place = |component: usize| sequence.iter().position(|known| *known == component);
    let groups = groups.into_iter().map(|mut group| {
        group.members.sort_unstable_by_key(|member| place(*member));
        group
    });
    let groups: Vec<_> = groups.collect();
    let order = groups.iter().flat_map(|group| group.members.clone());
    let mut turns = serial::turns(graph, &order.collect::<Vec<_>>()).into_iter();
    draft.head();
    for group in groups {
        let members: Vec<Turn> = turns.by_ref().take(group.members.len()).collect();
        if group.is_loop {
            let inside = |wire: &usize| {
                let sender = graph.source_component(&graph.signal_wires[*wire]);
                group.members.contains(&sender)
            };
            // Other values than Reals are not estimated: within the loop they are those at the start of the step.
            let wires = members.iter().flat_map(|turn| &turn.led_wires);
            let outside = wires.copied().filter(|wire| !inside(wire));
            draft.led_wires.extend(outside);
            add_loop(draft, members);
        } else {
            for turn in members {
                serial::add(draft, turn, |turn| Lines::new(turn, held));
            }
        }
    }
    draft.show();
    draft.tail();
}

/// Why a component cannot go back to the start of a macro-step.
fn no_way_back(component: usize, graph: &Graph) -> Option<String> {
    let node = &graph.components[component];
    let name = &node.name;
    (!node.description.capabilities.save_and_restore).then(|| {
        format!(
            "`{name}` is in a loop and cannot save its state (canGetAndSetFMUstate), so that it cannot make a step again; \
             use method `jacobi` or `gauss-seidel`"
        )
    })
}

/// Why a component does not end its communication step with each macro-step.
fn is_slow(component: usize, graph: &Graph) -> Option<String> {
    let node = &graph.components[component];
    let (name, every) = (&node.name, node.rate.every());
    (every > 1).then(|| {
        format!(
            "`{name}` is in a loop and communicates every {every} macro-steps; give it the macro-step as its `step_size`, \
             or use method `jacobi` or `gauss-seidel`"
        )
    })
}

/// The effects of a stage that estimates outputs from the outputs of the pass before.
pub(super) fn effects_of_estimates(outputs: &[usize]) -> Vec<Effect> {
    let effects = outputs.iter().flat_map(|&output| {
        let read = Effect::Reads {
            output,
            store: Store::Ahead,
            at: Instant::End,
        };
        [read, Effect::Estimates { output }]
    });
    effects.collect()
}

/// The names of outputs as text.
pub(super) fn names(outputs: &[usize], graph: &Graph) -> String {
    let names = outputs.iter().map(|output| graph.output_name(*output));
    names.collect::<Vec<_>>().join(", ")
}

/// The components of a loop, each also led by all that feed it within the loop.
pub(super) fn lead_by_each_other(turns: Vec<Turn>, graph: &Graph) -> Vec<Turn> {
    let members: Vec<usize> = turns.iter().map(|turn| turn.component).collect();
    let lead = |mut turn: Turn| {
        for input in graph.components[turn.component].inputs.clone() {
            let led = LookAhead::of(input, graph);
            let is_known = turn.led.iter().any(|known| known.input == input);
            if !is_known && members.contains(&led.sender) {
                turn.led.push(led);
            }
        }
        turn.led.sort_unstable_by_key(|led| led.input);
        turn
    };
    turns.into_iter().map(lead).collect()
}

/// The inputs of a loop whose sources `is_estimated` says are estimated, one of each source, by their sources.
pub(super) fn estimated(
    turns: &[Turn],
    is_estimated: impl Fn(usize, &LookAhead) -> bool,
) -> Vec<LookAhead> {
    let led = turns.iter().flat_map(|turn| {
        let led = turn.led.iter();
        led.filter(|led| is_estimated(turn.component, led)).copied()
    });
    let mut inputs: Vec<LookAhead> = led.collect();
    inputs.sort_unstable_by_key(|led| (led.source, led.input));
    inputs.dedup_by_key(|led| led.source);
    inputs
}
