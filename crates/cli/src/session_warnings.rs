//! Warnings about a run that neither its system nor its engine gives.

use gyrator::{Report, Run, StopReason};
use gyrator_system::{Problem, SystemFile};

use crate::numbers::short;
use crate::options::ResultOptions;

/// Says that there is nothing to record.
pub(crate) fn no_outputs(
    run: &Run,
    single: Option<&String>,
    results: &ResultOptions,
) -> Option<String> {
    let graph = run.graph();
    let has_outputs = !graph.real_outputs().is_empty() || !graph.signals().is_empty();
    let whole = single.map_or("no component of the system has", |_| "the FMU has no");
    let noun = if single.is_some() {
        "outputs"
    } else {
        "an output"
    };
    (!has_outputs && results.output_variable.is_empty()).then(|| {
        format!(
            "{whole} {noun}; `--output-variable` records inputs, local variables and parameters"
        )
    })
}

/// Says that the last step was shorter than the others, for the run to end at its stop time.
pub(crate) fn shortened_step(system: &SystemFile, report: &Report) -> Option<String> {
    let experiment = &system.experiment;
    let value = |time: &Option<gyrator_system::Spanned<f64>>| time.as_ref().map(|time| time.value);
    let (stop, step) = value(&experiment.stop_time).zip(value(&experiment.step_size))?;
    let start = value(&experiment.start_time).unwrap_or(0.0);
    let is_due = report.step_control == "fixed" && report.stop_reason == StopReason::StopTime;
    let steps = (stop - start) / step;
    // The rest of a step, but for rounding.
    let rounding = 1e-9 * steps.max(1.0);
    let rest = steps.fract();
    let is_shortened = is_due && rest > rounding && rest < 1.0 - rounding;
    is_shortened.then(|| {
        let last = short(rest * step);
        format!("the last step is shortened to {last} s, to end at the stop time")
    })
}

/// A problem of the file that is no error, with its place.
pub(crate) fn warning(system: &SystemFile, problem: &Problem) -> String {
    let source = &system.source;
    let start = problem.span.as_ref().map_or(0, |span| span.start);
    let place = problem.span.as_ref().map_or(String::new(), |_| {
        let (line, column) = source.position(start);
        format!(":{line}:{column}")
    });
    let help = problem
        .help
        .as_ref()
        .map_or(String::new(), |help| format!("; {help}"));
    let path = source.file_at(start).0.display();
    format!("{path}{place}: {}{help}", problem.message)
}
