//! How it is said that two parts do not go together.

use std::ops::Range;

use gyrator_system::{Problem, did_you_mean};

use super::parts::{PartKind, SystemPart};
use super::{Conflict, Parts};
use crate::need::Need;
use crate::registry::{ParameterKind, SignalName};

/// Words for a conflict over `need` between two kinds of parts.
pub(super) struct Rule {
    need: Need,
    needing: PartKind,
    withholding: PartKind,
    pub(super) times: Times,
    /// The words; `None` if another rule has said it, or the run says it when it starts.
    pub(super) problem: fn(&Parts<'_>, &SystemPart, &[&SystemPart]) -> Option<Problem>,
}

/// How often it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    /// For each two parts.
    Always,
    /// For each part with the need, all others together.
    OncePerNeeding,
    /// For each part that withholds, with the first that has the need.
    OncePerWithholding,
}

impl Rule {
    pub(super) fn is_about(&self, conflict: &Conflict<'_>) -> bool {
        let kinds = (conflict.needing.kind, conflict.withholding.kind);
        conflict.need == self.need && kinds == (self.needing, self.withholding)
    }
}

/// All rules, in the order in which problems are listed.
pub(super) const RULES: &[Rule] = &[
    Rule {
        need: Need::SavedStates,
        needing: PartKind::Halving,
        withholding: PartKind::Unit,
        times: Times::Always,
        problem: |_, halving, _| {
            let lack = "save its state (canGetAndSetFMUstate)";
            Some(not_halved(halving, lack))
        },
    },
    Rule {
        need: Need::AnyStepSize,
        needing: PartKind::Halving,
        withholding: PartKind::Unit,
        times: Times::Always,
        problem: |_, halving, unit| {
            let lack = "vary its step (canHandleVariableCommunicationStepSize)";
            let is_said = unit[0].withholds.contains(&Need::SavedStates);
            (!is_said).then(|| not_halved(halving, lack))
        },
    },
    Rule {
        need: Need::InputCourse,
        needing: PartKind::Correction,
        withholding: PartKind::InterfaceModel,
        times: Times::Always,
        problem: |system, correction, model| Some(corrected(system, correction, model[0])),
    },
    Rule {
        need: Need::Derivatives,
        needing: PartKind::InterfaceOrder,
        withholding: PartKind::Unit,
        times: Times::Always,
        problem: |_, model, unit| {
            let name = &unit[0].name;
            let message = format!("`{name}` gives no directional derivatives of its accelerations");
            let help = "name outputs for `inverse_mass` and `free_acceleration` instead";
            Some(of_model(model, &message, help))
        },
    },
    Rule {
        need: Need::Positions,
        needing: PartKind::InterfaceOrder,
        withholding: PartKind::InterfaceOutputs,
        times: Times::Always,
        problem: |_, model, _| {
            let message = "`displacement_correction` needs the positions";
            Some(of_model(model, message, "name outputs for `positions`"))
        },
    },
    Rule {
        need: Need::ForceRates,
        needing: PartKind::InterfaceOrder,
        withholding: PartKind::InterfaceOutputs,
        times: Times::Always,
        problem: |_, model, _| {
            let message =
                "`force = \"predicted\"` needs to know how the forces of the fast side change";
            let help = "name outputs for `stiffness` and `force_rates`";
            Some(of_model(model, message, help))
        },
    },
    Rule {
        need: Need::WithinStep,
        needing: PartKind::Extrapolation,
        withholding: PartKind::InterfaceModel,
        times: Times::OncePerWithholding,
        problem: |_, extrapolation, model| {
            let message = format!(
                "it does not go together with extrapolation `{}`: both use values from within the step of a source",
                extrapolation.name
            );
            let help = "choose another extrapolation for the components at its bonds";
            Some(of_model(model[0], &message, help))
        },
    },
    Rule {
        need: Need::EqualSteps,
        needing: PartKind::Extrapolation,
        withholding: PartKind::StepControl,
        times: Times::Always,
        problem: |_, extrapolation, _| {
            let message = format!(
                "`{}` cannot feed `{}`: its filters need macro-steps of one length; use step control `fixed`",
                extrapolation.name, extrapolation.at
            );
            let problem = Problem::error("extrapolation-refused", message);
            Some(problem.at(&extrapolation.span))
        },
    },
    Rule {
        need: Need::AnyStepSize,
        needing: PartKind::StepControl,
        withholding: PartKind::Unit,
        times: Times::OncePerNeeding,
        problem: |_, control, units| {
            let names: Vec<_> = units.iter().map(|unit| unit.name.as_str()).collect();
            let message = format!(
                "step control `{}` changes the size of the steps, which {} cannot follow",
                control.name,
                names.join(", ")
            );
            let problem = Problem::error("step-size-cannot-vary", message).at(&control.span);
            Some(problem.help("their descriptions do not set canHandleVariableCommunicationStepSize; use step control `fixed`"))
        },
    },
    Rule {
        need: Need::PowerBonds,
        needing: PartKind::StepControl,
        withholding: PartKind::Bonds,
        times: Times::Always,
        problem: |_, control, _| {
            let message = format!(
                "step control `{}` has no power bond to look at and keeps the macro-step",
                control.name
            );
            Some(Problem::warning("no-bonds", message).at(&control.span))
        },
    },
    Rule {
        need: Need::SavedStates,
        needing: PartKind::StepControl,
        withholding: PartKind::Unit,
        times: Times::OncePerNeeding,
        problem: |system, control, units| {
            let help = "their descriptions do not set canGetAndSetFMUstate; use step control `fixed` or `ecco`";
            let problem = not_repeated(system, control, units, "cannot go back to its start");
            problem.map(|problem| problem.help(help))
        },
    },
    Rule {
        need: Need::EveryMacroStep,
        needing: PartKind::StepControl,
        withholding: PartKind::Unit,
        times: Times::OncePerNeeding,
        problem: |system, control, units| {
            let help = "give them a `step_size` of no more than the macro-step, or use step control `fixed` or `ecco`";
            let problem =
                not_repeated(system, control, units, "communicates more slowly than that");
            problem.map(|problem| problem.help(help))
        },
    },
    Rule {
        need: Need::EqualSteps,
        needing: PartKind::FeedForward,
        withholding: PartKind::StepControl,
        times: Times::Always,
        problem: |_, _, _| {
            let message = "the feed-forward does not fit: it needs macro-steps of one size: `step_control = \"fixed\"`";
            Some(Problem::error("feed-forward", message))
        },
    },
    Rule {
        need: Need::WithinStep,
        needing: PartKind::Extrapolation,
        withholding: PartKind::Method,
        times: Times::OncePerWithholding,
        problem: |_, extrapolation, method| {
            let reason = "both use values from within the step of a source; use method `jacobi`, or another extrapolation";
            let parts = [method[0].title(), extrapolation.title()];
            Some(not_together(parts, reason, &method[0].span))
        },
    },
    Rule {
        need: Need::StepOrder,
        needing: PartKind::InterfaceModel,
        withholding: PartKind::Method,
        times: Times::OncePerWithholding,
        problem: |_, model, method| {
            let reason = "the interface model has an order of its own; use method `jacobi`";
            let parts = [method[0].title(), model.title()];
            Some(not_together(parts, reason, &method[0].span))
        },
    },
    Rule {
        need: Need::LastValues,
        needing: PartKind::Correction,
        withholding: PartKind::Method,
        times: Times::Always,
        problem: |_, correction, method| {
            let reason = "the correction takes the difference between a mean and the last value for an error; use method \
                          `jacobi` or `gauss-seidel`, or no correction";
            let of_bond = format!("{} of bond `{}`", correction.title(), correction.at);
            let parts = [method[0].title(), of_bond];
            Some(not_together(parts, reason, &method[0].span))
        },
    },
    Rule {
        need: Need::Delay,
        needing: PartKind::FeedForward,
        withholding: PartKind::Method,
        times: Times::Always,
        problem: |_, feed_forward, method| {
            let reason = "it makes up for a delay that the method does not have everywhere; use method `jacobi`";
            let parts = [feed_forward.title(), method[0].title()];
            Some(not_together(parts, reason, &method[0].span))
        },
    },
    Rule {
        need: Need::InputCourse,
        needing: PartKind::FeedForward,
        withholding: PartKind::InterfaceModel,
        times: Times::Always,
        problem: |system, feed_forward, model| {
            let method = system.file.experiment.method.as_ref();
            let span = method.map_or(0..0, |method| method.name.span.clone());
            let parts = [feed_forward.title(), model[0].title()];
            Some(not_together(parts, "both feed the same inputs", &span))
        },
    },
];

/// A step control that always makes steps again, and units for which that is not possible. Others go on without, and the
/// run says so.
fn not_repeated(
    system: &Parts<'_>,
    control: &SystemPart,
    units: &[&SystemPart],
    reason: &str,
) -> Option<Problem> {
    let chosen = system.control?;
    if !chosen.facts(&()).always_repeats {
        return None;
    }
    let names: Vec<_> = units.iter().map(|unit| unit.name.as_str()).collect();
    let message = format!(
        "step control `{}` makes every macro-step more than once, and {} {reason}",
        control.name,
        names.join(", ")
    );
    Some(Problem::error("step-cannot-be-repeated", message).at(&control.span))
}

fn not_together([one, other]: [String; 2], reason: &str, span: &Range<usize>) -> Problem {
    let message = format!("{one} and {other} do not go together: {reason}");
    Problem::error("method", message).at(span)
}

fn not_halved(halving: &SystemPart, lack: &str) -> Problem {
    let message = format!(
        "`{}` cannot {lack}: its steps are never halved",
        halving.name
    );
    Problem::warning("no-step-halvings", message).at(&halving.span)
}

fn of_model(model: &SystemPart, message: &str, help: &str) -> Problem {
    let message = format!("interface model `{}`: {message}", model.name);
    Problem::error("interface-model", message)
        .at(&model.span)
        .help(help)
}

/// A correction of a bond of the interface model, or of another bond at an input that it feeds.
fn corrected(system: &Parts<'_>, correction: &SystemPart, model: &SystemPart) -> Problem {
    let bond = &correction.at;
    let models = system.file.interface_models.iter();
    let described = models.filter(|described| described.name.value == model.name);
    let mut bonds = described.flat_map(|described| &described.bonds);
    if let Some(own) = bonds.find(|name| name.value == *bond) {
        let message = format!(
            "interface model `{}`: bond `{bond}` has a correction, `{}`",
            model.name, correction.name
        );
        let help = "the interface model feeds the inputs that the correction would change: set `correction = \"off\"`";
        return Problem::error("interface-model", message)
            .at(&own.span)
            .help(help);
    }
    let message = format!(
        "bond `{bond}` has a correction, and the interface model feeds an input of that bond without it"
    );
    of_model(model, &message, "set `correction = \"off\"` at that bond")
}

/// A conflict that no rule words: one over a need that an added entry states.
pub(super) fn unworded(conflict: &Conflict<'_>) -> Problem {
    let Conflict {
        need,
        needing,
        withholding,
    } = conflict;
    let message = format!(
        "{} and {} do not go together: the former needs {}",
        needing.title(),
        withholding.title(),
        need.words()
    );
    Problem::error("incompatible", message)
        .at(&withholding.span)
        .help("`gyrator list` shows all needs")
}

impl SystemPart {
    fn title(&self) -> String {
        let kind = match self.kind {
            PartKind::Method => "method",
            PartKind::StepControl => "step control",
            PartKind::Extrapolation => "extrapolation",
            PartKind::Correction => "correction",
            PartKind::InterfaceModel | PartKind::InterfaceOutputs => "interface model",
            PartKind::InterfaceOrder => "the order of interface model",
            PartKind::FeedForward => return "learned feed-forward".to_owned(),
            PartKind::Unit => "component",
            PartKind::Halving => "`step_halvings` of component",
            PartKind::Bonds => return "a system without power bonds".to_owned(),
        };
        format!("{kind} `{}`", self.name)
    }
}

/// Parameters of the step control that do not go together, and names of signals in them that are none.
pub(super) fn misfits_of_control(system: &Parts<'_>) -> Vec<Problem> {
    let Some(control) = system.control else {
        return Vec::new();
    };
    let outputs = 0..system.graph.outputs.len();
    let known = outputs.map(|output| system.graph.output_name(output));
    let known: Vec<String> = known.collect();
    let mut found = Vec::new();
    for parameter in control.entry.parameters {
        let ParameterKind::Signals(words) = parameter.kind else {
            continue;
        };
        let (key, word) = (parameter.name, control.name());
        let text = control.arguments.text(key);
        if words.contains(&text) {
            continue;
        }
        let names = SignalName::list(text);
        if names.is_empty() {
            found.push(format!("`{key}` of `{word}` names no signal"));
        }
        for (index, name) in names.iter().enumerate() {
            let unknown = name
                .outputs()
                .filter(|output| !known.iter().any(|k| k == output));
            let unknown: Vec<&str> = unknown.collect();
            for output in &unknown {
                let near = did_you_mean(output, known.iter().map(String::as_str));
                let help = near.as_deref().unwrap_or(
                    "write names as component.variable, separated by commas, and `a.x - b.y` for a difference",
                );
                found.push(format!(
                    "`{key}` of `{word}`: there is no real output `{output}`; {help}"
                ));
            }
            if unknown.is_empty() && name.less == Some(name.output) {
                let output = name.output;
                found.push(format!(
                    "`{key}` of `{word}`: `{output} - {output}` is always 0"
                ));
            } else if unknown.is_empty() && names[..index].contains(name) {
                let output = name.output;
                found.push(format!("`{key}` of `{word}` names `{output}` twice"));
            }
        }
    }
    if let Some(reason) = control.facts(&()).contradiction {
        found.push(format!("step control `{}`: {reason}", control.name()));
    }
    let choice = system.file.experiment.step_control.as_ref();
    let span = choice.map_or(0..0, |choice| choice.name.span.clone());
    let problem = |text: String| Problem::error("step-control", text).at(&span);
    found.into_iter().map(problem).collect()
}

/// Names of components in the parameters of the method that are none.
pub(super) fn unknown_names(system: &Parts<'_>) -> Vec<Problem> {
    let Some(method) = system.method else {
        return Vec::new();
    };
    let graph = system.graph;
    let mut found = Vec::new();
    for parameter in method.entry.parameters {
        let ParameterKind::Names(words) = parameter.kind else {
            continue;
        };
        let (key, word) = (parameter.name, method.name());
        let text = method.arguments.text(key);
        if words.contains(&text) {
            continue;
        }
        let names = text.split(',').map(str::trim);
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        for (index, name) in names.iter().enumerate() {
            if !graph.component_names().any(|known| known == *name) {
                let near = did_you_mean(name, graph.component_names());
                let help = near.as_deref();
                let help = help.unwrap_or("write names of components, separated by commas");
                found.push(format!(
                    "`{key}` of `{word}`: there is no component `{name}`; {help}"
                ));
            } else if names[..index].contains(name) {
                found.push(format!("`{key}` of `{word}` names `{name}` twice"));
            }
        }
    }
    let choice = system.file.experiment.method.as_ref();
    let span = choice.map_or(0..0, |choice| choice.name.span.clone());
    let problem = |text: String| Problem::error("method", text).at(&span);
    found.into_iter().map(problem).collect()
}
