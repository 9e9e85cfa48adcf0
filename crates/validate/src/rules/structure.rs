//! V-34 to V-37: `ModelStructure`.

use std::collections::{BTreeMap, BTreeSet};

use gyrator_fmu::{Causality, Initial, Variability};

use crate::finding::{Findings, Severity};
use crate::model::{Model, TypeElement, Unknown, Variable, place};
use crate::rule::{Check, Rule};

pub(super) static RULES: &[Rule] = &[
    Rule {
        number: 34,
        title: "Outputs lists exactly the outputs",
        severity: Severity::Error,
        source: "2.2.8, Outputs",
        check: Check::Description(outputs_are_listed),
    },
    Rule {
        number: 35,
        title: "Derivatives lists derivatives of continuous reals",
        severity: Severity::Error,
        source: "2.2.8, Derivatives",
        check: Check::Description(derivatives_are_derivatives),
    },
    Rule {
        number: 36,
        title: "InitialUnknowns lists exactly the variables that are computed during initialization",
        severity: Severity::Warning,
        source: "2.2.8, InitialUnknowns",
        check: Check::Description(initial_unknowns_are_listed),
    },
    Rule {
        number: 37,
        title: "dependencies are on knowns, in ascending order, each with its kind",
        severity: Severity::Warning,
        source: "2.2.8, dependencies",
        check: Check::Description(dependencies_are_known),
    },
];

/// Reports indices that lead nowhere or occur twice; returns the places of the others.
fn places(
    model: &Model<'_>,
    list: &[Unknown<'_>],
    name: &str,
    findings: &mut Findings<'_>,
) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    let mut places = Vec::new();
    for unknown in list {
        let offset = model.document.offset(unknown.node);
        let Some(index) = unknown.index else {
            continue;
        };
        let found = place(index).filter(|place| *place < model.variables.len());
        let Some(place) = found else {
            let count = model.variables.len();
            let message = format!("{name}: there is no variable {index} among {count}");
            findings.graded_at(Severity::Error, offset, message);
            continue;
        };
        if seen.insert(place) {
            places.push(place);
        } else {
            let variable = model.variables[place].name;
            let message = format!("{name}: {variable} is listed twice");
            findings.graded_at(Severity::Error, offset, message);
        }
    }
    places
}

/// Reports what is listed and not expected, and the other way round.
fn compare(
    model: &Model<'_>,
    name: &str,
    listed: &[usize],
    expected: &BTreeSet<usize>,
    findings: &mut Findings<'_>,
) {
    for place in listed.iter().filter(|place| !expected.contains(place)) {
        let variable = &model.variables[*place];
        let message = format!(
            "{name} lists {}, which does not belong there",
            variable.name
        );
        findings.at(variable.offset, message);
    }
    let listed: BTreeSet<usize> = listed.iter().copied().collect();
    for place in expected.difference(&listed) {
        let variable = &model.variables[*place];
        findings.at(variable.offset, format!("{name} lacks {}", variable.name));
    }
}

fn places_where(
    model: &Model<'_>,
    mut is_wanted: impl FnMut(&Variable<'_>) -> bool,
) -> BTreeSet<usize> {
    let wanted = model.variables.iter().enumerate();
    wanted
        .filter(|(_, variable)| is_wanted(variable))
        .map(|(place, _)| place)
        .collect()
}

fn outputs_are_listed(model: &Model<'_>, findings: &mut Findings<'_>) {
    let listed = places(model, &model.outputs, "Outputs", findings);
    let expected = places_where(model, |variable| {
        variable.causality == Some(Causality::Output)
    });
    compare(model, "Outputs", &listed, &expected, findings);
}

fn derivatives_are_derivatives(model: &Model<'_>, findings: &mut Findings<'_>) {
    for place in places(model, &model.derivatives, "Derivatives", findings) {
        let variable = &model.variables[place];
        let name = variable.name;
        if model.own(variable, "derivative").is_none() {
            let message = format!("Derivatives lists {name}, which has no attribute derivative");
            findings.at(variable.offset, message);
        }
        let is_continuous = variable.variability == Some(Variability::Continuous);
        if variable.kind != Some(TypeElement::Real) || !is_continuous {
            let message = format!("Derivatives lists {name}, which is not a continuous Real");
            findings.at(variable.offset, message);
        }
    }
}

fn initial_unknowns_are_listed(model: &Model<'_>, findings: &mut Findings<'_>) {
    let name = "InitialUnknowns";
    let listed = places(model, &model.initial_unknowns, name, findings);
    if let Some(pair) = listed.windows(2).find(|pair| pair[0] > pair[1]) {
        let variable = &model.variables[pair[1]];
        let message = format!("{name} is not in ascending order from {} on", variable.name);
        findings.at(variable.offset, message);
    }
    let is_computed = |variable: &Variable<'_>| {
        matches!(
            variable.effective_initial(),
            Some(Initial::Approx | Initial::Calculated)
        )
    };
    let mut expected = places_where(model, |variable| match variable.causality {
        Some(Causality::Output) => is_computed(variable),
        causality => causality == Some(Causality::CalculatedParameter),
    });
    let derivatives = model
        .derivatives
        .iter()
        .filter_map(|unknown| place(unknown.index?));
    let of_states = model.states().iter().copied().chain(derivatives);
    expected.extend(of_states.filter(|place| {
        let variable = model.variables.get(*place);
        variable.is_some_and(is_computed)
    }));
    compare(model, name, &listed, &expected, findings);
}

fn dependencies_are_known(model: &Model<'_>, findings: &mut Findings<'_>) {
    let lists: [(&str, &[Unknown<'_>]); 3] = [
        ("Outputs", &model.outputs),
        ("Derivatives", &model.derivatives),
        ("InitialUnknowns", &model.initial_unknowns),
    ];
    for (list, unknowns) in lists {
        let is_initial = list == "InitialUnknowns";
        for unknown in unknowns {
            let offset = model.document.offset(unknown.node);
            let mut report = |grade, message: String| {
                let name = unknown.index.and_then(|index| model.variable(index));
                let name = name.map_or("?", |variable| variable.name);
                findings.graded_at(grade, offset, format!("{list}, {name}: {message}"));
            };
            kinds_fit(unknown, is_initial, &mut report);
            dependencies_fit(model, unknown, is_initial, &mut report);
        }
    }
}

fn kinds_fit(unknown: &Unknown<'_>, is_initial: bool, report: &mut dyn FnMut(Severity, String)) {
    let Some(kinds) = &unknown.kinds else {
        return;
    };
    match &unknown.dependencies {
        None => report(
            Severity::Error,
            "dependenciesKind without dependencies".to_owned(),
        ),
        Some(dependencies) if dependencies.len() != kinds.len() => {
            let message = format!("{} dependencies, {} kinds", dependencies.len(), kinds.len());
            report(Severity::Error, message);
        }
        Some(_) => {}
    }
    let is_of_running = |kind: &&&str| matches!(**kind, "fixed" | "tunable" | "discrete");
    if let Some(kind) = kinds.iter().find(is_of_running).filter(|_| is_initial) {
        let message = format!("the kind {kind} does not exist during initialization");
        report(Severity::Error, message);
    }
}

fn dependencies_fit(
    model: &Model<'_>,
    unknown: &Unknown<'_>,
    is_initial: bool,
    report: &mut dyn FnMut(Severity, String),
) {
    let dependencies = unknown.dependencies.as_deref().unwrap_or_default();
    if let Some(pair) = dependencies.windows(2).find(|pair| pair[0] >= pair[1]) {
        let message = format!("{} comes before {} in dependencies", pair[0], pair[1]);
        report(Severity::Warning, message);
    }
    let mut unexpected: BTreeMap<&str, ()> = BTreeMap::new();
    for index in dependencies {
        let Some(variable) = model.variable(*index) else {
            report(
                Severity::Error,
                format!("it depends on variable {index}, which is not there"),
            );
            continue;
        };
        if !is_known(model, variable, *index, is_initial) {
            unexpected.insert(variable.name, ());
        }
    }
    if !unexpected.is_empty() {
        let names: Vec<&str> = unexpected.into_keys().take(5).collect();
        let when = if is_initial {
            "initialization"
        } else {
            "a run"
        };
        let message = format!("{} is no known of {when}", names.join(", "));
        report(Severity::Warning, message);
    }
}

/// Whether an unknown may depend on a variable.
fn is_known(model: &Model<'_>, variable: &Variable<'_>, index: u32, is_initial: bool) -> bool {
    let is_state = || place(index).is_some_and(|place| model.is_state(place));
    match variable.causality {
        Some(Causality::Input | Causality::Independent) | None => true,
        _ if is_initial => variable.effective_initial() == Some(Initial::Exact),
        Some(Causality::Parameter) => variable.variability == Some(Variability::Tunable),
        _ => is_state(),
    }
}
