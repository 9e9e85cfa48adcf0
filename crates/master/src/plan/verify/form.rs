//! Indices, order of lists, and the operations that iterations hold.

use super::{Broken, Rule};
use crate::graph::Graph;
use crate::plan::effect::{Effect, Store};
use crate::plan::{Operation, StepPlan};

/// Finds what is wrong with operations without following them.
pub(super) fn check_form(
    operations: &[Operation],
    plan: &StepPlan,
    graph: &Graph,
    broken: &mut Vec<Broken>,
) {
    for operation in operations {
        let word = operation.name();
        let mut say = |rule, message: String| {
            let found = Broken { rule, message };
            if !broken.contains(&found) {
                broken.push(found);
            }
        };
        let components: &[usize] = match operation {
            Operation::Prepare(s)
            | Operation::Give(s)
            | Operation::GiveSignals(s)
            | Operation::Step(s)
            | Operation::Read(s, _)
            | Operation::ReadSignalsAhead(s)
            | Operation::Show(s) => &s.components,
            Operation::Postpone(component) | Operation::GiveHeld(component) => {
                std::slice::from_ref(component)
            }
            Operation::Iterate { components, .. } => components,
            _ => &[],
        };
        let count = graph.components.len();
        if let Some(component) = components.iter().find(|c| **c >= count) {
            say(
                Rule::P13,
                format!("`{word}` names component {component} of {count}"),
            );
            continue;
        }
        for pair in components.windows(2) {
            let name = |place: usize| &graph.components[pair[place]].name;
            if pair[0] == pair[1] && matches!(operation, Operation::Step(_)) {
                say(
                    Rule::P05,
                    format!("{} steps on two threads at once", name(0)),
                );
            } else if pair[0] >= pair[1] {
                let (first, second) = (name(0), name(1));
                say(
                    Rule::P08,
                    format!("`{word}` lists {first} before {second}, against their order"),
                );
            }
        }
        match operation {
            Operation::Own(stage) | Operation::Iterate { test: stage, .. } => {
                match plan.stages.get(*stage) {
                    Some(stage) => check_stage(&stage.effects(graph), graph, &mut say),
                    None => say(Rule::P13, format!("there is no stage {stage}")),
                }
            }
            _ => {}
        }
        match operation {
            Operation::Repeat { body, parts } => {
                if *parts == 0 {
                    say(Rule::P03, "`repeat` has no part".to_owned());
                }
                check_form(body, plan, graph, broken);
            }
            Operation::Iterate {
                components, body, ..
            } => {
                let forgetful = components.iter().map(|c| &graph.components[*c]);
                for node in forgetful.filter(|c| !c.description.capabilities.save_and_restore) {
                    let name = &node.name;
                    say(
                        Rule::P06,
                        format!("an iteration goes back with {name}, which cannot save its state"),
                    );
                }
                check_iteration(components, body, graph, &mut say);
                check_form(body, plan, graph, broken);
            }
            _ => {}
        }
    }
}

fn check_stage(effects: &[Effect], graph: &Graph, say: &mut dyn FnMut(Rule, String)) {
    for effect in effects {
        let (what, index, count) = match *effect {
            Effect::Reads { output, .. }
            | Effect::Estimates { output }
            | Effect::Exchanges { output } => ("output", output, graph.outputs.len()),
            Effect::Replaces { input, .. }
            | Effect::Prepares { input }
            | Effect::Drives { input }
            | Effect::Observes { input } => ("input", input, graph.inputs.len()),
            Effect::Sets { component }
            | Effect::ReadsAgain { component, .. }
            | Effect::Tries { component }
            | Effect::Steps { component, .. }
            | Effect::Gets { component, .. }
            | Effect::Shows { component } => ("component", component, graph.components.len()),
            Effect::Corrects { bond } => ("bond", bond, graph.bonds.len()),
            Effect::Checks => continue,
        };
        if index >= count {
            say(
                Rule::P13,
                format!("a stage touches {what} {index} of {count}"),
            );
        }
    }
}

/// Within an iteration units step that it saves, outputs are read ahead, and nothing is seen from outside.
fn check_iteration(
    saved: &[usize],
    body: &[Operation],
    graph: &Graph,
    say: &mut dyn FnMut(Rule, String),
) {
    for operation in body {
        let word = operation.name();
        match operation {
            Operation::Step(selection) => {
                for component in &selection.components {
                    if let (false, Some(node)) =
                        (saved.contains(component), graph.components.get(*component))
                    {
                        let name = &node.name;
                        say(
                            Rule::P06,
                            format!("an iteration steps {name} and does not save it"),
                        );
                    }
                }
            }
            Operation::Read(_, Store::Shown) | Operation::Exchange(_) | Operation::ExchangeAll => {
                say(
                    Rule::P06,
                    format!("`{word}` within an iteration writes published outputs"),
                );
            }
            Operation::Show(_)
            | Operation::Observe
            | Operation::ObserveSubsteps
            | Operation::ReadSignals
            | Operation::ReadSlopes
            | Operation::Scenario => {
                say(Rule::P07, format!("`{word}` stands within an iteration"));
            }
            Operation::Repeat { body, .. } => check_iteration(saved, body, graph, say),
            _ => {}
        }
    }
}
