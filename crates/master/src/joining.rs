//! Joins a scenario to a system: names become places, words become actions.

use std::sync::Arc;

use gyrator_system::{
    Choice, Problem, Scenario, Spanned, TimedAction, Value as FileValue, did_you_mean,
};

use crate::graph::{Graph, GraphVariable, SignalSource, SignalWire};
use crate::registry::{Chosen, look_up};
use crate::scenario::{ACTIONS, Action, ActsOn, PassedOn, Transformation, value_of};
use crate::state::{Channel, ChannelAction, Phase, RunningScenario, Target, WireEnd};
use crate::unit::{Causality, Value, Variable, VariableType};
use crate::value_conversion::start_value;

/// The actions of `scenario` on the variables of `graph`.
///
/// # Errors
/// All problems of its names and words.
pub(crate) fn join(scenario: &Scenario, graph: &Graph) -> Result<RunningScenario, Vec<Problem>> {
    let (mut running, mut problems) = (RunningScenario::default(), Vec::new());
    for timed in &scenario.actions {
        let found = find(&timed.variable, graph);
        let described = found.as_ref().ok().map(|found| found.2);
        let chosen = chosen(&timed.action, described);
        let places = found.and_then(|found| {
            let places = places(timed, found, graph)?;
            match &chosen {
                Ok(chosen) => check_type(timed, chosen, found.2).map(|()| places),
                Err(_) => Ok(places),
            }
        });
        match (places, chosen) {
            (Ok(places), Ok(chosen)) => add(&mut running, timed, places, &chosen, graph),
            (places, chosen) => {
                problems.extend(places.err());
                problems.extend(chosen.err().into_iter().flatten());
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

/// Adds an action at all its places.
fn add(
    running: &mut RunningScenario,
    timed: &TimedAction,
    places: Vec<ActionPlace>,
    chosen: &Chosen<dyn Action>,
    graph: &Graph,
) {
    let action: Arc<dyn Action> = chosen.build().into();
    let mut reported_as = Some(Arc::from(timed.variable.value.as_str()));
    for place in places {
        let action = ChannelAction {
            name: chosen.name(),
            parameters: chosen.arguments.numbers().collect(),
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
        match channels.find(|channel| channel.target.is_at_place_of(&place.target)) {
            Some(channel) => channel.actions.push(action),
            None => running.channels.push(Channel {
                name: place.name,
                target: place.target,
                actions: vec![action],
            }),
        }
    }
}

/// The word of an action with its parameters: items of enumerations and truth values as their numbers.
fn chosen(
    action: &Choice,
    described: Option<&Variable>,
) -> Result<Chosen<dyn Action>, Vec<Problem>> {
    let mut action = action.clone();
    let coded =
        described.filter(|v| matches!(v.kind, VariableType::Boolean | VariableType::Enumeration));
    for (name, value) in &mut action.parameters {
        let (Some(described), FileValue::Boolean(_) | FileValue::String(_)) = (coded, &value.value)
        else {
            continue;
        };
        value.value = match start_value(described.kind, &described.items, &value.value) {
            Ok(Value::Integer(item)) => FileValue::Integer(item.into()),
            Ok(Value::Boolean(truth)) => FileValue::Integer(truth.into()),
            Ok(_) => continue,
            Err(expected) => {
                let (key, word) = (&name.value, &action.name.value);
                let message = format!("`{key}` of `{word}` must be {expected}");
                return Err(vec![
                    Problem::error("bad-parameter", message).at(&value.span),
                ]);
            }
        };
    }
    look_up(ACTIONS, &action)
}

/// Refuses actions that make no values of the variable's type.
fn check_type(
    timed: &TimedAction,
    chosen: &Chosen<dyn Action>,
    described: &Variable,
) -> Result<(), Problem> {
    let (name, word, kind) = (&timed.variable.value, chosen.name(), described.kind);
    let refuse =
        |message: String| Problem::error("action-type", message).at(&timed.action.name.span);
    match (chosen.usual_facts().acts_on, kind) {
        (_, VariableType::Real) => return Ok(()),
        (_, VariableType::String) => {
            let message = format!("`{name}` is a text, on which no action can be");
            return Err(refuse(message));
        }
        (ActsOn::AnyType, _) => {}
        (ActsOn::Numbers, VariableType::Integer) => return Ok(()),
        (ActsOn::Reals, VariableType::Integer) => {
            let message =
                format!("`{word}` makes numbers that are not whole, and `{name}` is an Integer");
            let help = "on an Integer there can be `bias` and `scale` with whole numbers, and all that replaces its value";
            return Err(refuse(message).help(help));
        }
        (ActsOn::Numbers | ActsOn::Reals, _) => {
            let message =
                format!("`{word}` is an action on numbers, and `{name}` is of the type {kind:?}");
            let help = "actions on every type: `override`, `freeze`, `drop-out`, `reset`";
            return Err(refuse(message).help(help));
        }
    }
    // Of those that replace the value, `freeze` alone asks for it.
    let Transformation { factor, offset } = chosen.build().transformation(0.0, f64::NAN);
    if factor != 0.0 || offset.is_nan() {
        return Ok(());
    }
    let made = value_of(kind, offset);
    let is_item = |item: &i32| f64::from(*item) == offset;
    if let Err(reason) = made {
        return Err(refuse(format!("`{word}` makes `{name}` {reason}")));
    }
    if kind == VariableType::Enumeration && !described.items.iter().any(|(item, _)| is_item(item)) {
        let items = described.items.iter().map(|(_, name)| name.as_str());
        let items = items.collect::<Vec<_>>().join("`, `");
        let message = format!("`{word}` makes `{name}` {offset}, which is not an item of its type");
        return Err(refuse(message).help(format!("override it with one of `{items}`")));
    }
    Ok(())
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

/// Component and variable of a name, with its description.
fn find<'g>(
    named: &Spanned<String>,
    graph: &'g Graph,
) -> Result<(usize, usize, &'g Variable), Problem> {
    let name = &named.value;
    let shown = |component: &str, variable: &str| format!("{component}.{variable}");
    let is_named = |v: &GraphVariable<'_>| shown(v.component, &v.described.name) == *name;
    let mut found = graph.variables().find(is_named);
    if graph.components.len() == 1 {
        let mut alone = graph.variables();
        found = found.or_else(|| alone.find(|v| v.described.name == *name));
    }
    let Some(found) = found else {
        let message = format!("the system has no variable `{name}`");
        let problem = Problem::error("unknown-variable", message).at(&named.span);
        let known: Vec<String> = graph
            .variables()
            .map(|v| shown(v.component, &v.described.name))
            .collect();
        let near = did_you_mean(name, known.iter().map(String::as_str));
        let help = near.as_deref().unwrap_or("names are component.variable");
        return Err(problem.help(help));
    };
    let places = graph.components.iter();
    let place = places.enumerate().find_map(|(index, component)| {
        let is_it = component.name == found.component;
        is_it.then(|| Some((index, component.description.index(&found.described.name)?)))?
    });
    let Some((component, variable)) = place else {
        let message = format!("`{name}` is not known to its unit");
        return Err(Problem::error("no-target", message).at(&named.span));
    };
    Ok((component, variable, found.described))
}

/// The places of an action: the variable itself, or the inputs that an output feeds.
fn places(
    timed: &TimedAction,
    (component, variable, described): (usize, usize, &Variable),
    graph: &Graph,
) -> Result<Vec<ActionPlace>, Problem> {
    let name = &timed.variable.value;
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
    let is_it = |wire: &SignalWire| (wire.component, wire.variable) == (component, variable);
    if let Some(wire) = graph.signal_wires.iter().position(is_it) {
        return this(wired(wire, WireEnd::Input, described.kind));
    }
    let why = match described.causality {
        Causality::Input | Causality::TunableParameter => {
            return this(Target::Free {
                component,
                variable,
                kind: described.kind,
                base: f64::NAN,
                given: f64::NAN,
            });
        }
        Causality::Output => {
            let fed = fed_by(graph, component, variable, described.kind);
            if !fed.is_empty() {
                return Ok(fed);
            }
            "is an output that feeds no input: an action on it has no effect"
        }
        _ => "is neither an input, an output nor a tunable parameter",
    };
    let message = format!("`{name}` {why}");
    Err(Problem::error("no-target", message).at(&timed.variable.span))
}

fn wired(wire: usize, end: WireEnd, kind: VariableType) -> Target {
    Target::Wired {
        wire,
        end,
        kind,
        applied: Transformation::IDENTITY,
        kept: Transformation::IDENTITY,
        given: f64::NAN,
    }
}

/// The inputs that an output feeds.
fn fed_by(
    graph: &Graph,
    component: usize,
    variable: usize,
    kind: VariableType,
) -> Vec<ActionPlace> {
    let output = graph.output_index(component, variable);
    let place = |receiver: usize, variable: usize, target: Target| ActionPlace {
        name: graph.variable_name(receiver, variable).into(),
        target,
        is_fed: true,
    };
    let mut fed = Vec::new();
    for (receiver, node) in graph.components.iter().enumerate() {
        for input in node.inputs.clone() {
            if Some(graph.inputs[input].source) == output {
                let variable = graph.inputs[input].variable;
                fed.push(place(receiver, variable, Target::Connected(input)));
            }
        }
    }
    for (index, wire) in graph.signal_wires.iter().enumerate() {
        let is_fed = match wire.source {
            SignalSource::Real(source) => Some(source) == output,
            SignalSource::Discrete(signal) => {
                let signal = &graph.signals[signal];
                (signal.component, signal.variable) == (component, variable)
            }
        };
        if is_fed {
            let target = wired(index, WireEnd::Output, kind);
            fed.push(place(wire.component, wire.variable, target));
        }
    }
    fed
}
