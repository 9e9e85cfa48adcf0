//! Joins a scenario to a system: names become places, words become actions.

use std::sync::Arc;

use gyrator_system::toml_file::{ScenarioError, read_scenario};
use gyrator_system::{Problem, Problems, Scenario, SystemFile, TimedAction, closest};

use crate::block::leads_out;
use crate::graph::{Graph, GraphVariable, SignalSource, SignalWire};
use crate::registry::look_up;
use crate::scenario::{ACTIONS, Action, PassedOn};
use crate::start_error::StartError;
use crate::state::{Channel, ChannelAction, Phase, RunningScenario, Target};
use crate::unit::{Causality, VariableType};

/// Reads the scenario that a system file names.
///
/// # Errors
/// All problems of its text, or the reason why it cannot be read.
pub(super) fn read(file: &SystemFile) -> Result<Option<Scenario>, StartError> {
    let Some((path, named)) = file.scenario_path().zip(file.experiment.scenario.as_ref()) else {
        return Ok(None);
    };
    let refuse = |message: String| {
        let problem = Problem::error("scenario", message);
        let list = vec![match named.span.is_empty() {
            true => problem,
            false => problem.at(&named.span),
        }];
        let source = Arc::clone(&file.source);
        StartError::Invalid(Problems { source, list })
    };
    let is_of_archive = file.unpacked.folder().is_some() && !named.span.is_empty();
    if is_of_archive && leads_out(&named.value) {
        let name = named.value.display();
        return Err(refuse(format!("`{name}` leads out of the archive")));
    }
    match read_scenario(&path) {
        Ok(scenario) => Ok(Some(scenario)),
        Err(ScenarioError::Problems(problems)) => Err(StartError::Invalid(problems)),
        Err(error @ ScenarioError::Io { .. }) => Err(refuse(error.to_string())),
    }
}

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
        let places = places(timed, graph);
        let chosen = look_up(ACTIONS, &timed.action);
        let (places, chosen) = match (places, chosen) {
            (Ok(places), Ok(chosen)) => (places, chosen),
            (places, chosen) => {
                problems.extend(places.err());
                problems.extend(chosen.err().into_iter().flatten());
                continue;
            }
        };
        let action: Arc<dyn Action> = chosen.build().into();
        let mut reported_as = Some(Arc::from(timed.variable.value.as_str()));
        for place in places {
            let action = ChannelAction {
                name: chosen.name(),
                reported_as: reported_as.take(),
                ends_others: chosen.usual_facts().ends_others,
                action: place.of_output(&action, graph),
                time: timed.time.value,
                until: timed
                    .until
                    .as_ref()
                    .map_or(f64::INFINITY, |until| until.value),
                phase: Phase::Waiting,
            };
            let mut channels = running.channels.iter_mut();
            match channels.find(|channel| *channel.name == *place.name) {
                Some(channel) => channel.actions.push(action),
                None => running.channels.push(Channel {
                    name: place.name,
                    target: place.target,
                    actions: vec![action],
                }),
            }
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

/// A place where an action is carried out.
struct ActionPlace {
    name: Arc<str>,
    target: Target,
    /// The action is on the output that feeds this input.
    is_fed: bool,
}

impl ActionPlace {
    /// The action on this variable that is `action` on the variable that the scenario names.
    fn of_output(&self, action: &Arc<dyn Action>, graph: &Graph) -> Arc<dyn Action> {
        match self.target {
            Target::Connected(input) if self.is_fed => Arc::new(PassedOn {
                action: Arc::clone(action),
                factor: graph.inputs[input].factor,
                offset: graph.inputs[input].offset,
            }),
            _ => Arc::clone(action),
        }
    }
}

/// The places of an action: the variable itself, or the inputs that an output feeds.
fn places(timed: &TimedAction, graph: &Graph) -> Result<Vec<ActionPlace>, Problem> {
    let (name, span) = (&timed.variable.value, &timed.variable.span);
    let shown = |component: &str, variable: &str| format!("{component}.{variable}");
    let is_named = |v: &GraphVariable<'_>| shown(v.component, &v.described.name) == *name;
    let mut found = graph.variables().find(is_named);
    if graph.components.len() == 1 {
        let mut alone = graph.variables();
        found = found.or_else(|| alone.find(|v| v.described.name == *name));
    }
    let Some(found) = found else {
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
    let refuse = |why: &'static str| {
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
    let this = |target: Target| {
        let (name, is_fed) = (Arc::from(name.as_str()), false);
        Ok(vec![ActionPlace {
            name,
            target,
            is_fed,
        }])
    };
    if let Some(input) = graph.input_index(component, variable) {
        return this(Target::Connected(input));
    }
    match found.described.causality {
        Causality::Input | Causality::TunableParameter => this(Target::Free {
            component,
            variable,
            base: f64::NAN,
            given: f64::NAN,
        }),
        Causality::Output => fed_by(graph, component, variable).map_err(refuse),
        _ => Err(refuse(
            "is neither an input, an output nor a tunable parameter",
        )),
    }
}

/// The inputs that an output feeds, or the reason why actions cannot be on it.
fn fed_by(
    graph: &Graph,
    component: usize,
    variable: usize,
) -> Result<Vec<ActionPlace>, &'static str> {
    let output = graph.output_index(component, variable);
    let is_wired = |wire: &SignalWire| matches!(wire.source, SignalSource::Real(source) if Some(source) == output);
    if graph.signal_wires.iter().any(is_wired) {
        return Err("feeds an input that is not Real, and actions are on Real variables");
    }
    let mut fed = Vec::new();
    for (receiver, node) in graph.components.iter().enumerate() {
        for input in node.inputs.clone() {
            if Some(graph.inputs[input].source) == output {
                fed.push(ActionPlace {
                    name: graph
                        .variable_name(receiver, graph.inputs[input].variable)
                        .into(),
                    target: Target::Connected(input),
                    is_fed: true,
                });
            }
        }
    }
    match fed.is_empty() {
        true => Err("is an output that feeds no input: an action on it has no effect"),
        false => Ok(fed),
    }
}
