//! A described system with its names resolved, or all its problems.

use std::sync::Arc;

use gyrator_system::{Choice, Experiment, Problem, Problems, Spanned, SystemFile};

use super::{System, feasibility, patterns, planning};
use crate::compatibility::{self, Parts as Together};
use crate::decision::Decision;
use crate::feed_forward::macro_steps;
use crate::graph::Graph;
use crate::joining;
use crate::method::{self, Method};
use crate::plan::StepPlan;
use crate::registry::{Arguments, Chosen, Entry, EntryKind, Registry};
use crate::resolve::resolve;
use crate::start_error::StartError;
use crate::state::RunningScenario;
use crate::step_control::StepControl;
use crate::unit::Period;
use crate::unused_inputs::UnusedInputs;

/// The resolved system, without running it.
///
/// # Errors
/// All problems of the description.
pub fn resolved_graph(system: &System) -> Result<Graph, StartError> {
    graph_and_steps(system).map(|(graph, _)| graph)
}

/// The inputs of a system that nothing feeds, and its start values that have no effect.
///
/// # Errors
/// All problems of the scenario, or of the description.
pub fn unused_inputs(system: &System) -> Result<UnusedInputs, StartError> {
    let graph = resolved_graph(system)?;
    let scenario = joined_scenario(system, &graph)?;
    Ok(UnusedInputs::of(&graph, scenario.as_ref()))
}

/// The scenario of a system with its names resolved.
pub(super) fn joined_scenario(
    system: &System,
    graph: &Graph,
) -> Result<Option<RunningScenario>, StartError> {
    let Some(scenario) = &system.scenario else {
        return Ok(None);
    };
    let joined = joining::join(scenario, graph).map_err(|list| {
        let source = Arc::clone(&scenario.source);
        StartError::Invalid(Problems { source, list })
    });
    joined.map(Some)
}

/// The resolved system, and its macro-steps until the stop time.
pub(crate) fn graph_and_steps(system: &System) -> Result<(Graph, Option<usize>), StartError> {
    let mut problems = system.warnings.clone();
    match resolved(system, &mut problems) {
        Some(Resolved { graph, period, .. }) => {
            let steps = period.stop.map(|stop| macro_steps(&graph, stop));
            Ok((graph, steps))
        }
        None => Err(StartError::Invalid(system.file.problems(problems))),
    }
}

/// Resolves a description; `None` if it has problems that allow no more.
pub(super) fn resolved(system: &System, problems: &mut Vec<Problem>) -> Option<Resolved> {
    let descriptions: Vec<_> = system
        .parts
        .iter()
        .map(|part| Arc::clone(part.description()))
        .collect();
    let of_parts: Vec<_> = descriptions.iter().map(Arc::as_ref).collect();
    let mut file = patterns::expand(&system.file, &of_parts, problems);
    if let Some(correction) = &system.correction {
        for bond in &mut file.to_mut().bonds {
            bond.correction.get_or_insert_with(|| correction.clone());
        }
    }
    let names_extrapolation = file.experiment.extrapolation.is_some();
    if let Some(feed_forward) = &system.feed_forward {
        feed_forward.hold_inputs(file.to_mut());
    }
    let file = &*file;
    check_names(file, problems);
    let experiment = &file.experiment;
    let registries = &system.registries;
    let asked = experiment.method.as_ref();
    let method = choose(&registries.methods, asked, Experiment::METHOD, problems);
    let asked = experiment.step_control.as_ref();
    let control = choose(
        &registries.step_controls,
        asked,
        Experiment::STEP_CONTROL,
        problems,
    );
    let (mut graph, places) = resolve(file, &descriptions, registries, problems)?;
    graph.check_signal_steps(file, problems);
    feasibility::check_period(file, &graph, problems);
    feasibility::check_start_values(file, &graph, problems);
    let period = Period {
        start: graph.clock.start(),
        stop: experiment.stop_time.as_ref().map(|time| time.value),
        // Each component has its own.
        tolerance: None,
    };
    if let Some(feed_forward) = &system.feed_forward {
        for misfit in feed_forward.misfits(&graph, &period) {
            let text = format!("the feed-forward does not fit: {misfit}");
            problems.push(Problem::error("feed-forward", text));
        }
        feed_forward.set_exchange(&mut graph);
        if !names_extrapolation {
            feed_forward.note_held(&mut graph, file);
        }
    }
    let mut together = Together {
        file,
        graph: &graph,
        method: None,
        control: control.as_ref(),
        has_feed_forward: system.feed_forward.is_some(),
    };
    let (method, decision) = method.map(|asked| decided(asked, &together)).unzip();
    together.method = method.as_ref();
    compatibility::check(&together, problems);
    let method = method?;
    graph.decisions.extend(decision.flatten());
    let plan = planning::draft(&method, &graph, problems);
    Some(Resolved {
        graph,
        places,
        method,
        plan,
        control: control?,
        period,
    })
}

/// The method, and why `auto` has chosen it if that was asked for.
fn decided(
    asked: Chosen<dyn Method>,
    together: &Together<'_>,
) -> (Chosen<dyn Method>, Option<Decision>) {
    if asked.name() != "auto" {
        return (asked, None);
    }
    let chosen = |entry: &Entry<dyn Method>| {
        let with_defaults = entry.chosen(&Choice::new(entry.name));
        with_defaults.unwrap_or(Chosen {
            entry: *entry,
            arguments: Arguments::default(),
        })
    };
    let is_possible = |entry: &Entry<dyn Method>| {
        let mut problems = Vec::new();
        let method = chosen(entry);
        let with_method = Together {
            file: together.file,
            graph: together.graph,
            method: Some(&method),
            control: together.control,
            has_feed_forward: together.has_feed_forward,
        };
        compatibility::check(&with_method, &mut problems);
        if problems.is_empty() {
            planning::draft(&method, together.graph, &mut problems);
        }
        problems.is_empty()
    };
    let (entry, why) = method::choice(together.graph, is_possible);
    let decision = Decision {
        r#where: "method".to_owned(),
        what: entry.name.to_owned(),
        why: why.to_owned(),
        from: together.graph.clock.start(),
    };
    (chosen(entry), Some(decision))
}

/// A description without problems.
pub(super) struct Resolved {
    pub(super) graph: Graph,
    /// Place in the file of each component of the graph.
    pub(super) places: Vec<usize>,
    pub(super) method: Chosen<dyn Method>,
    /// The draft that the method has written.
    pub(super) plan: StepPlan,
    pub(super) control: Chosen<dyn StepControl>,
    pub(super) period: Period,
}

/// Names and numbers that the readers of files check, and that code can also get wrong.
fn check_names(file: &SystemFile, problems: &mut Vec<Problem>) {
    const RULES: [&str; 8] = [
        "changed-in-bond",
        "duplicate-name",
        "empty-name",
        "invalid-sense",
        "many-steps",
        "no-components",
        "step-too-large",
        "step-too-small",
    ];
    let known = |found: &Problem| problems.iter().any(|problem| problem == found);
    let mut found = gyrator_system::check(file);
    found.retain(|problem| RULES.contains(&problem.rule) && !known(problem));
    problems.extend(found);
    let start = file.experiment.start_time.as_ref();
    if let Some(start) = start.filter(|start| !start.value.is_finite()) {
        let message = format!("the start time is {} s; it must be a number", start.value);
        problems.push(Problem::error("not-finite", message).at(&start.span));
    }
}

fn choose<K: EntryKind + ?Sized>(
    registry: &Registry<K>,
    choice: Option<&Choice>,
    default: &str,
    problems: &mut Vec<Problem>,
) -> Option<Chosen<K>> {
    let default = Choice {
        name: Spanned::unplaced(default.to_owned()),
        parameters: Vec::new(),
    };
    match registry.look_up(choice.unwrap_or(&default)) {
        Ok(found) => Some(found),
        Err(found) => {
            problems.extend(found);
            None
        }
    }
}
