//! Joins a scenario to a system: names become places, words become actions.

use std::sync::Arc;

use gyrator_system::{Problem, Scenario, TimedAction, closest};

use crate::graph::Graph;
use crate::registry::look_up;
use crate::scenario::ACTIONS;
use crate::state::{Channel, ChannelAction, Phase, RunningScenario, Target};
use crate::unit::{Causality, VariableType};

/// The actions of `scenario` on the variables of `graph`.
///
/// # Errors
/// All problems of its names and words.
pub(super) fn join(scenario: &Scenario, graph: &Graph) -> Result<RunningScenario, Vec<Problem>> {
    let (mut running, mut problems) = (RunningScenario::default(), Vec::new());
    if !graph.interface_models.is_empty() {
        let message = "a scenario does not act on a system with interface models";
        problems.push(Problem::error("scenario", message));
    }
    for timed in &scenario.actions {
        let target = target(timed, graph);
        let chosen = look_up(ACTIONS, &timed.action);
        let (target, chosen) = match (target, chosen) {
            (Ok(target), Ok(chosen)) => (target, chosen),
            (target, chosen) => {
                problems.extend(target.err());
                problems.extend(chosen.err().into_iter().flatten());
                continue;
            }
        };
        let action = ChannelAction {
            name: chosen.name(),
            ends_others: chosen.usual_facts().ends_others,
            action: chosen.build().into(),
            time: timed.time.value,
            until: timed
                .until
                .as_ref()
                .map_or(f64::INFINITY, |until| until.value),
            phase: Phase::Waiting,
        };
        let name = timed.variable.value.as_str();
        let mut channels = running.channels.iter_mut();
        match channels.find(|channel| &*channel.name == name) {
            Some(channel) => channel.actions.push(action),
            None => running.channels.push(Channel {
                name: Arc::from(name),
                target,
                actions: vec![action],
            }),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    for channel in &mut running.channels {
        channel.actions.sort_by(|a, b| a.time.total_cmp(&b.time));
    }
    let actions = running.channels.iter().map(|channel| channel.actions.len());
    // No step allocates: each action begins once and ends once.
    running.done.reserve(2 * actions.sum::<usize>());
    Ok(running)
}

fn target(timed: &TimedAction, graph: &Graph) -> Result<Target, Problem> {
    let (name, span) = (&timed.variable.value, &timed.variable.span);
    let shown = |component: &str, variable: &str| format!("{component}.{variable}");
    let mut variables = graph.variables();
    let Some(found) = variables.find(|v| shown(v.component, &v.described.name) == *name) else {
        let message = format!("the system has no variable `{name}`");
        let problem = Problem::error("unknown-variable", message).at(span);
        let known: Vec<String> = graph
            .variables()
            .map(|v| shown(v.component, &v.described.name))
            .collect();
        return Err(match closest(name, known.iter().map(String::as_str)) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help("names are component.variable"),
        });
    };
    let refuse = |why: &str| {
        let message = format!("`{name}` {why}");
        Problem::error("no-target", message).at(span)
    };
    let places = graph.components.iter();
    let place = places.enumerate().find_map(|(index, component)| {
        let is_it = component.name == found.component;
        is_it.then(|| Some((index, component.description.index(&found.described.name)?)))?
    });
    let Some((component, variable)) = place else {
        return Err(refuse("is not known to its unit"));
    };
    if found.described.kind != VariableType::Real {
        return Err(refuse("is not Real, and actions are on Real variables"));
    }
    if let Some(input) = graph.input_index(component, variable) {
        return Ok(Target::Connected(input));
    }
    match found.described.causality {
        Causality::Input | Causality::TunableParameter => Ok(Target::Free {
            component,
            variable,
            base: f64::NAN,
            given: f64::NAN,
        }),
        Causality::Output => {
            let fed = graph.output_index(component, variable);
            let inputs = graph.inputs.iter().enumerate();
            let fed = inputs.filter(|(_, input)| Some(input.source) == fed);
            let fed: Vec<String> = fed
                .map(|(index, _)| {
                    let input = &graph.inputs[index];
                    let components = graph.components.iter();
                    let of = components
                        .enumerate()
                        .find(|(_, c)| c.inputs.contains(&index));
                    of.map_or(String::new(), |(component, _)| {
                        graph.variable_name(component, input.variable)
                    })
                })
                .collect();
            let problem = refuse("is an output, and actions are on inputs and tunable parameters");
            Err(match fed.is_empty() {
                true => problem,
                false => problem.help(format!("it feeds `{}`", fed.join("`, `"))),
            })
        }
        _ => Err(refuse("is neither an input nor a tunable parameter")),
    }
}
