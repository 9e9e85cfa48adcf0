//! The plan of a run from a draft: without operations that have nothing to do, with passes and groups. A run calls it once its units are
//! initialised, and again when a scenario joins it; it orders nothing anew.

use super::operation::{Operation, Selection};
use crate::graph::Graph;
use crate::state::{Group, Member, SystemState};
use crate::step::Phase;

/// The plan of a draft for units that are initialised: without operations that have nothing to do, with the passes of the
/// exchange, and with the groups of FMUs that it steps, which the state gets.
pub(crate) fn finish(operations: &[Operation], state: &mut SystemState) -> Vec<Operation> {
    let mut operations = needed(operations, state);
    let units = &mut state.units;
    units.groups.clear();
    add_groups(&operations, &units.members, &mut units.groups);
    use_groups(&mut operations, &units.members, &units.groups);
    operations
}

/// Makes a group of the FMUs of each rate that an operation steps.
fn add_groups(operations: &[Operation], members: &[Member], groups: &mut Vec<Group>) {
    for operation in operations {
        match operation {
            Operation::Step(selection) if selection.phase == Phase::Begin => {
                let is_new = |group: &Group| {
                    let mut known = groups.iter();
                    !known.any(|known| known.components == group.components)
                };
                let new: Vec<Group> = Group::of(members, &selection.components)
                    .filter(is_new)
                    .collect();
                groups.extend(new);
            }
            Operation::Repeat { body, .. } | Operation::Iterate { body, .. } => {
                add_groups(body, members, groups);
            }
            _ => {}
        }
    }
}

/// Lets operations act on a group if they act on all of it.
fn use_groups(operations: &mut [Operation], members: &[Member], groups: &[Group]) {
    for operation in operations {
        match operation {
            Operation::Prepare(selection) | Operation::Give(selection) => {
                select_groups(selection, groups, |component| {
                    !members[component].inputs.is_empty()
                });
            }
            Operation::Step(selection) if selection.phase == Phase::Begin => {
                select_groups(selection, groups, |_| true);
            }
            Operation::Read(selection, _) => {
                select_groups(selection, groups, |component| {
                    !members[component].outputs.is_empty()
                });
            }
            Operation::Repeat { body, .. } | Operation::Iterate { body, .. } => {
                use_groups(body, members, groups);
            }
            _ => {}
        }
    }
}

fn select_groups(selection: &mut Selection, groups: &[Group], acts_on: impl Fn(usize) -> bool) {
    for (index, group) in groups.iter().enumerate() {
        let is_left = |component: &usize| selection.others.binary_search(component).is_ok();
        let own = || group.components.iter().filter(|it| acts_on(**it));
        if own().next().is_some() && own().all(is_left) {
            selection.groups.push(index);
            let is_other = |component: &usize| group.components.binary_search(component).is_err();
            selection.others.retain(is_other);
        }
    }
}

/// The operations of a draft that may have something to do in a system, before its units are known.
pub(crate) fn possible(operations: &[Operation], graph: &Graph, extras: Extras) -> Vec<Operation> {
    let has_corrections = graph.bonds.iter().any(|bond| bond.correction.is_some());
    let facts = || graph.inputs.iter().map(|input| &input.facts);
    let mut kept = operations.to_vec();
    kept.retain(|operation| match operation {
        Operation::FeedForward => extras.has_feed_forward,
        Operation::Correct => has_corrections,
        Operation::TakeBack => extras.has_scenario && (has_corrections || extras.has_feed_forward),
        Operation::Scenario => extras.has_scenario,
        Operation::GiveSignals(selection) => {
            let mut wires = graph.signal_wires.iter();
            wires.any(|wire| selection.components.contains(&wire.component))
        }
        Operation::ReadSignals => !graph.signals.is_empty(),
        Operation::ReadSignalsAhead(selection) => {
            let mut signals = graph.signals.iter();
            signals.any(|signal| selection.components.contains(&signal.component))
        }
        Operation::ReadSlopes => facts().any(|facts| facts.needs_slope),
        Operation::ObserveSubsteps => facts().any(|facts| facts.needs_substeps),
        Operation::Observe => !facts().all(|facts| facts.is_plain_hold),
        _ => true,
    });
    kept
}

/// Parts of a system that its graph does not hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extras {
    pub(crate) has_feed_forward: bool,
    pub(crate) has_scenario: bool,
}

/// The operations that have something to do.
fn needed(operations: &[Operation], state: &SystemState) -> Vec<Operation> {
    let mut found = Vec::with_capacity(operations.len());
    for operation in operations {
        add_needed(operation, state, &mut found);
    }
    found
}

fn add_needed(operation: &Operation, state: &SystemState, found: &mut Vec<Operation>) {
    let (graph, courses, signals) = (&state.graph, &state.courses, &state.signals);
    let members = &state.units.members;
    let has_feed_forward = !courses.feed_forward.is_empty();
    let has_correctors = !state.bonds.correctors.is_empty();
    let has_scenario = !state.scenario.channels.is_empty();
    let those = |selection: &Selection, act: &dyn Fn(usize) -> bool| {
        let components = selection.components.iter().copied();
        let components: Vec<usize> = components.filter(|component| act(*component)).collect();
        let phase = selection.phase;
        (!components.is_empty()).then(|| Selection::new(components, phase))
    };
    let has_inputs = |component: usize| !members[component].inputs.is_empty();
    let has_outputs = |component: usize| !members[component].outputs.is_empty();
    let keep_if = |is_needed: bool| is_needed.then(|| operation.clone());
    let kept = match operation {
        Operation::FeedForward => keep_if(has_feed_forward),
        Operation::Correct => keep_if(has_correctors),
        Operation::TakeBack => keep_if(has_scenario && (has_feed_forward || has_correctors)),
        Operation::Prepare(selection) => those(selection, &has_inputs).map(Operation::Prepare),
        Operation::Give(selection) => {
            let gives = |component| has_inputs(component) && !members[component].follows_curves;
            those(selection, &gives).map(Operation::Give)
        }
        Operation::GiveSignals(selection) => {
            let wires = &graph.signal_wires;
            let has_wires =
                |component| has_scenario || wires.iter().any(|wire| wire.component == component);
            those(selection, &has_wires).map(Operation::GiveSignals)
        }
        Operation::Read(selection, store) => {
            let read = those(selection, &has_outputs);
            read.map(|selection| Operation::Read(selection, *store))
        }
        Operation::ReadSignalsAhead(selection) => {
            let is_read = |component| {
                let mut read = graph.signals.iter().zip(&signals.is_read_ahead);
                read.any(|(signal, is_read)| *is_read && signal.component == component)
            };
            those(selection, &is_read).map(Operation::ReadSignalsAhead)
        }
        Operation::Show(selection) => those(selection, &has_outputs).map(Operation::Show),
        Operation::ReadSignals => keep_if(!signals.discrete.is_empty()),
        Operation::ReadSlopes => keep_if(!courses.slope_readers.is_empty()),
        Operation::ObserveSubsteps => keep_if(courses.needs_substeps),
        Operation::Scenario => keep_if(has_scenario),
        Operation::ExchangeAll => {
            let passes = &state.exchange.passes;
            // The first pass of an algebraic loop stands for all of it.
            let leads = |pass: &usize| {
                let in_loop = passes[*pass].in_loop;
                in_loop.is_none() || *pass == 0 || passes[*pass - 1].in_loop != in_loop
            };
            let leading = (0..passes.len()).filter(leads);
            return found.extend(leading.map(Operation::Exchange));
        }
        Operation::Check => keep_if(!signals.accepts_non_finite),
        Operation::Observe => keep_if(!courses.extrapolated.is_empty()),
        Operation::Repeat { parts, body } => Some(Operation::Repeat {
            parts: *parts,
            body: needed(body, state),
        }),
        Operation::Iterate {
            components,
            limit,
            test,
            body,
        } => Some(Operation::Iterate {
            components: components.clone(),
            limit: *limit,
            test: *test,
            body: needed(body, state),
        }),
        Operation::Postpone(_)
        | Operation::GiveHeld(_)
        | Operation::Step(_)
        | Operation::Exchange(_)
        | Operation::Own(_) => Some(operation.clone()),
    };
    found.extend(kept);
}
