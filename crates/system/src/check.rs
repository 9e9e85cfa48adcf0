//! The rules that every system obeys, whatever file it came from.

use std::collections::{BTreeMap, BTreeSet};

use crate::host::check_hosts;
use crate::problem::{Problem, Source, Spanned, did_you_mean};
use crate::short::short;
use crate::system_file::{Bond, Component, Connection, Experiment, Port, SystemFile};

/// How outputs with direct feed-through may be exchanged.
pub const EXCHANGES: &[&str; 4] = &["auto", "stale", "fresh", "compensated"];

/// Checks a system by its names alone; no FMU is opened. Problems come in the order of the text.
///
/// Words of the registries (methods, extrapolations, corrections, step controls) are not checked:
/// the registries are the engine's.
pub fn check(system: &SystemFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    check_experiment(&system.experiment, &mut problems);
    if system.components.is_empty() {
        problems.push(
            Problem::error("no-components", "the system has no components")
                .help("add a table `[components.NAME]` with `fmu = \"…\"`"),
        );
    }
    check_components(system, &mut problems);
    check_hosts(system, &mut problems);
    check_connections(system, &mut problems);
    check_inputs_fed_once(system, &mut problems);
    check_bonds(system, &mut problems);
    check_interface_models(system, &mut problems);
    problems.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    problems
}

fn check_experiment(experiment: &Experiment, problems: &mut Vec<Problem>) {
    for (key, time) in [
        ("start_time", &experiment.start_time),
        ("stop_time", &experiment.stop_time),
    ] {
        problems.extend(time.as_ref().and_then(|time| not_finite(key, time)));
    }
    let start = experiment.start();
    if let Some(start) = experiment
        .start_time
        .as_ref()
        .filter(|start| start.value < 0.0)
    {
        let message = format!("`start_time` is negative ({})", start.value);
        problems.push(
            Problem::warning("negative-time", message)
                .at(&start.span)
                .help("some FMUs expect to start at 0 or later"),
        );
    }
    if let Some(stop) = experiment
        .stop_time
        .as_ref()
        .filter(|stop| stop.value <= start)
    {
        let message = format!(
            "`stop_time` ({}) is not after `start_time` ({start})",
            stop.value
        );
        problems.push(
            Problem::error("stop-before-start", message)
                .at(&stop.span)
                .help("set a later `stop_time`, or a positive `duration`"),
        );
    }
    check_positive("step_size", experiment.step_size.as_ref(), problems);
    check_steps(experiment, problems);
    let tolerance = experiment.tolerance.as_ref();
    let number = tolerance.and_then(|given| {
        let number = given.value.relative()?;
        Some(Spanned::new(number, given.span.clone()))
    });
    check_positive("tolerance", number.as_ref(), problems);
    check_exchange(experiment.exchange.as_ref(), problems);
}

/// Units in the last place of the latest time that a step must have: with fewer, neighbouring
/// communication points are unevenly rounded, or fall together.
const LEAST_STEP_IN_ULPS: f64 = 4.0;
/// Steps that take days with the smallest FMUs, at 0.1 µs each.
const MANY_STEPS: f64 = 1e12;

/// Macro-steps that a run must last: the engine resolves a shortened step to a millionth of a macro-step, and makes
/// none if less is left.
const LEAST_STEPS: f64 = 1e-6;

/// Finds steps that make no sense for the times of the experiment.
fn check_steps(experiment: &Experiment, problems: &mut Vec<Problem>) {
    let value = |time: &Option<Spanned<f64>>| time.as_ref().map(|time| time.value);
    let Some(step) = experiment
        .step_size
        .as_ref()
        .filter(|step| step.value > 0.0 && step.value.is_finite())
    else {
        return;
    };
    let start = value(&experiment.start_time).unwrap_or(0.0);
    let stop = value(&experiment.stop_time).unwrap_or(start);
    let latest = start.abs().max(stop.abs());
    if !latest.is_finite() {
        return;
    }
    // The distance to the next double; the greatest one has a neighbour below only.
    let ulp = if latest == f64::MAX {
        latest - latest.next_down()
    } else {
        latest.next_up() - latest
    };
    let steps = (stop - start) / step.value;
    if step.value < LEAST_STEP_IN_ULPS * ulp {
        let message = format!(
            "`step_size` is {} s, too little for times up to {} s: a double there has a resolution of {ulp:.1e} s, and a \
             step needs {LEAST_STEP_IN_ULPS} times that",
            short(step.value),
            short(latest)
        );
        problems.push(Problem::error("step-too-small", message).at(&step.span));
    } else if steps > MANY_STEPS {
        let message = format!("these are {steps:.1e} steps, which take days with any FMU");
        problems.push(Problem::warning("many-steps", message).at(&step.span));
    } else if steps > 0.0 && steps < LEAST_STEPS {
        let message = format!(
            "`step_size` is {} s, too much for a run of {} s: a step is shortened to a millionth at most",
            short(step.value),
            short(stop - start)
        );
        problems.push(Problem::error("step-too-large", message).at(&step.span));
    }
}

/// Only a process of its own can be started again.
fn check_restart(component: &Component, problems: &mut Vec<Problem>) {
    let Some(restart) = &component.restart else {
        return;
    };
    if !component.is_isolated() && component.host.is_none() {
        let message = format!(
            "`{}` is not isolated and cannot be restarted",
            component.name.value
        );
        problems.push(
            Problem::error("restart-without-isolation", message)
                .at(&restart.span)
                .help("remove `isolate = false`: `restart` asks for a process of its own"),
        );
    }
}

fn fmu_and_block(component: &Component) -> Option<Problem> {
    let block = component.block.as_ref()?;
    if component.fmu.value.as_os_str().is_empty() {
        return None;
    }
    let message = format!("`{}` has both an FMU and a block", component.name.value);
    Some(
        Problem::error("fmu-and-block", message)
            .at(&block.name.span)
            .help("remove `fmu` or `block`"),
    )
}

/// Halving a step so often makes tens of thousands of steps of one.
const MOST_HALVINGS: u32 = 16;

fn check_halvings(component: &Component, problems: &mut Vec<Problem>) {
    if let Some(halvings) = &component.step_halvings
        && halvings.value > MOST_HALVINGS
    {
        let message = format!("`step_halvings` must be {MOST_HALVINGS} at most");
        problems.push(Problem::error("too-many-halvings", message).at(&halvings.span));
    }
}

fn check_components(system: &SystemFile, problems: &mut Vec<Problem>) {
    let mut seen = BTreeMap::new();
    for component in &system.components {
        check_restart(component, problems);
        problems.extend(fmu_and_block(component));
        check_halvings(component, problems);
        check_unique(
            "component",
            &component.name,
            &mut seen,
            &system.source,
            problems,
        );
        check_positive("step_size", component.step_size.as_ref(), problems);
        check_exchange(component.exchange.as_ref(), problems);
        check_start_values(component, &system.source, problems);
    }
}

fn check_start_values(component: &Component, source: &Source, problems: &mut Vec<Problem>) {
    let mut seen = BTreeMap::new();
    for (variable, _) in &component.start_values {
        check_unique("start value", variable, &mut seen, source, problems);
    }
}

/// Reports an empty name, and one that was there before.
fn check_unique<'a>(
    what: &str,
    name: &'a Spanned<String>,
    seen: &mut BTreeMap<&'a str, &'a Spanned<String>>,
    source: &Source,
    problems: &mut Vec<Problem>,
) {
    if name.value.is_empty() {
        problems.push(
            Problem::error("empty-name", format!("the name of a {what} is empty")).at(&name.span),
        );
    } else if let Some(first) = seen.insert(&name.value, name) {
        let message = format!(
            "there are two {what}s `{}`{}",
            name.value,
            also(first, source)
        );
        problems.push(Problem::error("duplicate-name", message).at(&name.span));
    }
}

/// " (the other one stands in line 3)", if that is known.
fn also<T>(other: &Spanned<T>, source: &Source) -> String {
    if other.span.is_empty() {
        return String::new();
    }
    let (file, bytes) = source.file_at(other.span.start);
    let file = match bytes.start {
        0 => String::new(),
        _ => format!(" of {}", file.display()),
    };
    let line = source.position(other.span.start).0;
    format!(" (the other one stands in line {line}{file})")
}

fn check_connections(system: &SystemFile, problems: &mut Vec<Problem>) {
    let names: BTreeSet<_> = system
        .components
        .iter()
        .map(|component| component.name.value.as_str())
        .collect();
    for connection in system.all_connections() {
        for port in [&connection.from, &connection.to] {
            if !names.contains(port.value.component.as_str()) {
                problems.push(
                    system
                        .unknown_component(&port.value.component)
                        .at(&port.span),
                );
            }
        }
        for (key, number) in [("gain", &connection.gain), ("offset", &connection.offset)] {
            problems.extend(number.as_ref().and_then(|number| not_finite(key, number)));
        }
    }
    let of_bonds = system.all_connections().skip(system.connections.len());
    problems.extend(of_bonds.filter_map(changed_in_bond));
}

/// Power is effort · flow: a bond passes its signals on as they are.
fn changed_in_bond(pair: &Connection) -> Option<Problem> {
    let offset = pair.offset.as_ref().map(|offset| ("offset", &offset.span));
    let convert = pair.convert.as_ref();
    let convert = convert.map(|convert| ("convert", &convert.span));
    let units = (!pair.unit_conversion).then_some(("unit_conversion", &pair.to.span));
    let (key, span) = offset.or(convert).or(units)?;
    let message =
        format!("a pair of a bond has no `{key}`: power is the product of both as they are");
    Some(
        Problem::error("changed-in-bond", message)
            .at(span)
            .help("list the pair under [[connections]], without a bond"),
    )
}

/// An input accepts one output. A pair may stand in several bonds, and once more as a plain
/// connection: a pair named in a bond is a connection.
fn check_inputs_fed_once(system: &SystemFile, problems: &mut Vec<Problem>) {
    let mut feeders: BTreeMap<&Port, &Connection> = BTreeMap::new();
    let bonded = system.all_connections().skip(system.connections.len());
    let listed = system
        .connections
        .iter()
        .map(|connection| (connection, false));
    for (connection, in_bond) in listed.chain(bonded.map(|connection| (connection, true))) {
        let Some(first) = feeders.get(&connection.to.value) else {
            feeders.insert(&connection.to.value, connection);
            continue;
        };
        let is_same = first.from.value == connection.from.value;
        let first_is_listed = system
            .connections
            .iter()
            .any(|listed| std::ptr::eq(listed, *first));
        if is_same && in_bond && (!first_is_listed || first.is_plain()) {
            continue;
        }
        let (to, also) = (&connection.to.value, also(&first.to, &system.source));
        let (one, two) = (&first.from.value, &connection.from.value);
        let (message, help) = if is_same {
            (
                format!("`{one}` feeds `{to}` twice{also}"),
                "name each pair once under [[connections]], and one that changes values in no bond",
            )
        } else {
            (
                format!("input `{to}` is fed twice: by `{one}` and by `{two}`{also}"),
                "an input takes one output; remove one of the two connections",
            )
        };
        problems.push(
            Problem::error("input-fed-twice", message)
                .at(&connection.to.span)
                .help(help),
        );
    }
}

fn check_bonds(system: &SystemFile, problems: &mut Vec<Problem>) {
    let mut seen = BTreeMap::new();
    for bond in &system.bonds {
        check_unique("bond", &bond.name, &mut seen, &system.source, problems);
        if bond.sense.value.abs() != 1.0 {
            let message = format!("`sense` is {}; it is 1 or -1", bond.sense.value);
            problems.push(
                Problem::error("invalid-sense", message)
                    .at(&bond.sense.span)
                    .help("a factor between the units is a `gain` of the pair"),
            );
        }
        for (key, unit, number) in [
            ("max_residual_energy", " J", &bond.max_residual_energy),
            ("energy_tolerance", "", &bond.energy_tolerance),
            ("energy_scale", " J", &bond.energy_scale),
        ] {
            let is_wrong = |number: &&Spanned<f64>| number.value.is_nan() || number.value <= 0.0;
            if let Some(number) = number.as_ref().filter(is_wrong) {
                let message = format!("`{key}` is {}{unit}; it must be positive", number.value);
                problems.push(Problem::error("invalid-limit", message).at(&number.span));
            }
        }
        problems.extend(check_axes(bond));
    }
}

fn check_interface_models(system: &SystemFile, problems: &mut Vec<Problem>) {
    let mut seen = BTreeMap::new();
    for model in &system.interface_models {
        check_unique(
            "interface model",
            &model.name,
            &mut seen,
            &system.source,
            problems,
        );
        check_positive("exchange_step", Some(&model.exchange_step), problems);
        if system.component(&model.component.value).is_none() {
            let problem = system.unknown_component(&model.component.value);
            problems.push(problem.at(&model.component.span));
        }
        for bond in &model.bonds {
            let mut names = system.bonds.iter().map(|bond| bond.name.value.as_str());
            if names.any(|name| name == bond.value) {
                continue;
            }
            let message = format!("there is no bond `{}`", bond.value);
            let problem = Problem::error("unknown-bond", message).at(&bond.span);
            let names = system.bonds.iter().map(|bond| bond.name.value.as_str());
            problems.push(problem.advised(did_you_mean(&bond.value, names)));
        }
    }
}

/// Effort goes a → b and flow b → a, with the same a and b on every axis.
fn check_axes(bond: &Bond) -> Option<Problem> {
    let name = &bond.name.value;
    let (efforts, flows) = (bond.effort.len(), bond.flow.len());
    if efforts != flows || efforts == 0 {
        let message = format!("bond `{name}` does not pair: efforts {efforts}, flows {flows}");
        return Some(
            Problem::error("unpaired-bond", message)
                .at(&bond.name.span)
                .help("each axis of a bond is one effort and one flow, in the same order"),
        );
    }
    let ends = |pair: &Connection| {
        (
            pair.from.value.component.clone(),
            pair.to.value.component.clone(),
        )
    };
    let (a, b) = ends(&bond.effort[0]);
    let wrong_effort = bond
        .effort
        .iter()
        .find(|pair| ends(pair) != (a.clone(), b.clone()));
    let wrong_flow = bond
        .flow
        .iter()
        .find(|pair| ends(pair) != (b.clone(), a.clone()));
    let (what, pair, from, to) = match (wrong_effort, wrong_flow) {
        (Some(pair), _) => ("effort", pair, &a, &b),
        (None, Some(pair)) => ("flow", pair, &b, &a),
        (None, None) => return None,
    };
    let message = format!(
        "bond `{name}` does not pair: its effort goes from `{a}` to `{b}`, so that this {what} must go \
         from `{from}` to `{to}`, not from `{}` to `{}`",
        pair.from.value, pair.to.value
    );
    Some(
        Problem::error("unpaired-bond", message)
            .at(&pair.from.span)
            .help("effort goes from end a to end b, flow back from b to a, on every axis"),
    )
}

fn check_exchange(exchange: Option<&Spanned<String>>, problems: &mut Vec<Problem>) {
    let Some(exchange) = exchange.filter(|word| !EXCHANGES.contains(&word.value.as_str())) else {
        return;
    };
    let message = format!("unknown exchange `{}`", exchange.value);
    let help = did_you_mean(&exchange.value, EXCHANGES.iter().copied());
    let help = help.unwrap_or_else(|| format!("one of {}", EXCHANGES.join(", ")));
    problems.push(
        Problem::error("unknown-exchange", message)
            .at(&exchange.span)
            .help(help),
    );
}

fn check_positive(key: &str, number: Option<&Spanned<f64>>, problems: &mut Vec<Problem>) {
    let Some(number) = number else { return };
    if let Some(problem) = not_finite(key, number) {
        problems.push(problem);
    } else if number.value <= 0.0 {
        let message = format!("`{key}` is {}; it must be positive", number.value);
        problems.push(Problem::error("not-positive", message).at(&number.span));
    }
}

fn not_finite(key: &str, number: &Spanned<f64>) -> Option<Problem> {
    let message = || format!("`{key}` is {}; it must be a finite number", number.value);
    (!number.value.is_finite()).then(|| Problem::error("not-finite", message()).at(&number.span))
}
