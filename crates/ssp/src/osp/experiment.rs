//! Times, macro-step and algorithm.

use gyrator_system::{Choice, Experiment, Spanned, Value};

use crate::tree::{Element, Reader};

/// The step of libcosim if a system gives none, s (`osp_config_parser.cpp`).
const USUAL_STEP: f64 = 0.1;

pub(super) fn experiment(root: Element<'_>, reader: &mut Reader<'_>) -> Experiment {
    let step = number_in(root, "BaseStepSize", reader);
    Experiment {
        start_time: number_in(root, "StartTime", reader),
        stop_time: number_in(root, "EndTime", reader),
        step_size: Some(step.unwrap_or(Spanned::unplaced(USUAL_STEP))),
        step_control: step_control(root, reader),
        ..Experiment::default()
    }
}

/// The number that a child holds as its text.
fn number_in(parent: Element<'_>, name: &str, reader: &mut Reader<'_>) -> Option<Spanned<f64>> {
    let child = parent.child(name)?;
    let (text, span) = child.content();
    match text.trim().parse() {
        Ok(number) => Some(Spanned::new(number, span)),
        Err(_) => {
            let message = format!("`{name}` must hold a number, not `{}`", text.trim());
            reader.error("wrong-type", message, &child.span());
            None
        }
    }
}

fn step_control(root: Element<'_>, reader: &mut Reader<'_>) -> Option<Choice> {
    let algorithm = root.child("Algorithm")?;
    let (text, _) = algorithm.content();
    match text.trim().to_ascii_lowercase().as_str() {
        "fixedstep" => None,
        "ecco" => match root.child("EccoConfiguration") {
            Some(configuration) => Some(ecco(configuration, reader)),
            None => {
                let message = "the algorithm `ecco` needs an `EccoConfiguration`".to_owned();
                reader.error("missing-element", message, &algorithm.span());
                None
            }
        },
        _ => {
            let message = format!(
                "the algorithm `{}` is neither `fixedStep` nor `ecco`",
                text.trim()
            );
            reader.error("unknown-algorithm", message, &algorithm.span());
            None
        }
    }
}

/// The step control of Sadjina et al. with the parameters of libcosim. Its indicator divides by
/// `AbsoluteTolerance + RelativeTolerance · E` (`ecco_algorithm.cpp`), ours by
/// `tolerance · (energy_scale + E)`; libcosim's E is the greatest residual energy of the step, ours that
/// which the bond transferred. libcosim starts with two steps of the first size and an indicator of 1.
fn ecco(configuration: Element<'_>, reader: &mut Reader<'_>) -> Choice {
    const NUMBERS: [(&str, &str); 8] = [
        ("SafetyFactor", "safety"),
        ("StepSize", "first_step"),
        ("MinimumStepSize", "minimum_step"),
        ("MaximumStepSize", "maximum_step"),
        ("MinimumChangeRate", "smallest_change"),
        ("MaximumChangeRate", "largest_change"),
        ("ProportionalGain", "k_p"),
        ("IntegralGain", "k_i"),
    ];
    let mut known: Vec<&str> = NUMBERS.iter().map(|(theirs, _)| *theirs).collect();
    known.extend(["RelativeTolerance", "AbsoluteTolerance"]);
    configuration.expect(&[], &known, reader);
    let mut choice = Choice::new("ecco").with("indicator", Value::String("signed".to_owned()));
    let mut set = |ours: &str, number: Spanned<f64>| {
        let name = Spanned::unplaced(ours.to_owned());
        let value = Spanned::new(Value::Real(number.value), number.span);
        choice.parameters.push((name, value));
    };
    for (theirs, ours) in NUMBERS {
        if let Some(number) = number_in(configuration, theirs, reader) {
            set(ours, number);
        }
    }
    let relative = number_in(configuration, "RelativeTolerance", reader);
    let absolute = number_in(configuration, "AbsoluteTolerance", reader);
    if let Some(relative) = relative {
        if let Some(absolute) = absolute {
            let scale = absolute.value / relative.value;
            set("energy_scale", Spanned::new(scale, absolute.span));
        }
        set("tolerance", relative);
    }
    choice
}
