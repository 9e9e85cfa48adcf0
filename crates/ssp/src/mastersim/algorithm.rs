//! Times, master mode and step control, as `MSIM_MasterSim.cpp` and the `MSIM_Algorithm….cpp` act on them.

use gyrator_fmu::Causality;
use gyrator_system::{Choice, Component, Experiment, Problem, Spanned, Tolerance, Value};

use super::lines::Settings;
use crate::models::Models;
use crate::tree::Reader;

// What MasterSim takes if a project does not say (`MSIM_Project.cpp`, `MSIM_Project.h`): times in s.
const STOP_TIME: f64 = 365.0 * 86400.0;
const FIRST_STEP: f64 = 600.0;
const MINIMUM_STEP: f64 = 1e-5;
const MAXIMUM_STEP: f64 = 1800.0;
const FALLBACK_STEP: f64 = 1e-3;
const ABSOLUTE_TOLERANCE: f64 = 1e-6;
const RELATIVE_TOLERANCE: f64 = 1e-5;
/// Steps of the whole time if the first step is 0.
const USUAL_STEPS: f64 = 1000.0;

/// What the words for method and step control are made of.
struct Steps {
    first: Spanned<f64>,
    /// Whether steps change.
    is_adaptive: bool,
    iterations: u32,
    absolute: Spanned<f64>,
    relative: Spanned<f64>,
}

pub(super) fn experiment(
    settings: &Settings<'_>,
    order: String,
    reader: &mut Reader<'_>,
) -> Experiment {
    let start = settings.time("tStart", 0.0, reader);
    let stop = settings.time("tEnd", STOP_TIME, reader);
    if settings.get("tEnd").is_none() {
        let message = "the project has no `tEnd`; the run ends after one year, as in MasterSim";
        let problem = Problem::warning("missing-key", message);
        reader
            .problems
            .push(problem.help("write `tEnd 10 s`, or give --stop-time"));
    }
    let mut first = settings.time("hStart", FIRST_STEP, reader);
    if first.value == 0.0 {
        first.value = (stop.value - start.value) / USUAL_STEPS;
    }
    let steps = Steps {
        is_adaptive: settings.flag("adjustStepSize", false, reader),
        iterations: settings.count("maxIterations", 1, reader),
        absolute: settings.number("absTol", ABSOLUTE_TOLERANCE, reader),
        relative: settings.number("relTol", RELATIVE_TOLERANCE, reader),
        first,
    };
    note_overstepping(settings, start.value, stop.value, &steps, reader);
    let method = method(settings, order, &steps, reader);
    let step_control = step_control(settings, &steps, reader);
    let is_positive = steps.relative.value > 0.0;
    let tolerance = if is_positive {
        Tolerance::Relative(steps.relative.value)
    } else {
        Tolerance::Off
    };
    Experiment {
        start_time: Some(start),
        stop_time: Some(stop),
        // Held inputs hide a jump from the estimate of errors, and MasterSim's comparison of slopes is not there.
        extrapolation: (!steps.is_adaptive).then(|| Choice::new("hold")),
        step_size: Some(steps.first),
        tolerance: Some(Spanned::new(tolerance, steps.relative.span)),
        method: Some(method),
        exchange: Some(Spanned::unplaced("stale".to_owned())),
        step_control: Some(step_control),
        ..Experiment::default()
    }
}

/// The last step is shortened here in any case.
fn note_overstepping(
    settings: &Settings<'_>,
    start: f64,
    stop: f64,
    steps: &Steps,
    reader: &mut Reader<'_>,
) {
    let key = "preventOversteppingOfEndTime";
    let count = (stop - start) / steps.first.value;
    let is_whole = (count - count.round()).abs() <= 1e-9 * count;
    if !settings.flag(key, true, reader) && !is_whole && !steps.is_adaptive {
        let message = "the last step is shortened to end at `tEnd`; MasterSim steps beyond it";
        let problem = Problem::warning("not-supported", message);
        reader.problems.push(problem.at(&settings.place(key)));
    }
}

fn set(choice: &mut Choice, name: &str, value: Value, like: &Spanned<f64>) {
    let name = Spanned::unplaced(name.to_owned());
    let value = Spanned::new(value, like.span.clone());
    choice.parameters.push((name, value));
}

fn method(
    settings: &Settings<'_>,
    order: String,
    steps: &Steps,
    reader: &mut Reader<'_>,
) -> Choice {
    let modes = ["GAUSS_SEIDEL", "GAUSS_JACOBI", "NEWTON"];
    let mode = settings.word("MasterMode", &modes, reader);
    let place = settings.place("MasterMode");
    let mut choice = match mode {
        "GAUSS_JACOBI" => {
            if steps.iterations > 1 {
                let message =
                    "`GAUSS_JACOBI` does not iterate: MasterSim refuses this `maxIterations`";
                let problem = Problem::error("no-iteration", message);
                let problem = problem.at(&settings.place("maxIterations"));
                reader
                    .problems
                    .push(problem.help("write `maxIterations 1`, or `MasterMode GAUSS_SEIDEL`"));
            }
            Choice::new("jacobi")
        }
        "NEWTON" => newton(settings, steps, reader),
        _ if steps.iterations > 1 && !falls_back(settings, steps, reader) => {
            let choice = Choice::new("iterative");
            let choice = choice.with("accelerator", Value::String("fixed-point".to_owned()));
            iterations(choice, steps.iterations, steps)
        }
        _ => Choice::new("gauss-seidel").with("order", Value::String(order)),
    };
    choice.name.span = place;
    choice
}

/// Whether steps are so short that MasterSim does not iterate.
fn falls_back(settings: &Settings<'_>, steps: &Steps, reader: &mut Reader<'_>) -> bool {
    let key = "hFallBackLimit";
    let limit = settings.time(key, FALLBACK_STEP, reader);
    if steps.is_adaptive && settings.get(key).is_some() {
        let message = "`hFallBackLimit` is ignored: steps of every size iterate";
        let problem = Problem::warning("not-supported", message);
        reader.problems.push(problem.at(&limit.span));
    }
    !steps.is_adaptive && steps.first.value < limit.value
}

/// Newton's method with a Jacobian of difference quotients, taken once a step.
fn newton(settings: &Settings<'_>, steps: &Steps, reader: &mut Reader<'_>) -> Choice {
    let (choice, words) = match steps.iterations {
        1 => (Choice::new("linear-implicit"), "`linear-implicit`"),
        limit => {
            let choice = Choice::new("iterative");
            let choice = choice.with("order", Value::String("jacobi".to_owned()));
            let choice = choice.with("accelerator", Value::String("iqn-ils".to_owned()));
            (
                iterations(choice, limit, steps),
                "`iterative` with `iqn-ils`",
            )
        }
    };
    let message = format!(
        "`NEWTON` becomes {words}, which is near to it; values differ within the tolerances"
    );
    let problem = Problem::warning("approximated", message);
    reader
        .problems
        .push(problem.at(&settings.place("MasterMode")));
    choice
}

fn iterations(mut choice: Choice, limit: u32, steps: &Steps) -> Choice {
    set(
        &mut choice,
        "tolerance",
        Value::Real(steps.relative.value),
        &steps.relative,
    );
    set(
        &mut choice,
        "absolute_tolerance",
        Value::Real(steps.absolute.value),
        &steps.absolute,
    );
    let choice = choice.with("max_iterations", Value::Integer(i64::from(limit)));
    choice.with("on_failure", Value::String("accept".to_owned()))
}

/// MasterSim sums up the times of its steps.
fn step_control(settings: &Settings<'_>, steps: &Steps, reader: &mut Reader<'_>) -> Choice {
    let modes = ["NONE", "CHECK", "STEP_DOUBLING", "ADAPT_STEP"];
    let mode = settings.word("ErrorControlMode", &modes, reader);
    let place = settings.place("ErrorControlMode");
    let fixed = || Choice::new("fixed").with("accumulate", Value::Boolean(true));
    match (mode, steps.is_adaptive) {
        ("STEP_DOUBLING" | "ADAPT_STEP", false) => {
            let message = format!(
                "`{mode}` changes step sizes: MasterSim refuses it without `adjustStepSize`"
            );
            let problem = Problem::error("no-step-control", message).at(&place);
            reader
                .problems
                .push(problem.help("write `adjustStepSize yes`, or `ErrorControlMode NONE`"));
            fixed()
        }
        ("STEP_DOUBLING" | "ADAPT_STEP", true) => {
            let message = format!(
                "`{mode}` becomes `richardson`, with extrapolated inputs: MasterSim holds them and compares slopes, so its steps are others, and it stops at `hMin`"
            );
            reader
                .problems
                .push(Problem::warning("approximated", message).at(&place));
            richardson(settings, steps, reader)
        }
        (_, true) if steps.iterations > 1 => {
            let message = "`adjustStepSize` becomes `richardson`, with extrapolated inputs: MasterSim holds them and shortens steps that do not converge, gyrator those with errors over the \
                           tolerances";
            let problem = Problem::warning("approximated", message);
            reader
                .problems
                .push(problem.at(&settings.place("adjustStepSize")));
            richardson(settings, steps, reader)
        }
        (_, true) => {
            let message =
                "`adjustStepSize` without iterations or error control: MasterSim refuses it";
            let problem = Problem::error("no-step-control", message);
            let problem = problem.at(&settings.place("adjustStepSize"));
            reader.problems.push(
                problem.help("write `adjustStepSize no`, or `ErrorControlMode STEP_DOUBLING`"),
            );
            fixed()
        }
        ("CHECK", false) => {
            let message = "`CHECK` is ignored: a run does not test the errors of its steps";
            let problem = Problem::warning("not-supported", message).at(&place);
            reader
                .problems
                .push(problem.help("measure the errors of the result with --error-bars"));
            fixed()
        }
        _ => fixed(),
    }
}

fn richardson(settings: &Settings<'_>, steps: &Steps, reader: &mut Reader<'_>) -> Choice {
    let mut choice = Choice::new("richardson");
    choice.name.span = settings.place("ErrorControlMode");
    let minimum = settings.time("hMin", MINIMUM_STEP, reader);
    let maximum = settings.time("hMax", MAXIMUM_STEP, reader);
    for (name, number) in [
        ("tolerance", &steps.relative),
        ("absolute_tolerance", &steps.absolute),
        ("first_step", &steps.first),
        ("minimum_step", &minimum),
        ("maximum_step", &maximum),
    ] {
        set(&mut choice, name, Value::Real(number.value), number);
    }
    choice
}

/// Reports what is recorded otherwise than in MasterSim.
pub(super) fn outputs(
    settings: &Settings<'_>,
    components: &[Component],
    models: &mut Models,
    reader: &mut Reader<'_>,
) {
    let note = |key: &str, message: String, help: &str| {
        let problem = Problem::warning("recorded-otherwise", message).at(&settings.place(key));
        problem.help(help)
    };
    let mut notes = Vec::new();
    if let Some(unit) = settings
        .get("outputTimeUnit")
        .filter(|unit| unit.value != "s")
    {
        let message = format!("times are recorded in s, not in `{}`", unit.value);
        notes.push(note(
            "outputTimeUnit",
            message,
            "convert them after the run",
        ));
    }
    let has_locals = |fmu: &std::path::Path, models: &mut Models| {
        let model = models.of(fmu);
        model.is_some_and(|m| m.variables.iter().any(|v| v.causality == Causality::Local))
    };
    let mut fmus = components
        .iter()
        .filter(|component| component.block.is_none());
    if settings.flag("writeInternalVariables", false, reader)
        && fmus.any(|component| has_locals(&component.fmu.value, models))
    {
        let message = "outputs are recorded, and no internal variables".to_owned();
        let help = "name those that you want, with the outputs: --output-variable 'NAME.*'";
        notes.push(note("writeInternalVariables", message, help));
    }
    let step = settings.time("hStart", FIRST_STEP, reader).value;
    let interval = settings.time("hOutputMin", 0.0, reader).value;
    let is_fixed = !settings.flag("adjustStepSize", false, reader);
    if step > 0.0 && is_fixed && interval > step * (1.0 + 1e-9) {
        let message = format!("every step is recorded, and not one every {interval} s");
        let help = format!("for fewer rows, give --output-interval {interval}");
        notes.push(note("hOutputMin", message, &help));
    }
    reader.problems.extend(notes);
}
