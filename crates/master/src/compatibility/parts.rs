//! The parts of a system, each with its needs and the needs that it withholds.

use std::collections::BTreeMap;
use std::ops::Range;

use gyrator_system::Choice;

use super::Parts;
use crate::graph::{Graph, extrapolation_place};
use crate::interface_model::{Coordinate, InterfaceModel, Mass};
use crate::need::{Facts, Need, where_true};
use crate::unit::UnitDescription;

/// Needs of step halving at a unit.
pub(crate) const HALVING_NEEDS: [Need; 2] = [Need::SavedStates, Need::AnyStepSize];
/// Needs of learned feed-forward.
pub(super) const FEED_FORWARD_NEEDS: [Need; 3] = [Need::EqualSteps, Need::Delay, Need::InputCourse];
/// Needs of an interface model, which it also withholds at the inputs that it feeds.
pub(super) const MODEL_NEEDS: [Need; 1] = [Need::StepOrder];
pub(super) const MODEL_WITHHOLDS: [Need; 2] = [Need::WithinStep, Need::InputCourse];
/// Needs of the accelerations of an interface model at their unit.
pub(super) const ACCELERATIONS_NEED: [Need; 1] = [Need::Derivatives];

/// Needs that a unit cannot meet.
pub(crate) fn withheld_by(description: &UnitDescription) -> Vec<Need> {
    let can = &description.capabilities;
    where_true([
        (Need::AnyStepSize, !can.variable_step),
        (Need::SavedStates, !can.save_and_restore),
        (
            Need::Derivatives,
            !can.directional_derivatives && !can.fresh_outputs,
        ),
    ])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Method,
    StepControl,
    Extrapolation,
    Correction,
    InterfaceModel,
    /// The order of an interface model and where its mass comes from.
    InterfaceOrder,
    /// The outputs that an interface model names.
    InterfaceOutputs,
    FeedForward,
    Unit,
    Halving,
    /// All power bonds of the system.
    Bonds,
}

/// A part of a system.
#[derive(Debug)]
pub(super) struct SystemPart {
    pub(super) kind: PartKind,
    /// The word of an entry; the name of a component or an interface model.
    pub(super) name: String,
    /// The input or the bond at which it acts.
    pub(super) at: String,
    pub(super) needs: Vec<Need>,
    pub(super) withholds: Vec<Need>,
    pub(super) reach: Scope,
    pub(super) span: Range<usize>,
}

/// Where in a system a part acts.
#[derive(Debug)]
pub(super) enum Scope {
    Everywhere,
    Inputs(Vec<usize>),
    Component(usize),
}

impl SystemPart {
    pub(super) fn new(kind: PartKind, name: &str, reach: Scope) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            at: String::new(),
            needs: Vec::new(),
            withholds: Vec::new(),
            reach,
            span: 0..0,
        }
    }

    fn with(self, facts: &impl Facts) -> Self {
        Self {
            needs: facts.needs(),
            withholds: facts.withholds(),
            ..self
        }
    }
}

/// All parts of a system that need or withhold anything.
pub(super) fn parts(system: &Parts<'_>) -> Vec<SystemPart> {
    let mut parts = Vec::new();
    choices(system, &mut parts);
    units(system, &mut parts);
    extrapolations(system, &mut parts);
    corrections(system.graph, &mut parts);
    interface_models(system, &mut parts);
    parts.retain(|part| !part.needs.is_empty() || !part.withholds.is_empty());
    parts
}

fn choices(system: &Parts<'_>, parts: &mut Vec<SystemPart>) {
    let experiment = &system.file.experiment;
    let span = |choice: &Option<Choice>| {
        choice
            .as_ref()
            .map_or(0..0, |choice| choice.name.span.clone())
    };
    if let Some(method) = system.method {
        let part = SystemPart::new(PartKind::Method, method.name(), Scope::Everywhere);
        parts.push(SystemPart {
            span: span(&experiment.method),
            ..part.with(&method.facts(&()))
        });
    }
    if let Some(control) = system.control {
        let part = SystemPart::new(PartKind::StepControl, control.name(), Scope::Everywhere);
        parts.push(SystemPart {
            span: span(&experiment.step_control),
            ..part.with(&control.facts(&()))
        });
    }
    if system.has_feed_forward {
        parts.push(SystemPart {
            needs: FEED_FORWARD_NEEDS.to_vec(),
            ..SystemPart::new(PartKind::FeedForward, "", Scope::Everywhere)
        });
    }
    if system.graph.bonds.is_empty() {
        parts.push(SystemPart {
            withholds: vec![Need::PowerBonds],
            ..SystemPart::new(PartKind::Bonds, "", Scope::Everywhere)
        });
    }
}

fn units(system: &Parts<'_>, parts: &mut Vec<SystemPart>) {
    let listed = system.file.components.iter();
    let halved = listed.filter_map(|c| Some((&c.name.value, c.step_halvings.as_ref()?)));
    let halved: BTreeMap<_, _> = halved.collect();
    for (index, component) in system.graph.components.iter().enumerate() {
        let unit = SystemPart::new(PartKind::Unit, &component.name, Scope::Component(index));
        let mut withholds = withheld_by(&component.description);
        withholds.extend(where_true([(
            Need::EveryMacroStep,
            component.rate.every() > 1,
        )]));
        parts.push(SystemPart { withholds, ..unit });
        if let Some(halvings) = halved.get(&component.name) {
            let halving =
                SystemPart::new(PartKind::Halving, &component.name, Scope::Component(index));
            parts.push(SystemPart {
                needs: HALVING_NEEDS.to_vec(),
                span: halvings.span.clone(),
                ..halving
            });
        }
    }
}

fn extrapolations(system: &Parts<'_>, parts: &mut Vec<SystemPart>) {
    let graph = system.graph;
    for (receiver, component) in graph.components.iter().enumerate() {
        for index in component.inputs.clone() {
            let input = &graph.inputs[index];
            // One that is refused already needs nothing more.
            if input.facts.misfit.is_some() || input.facts.needs().is_empty() {
                continue;
            }
            let word = input.extrapolation.name();
            let part = SystemPart::new(PartKind::Extrapolation, word, Scope::Inputs(vec![index]));
            parts.push(SystemPart {
                at: graph.variable_name(receiver, input.variable),
                span: extrapolation_place(system.file, &component.name),
                ..part.with(&input.facts)
            });
        }
    }
}

fn corrections(graph: &Graph, parts: &mut Vec<SystemPart>) {
    for bond in &graph.bonds {
        if let Some(correction) = &bond.correction {
            let axes = bond.axes.iter();
            let inputs = axes.flat_map(|axis| [axis.effort_input, axis.flow_input]);
            let reach = Scope::Inputs(inputs.collect());
            let part = SystemPart::new(PartKind::Correction, correction.name(), reach);
            parts.push(SystemPart {
                at: bond.name.clone(),
                ..part.with(&correction.facts(&()))
            });
        }
    }
}

fn interface_models(system: &Parts<'_>, parts: &mut Vec<SystemPart>) {
    for model in &system.graph.interface_models {
        let mut described = system.file.interface_models.iter();
        let described = described.find(|described| described.name.value == model.name);
        let span = described.map_or(0..0, |described| described.name.span.clone());
        let part = |kind: PartKind, reach: Scope| SystemPart {
            span: span.clone(),
            ..SystemPart::new(kind, &model.name, reach)
        };
        parts.push(SystemPart {
            needs: MODEL_NEEDS.to_vec(),
            withholds: MODEL_WITHHOLDS.to_vec(),
            ..part(
                PartKind::InterfaceModel,
                Scope::Inputs(fed(model, system.graph)),
            )
        });
        let at = || Scope::Component(model.component);
        let mut order = part(PartKind::InterfaceOrder, at()).with(&model.facts);
        if matches!(model.mass, Mass::Accelerations(_)) {
            order.needs.extend(ACCELERATIONS_NEED);
        }
        parts.push(order);
        let lacks = |output: fn(&Coordinate) -> Option<usize>| {
            model.coordinates.iter().any(|c| output(c).is_none())
        };
        parts.push(SystemPart {
            withholds: where_true([
                (Need::Positions, lacks(|c| c.position)),
                (
                    Need::ForceRates,
                    lacks(|c| c.stiffness) || lacks(|c| c.force_rate),
                ),
            ]),
            ..part(PartKind::InterfaceOutputs, at())
        });
    }
}

/// The inputs of which an interface model chooses the course.
fn fed(model: &InterfaceModel, graph: &Graph) -> Vec<usize> {
    let fast = model
        .fast
        .iter()
        .map(|fast| graph.components[*fast].inputs.clone());
    let efforts = model.efforts.iter().map(|effort| effort.input);
    fast.flatten().chain(efforts).collect()
}
