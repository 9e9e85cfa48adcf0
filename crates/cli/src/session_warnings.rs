//! Warnings about a run that neither its system nor its engine gives.

use std::path::PathBuf;

use gyrator::system::UnusedInputs;
use gyrator::{Report, Run, StopReason};
use gyrator_fmu::Fmu;
use gyrator_system::{Port, Problem, SystemFile};

use crate::numbers::{short, some};
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

/// Says how often rows are written if the interval is not a multiple of the macro-step.
pub(crate) fn rounded_interval(
    run: &Run,
    report: &Report,
    interval: Option<f64>,
) -> Option<String> {
    let (interval, step) = (interval?, run.graph().macro_step());
    let ratio = interval / step;
    let whole = ratio.round().max(1.0);
    let is_multiple = (ratio - whole).abs() <= 1e-9 * whole;
    (report.step_control == "fixed" && !is_multiple).then(|| {
        format!(
            "--output-interval {interval} s is no multiple of the macro-step {step} s: rows are written every {} s",
            short(whole * step)
        )
    })
}

/// Says which inputs nothing feeds, and which start values have no effect.
pub(crate) fn unused_inputs(run: &Run) -> Vec<String> {
    let UnusedInputs { unfed, replaced } = gyrator::run::unused_inputs(run);
    let mut texts = Vec::new();
    if !unfed.is_empty() {
        let (inputs, keep) = match unfed.len() {
            1 => ("an input", "it keeps the start value of its FMU"),
            _ => ("inputs", "they keep the start values of their FMUs"),
        };
        texts.push(format!(
            "nothing feeds {inputs}: {}; {keep}",
            listed(&unfed)
        ));
    }
    if !replaced.is_empty() {
        let text = "start values of connected inputs have no effect: ";
        texts.push(format!("{text}{}", listed(&replaced)));
    }
    texts
}

/// The first names of a list.
fn listed(ports: &[Port]) -> String {
    /// More do not fit into a line.
    const SHOWN: usize = 3;
    let names: Vec<String> = ports.iter().take(SHOWN).map(Port::to_string).collect();
    let more = match ports.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more, which `gyrator inspect` lists"),
    };
    names.join(", ") + &more
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
    let rounding = 1e-9 * steps.max(1.0) + f64::EPSILON * stop.abs() / step;
    let rest = steps.fract();
    let is_shortened = is_due && rest > rounding && rest < 1.0 - rounding;
    is_shortened.then(|| {
        let last = short(rest * step);
        format!("the last step is shortened to {last} s, to end at the stop time")
    })
}

/// Names the FMUs that have written among their unpacked files, if components have the same ones.
pub(crate) fn shared_files(shared: &[(Fmu, Vec<String>)]) -> Vec<String> {
    let note = |(fmu, components): &(Fmu, Vec<String>)| {
        let files = fmu.changed_files().ok().filter(|files| !files.is_empty())?;
        let name = fmu.path().file_name().unwrap_or_default().to_string_lossy();
        Some(format!(
            "{name} writes among its unpacked files ({}), which {} share in this process: they may read what another one has \
             written; --isolate gives each its own",
            some(&files),
            some(components)
        ))
    };
    shared.iter().filter_map(note).collect()
}

/// Copies of a library whose code no longer fits into the caches.
const MANY_COPIES: usize = 32;

/// Time of a step of one FMU, s, below which the copies take longer than the FMU: 100 copies cost some 0.03 µs a step, 1000 some 0.15 µs.
const SHORT_STEP: f64 = 0.25e-6;

/// Least time that is a measurement, s.
const MEASURABLE: f64 = 0.1;

/// Advice if the copies of libraries have taken longer than the FMUs, in a run that has stepped for so long.
pub(crate) fn costly_copies(
    copied: &[(PathBuf, usize)],
    report: &Report,
    seconds: f64,
) -> Option<String> {
    let fmu_steps = report.steps as f64 * report.components.len() as f64;
    advice_on_copies(copied, fmu_steps, seconds)
}

fn advice_on_copies(copied: &[(PathBuf, usize)], fmu_steps: f64, seconds: f64) -> Option<String> {
    let (path, copies) = copied.iter().max_by_key(|(_, copies)| *copies)?;
    let step = seconds / fmu_steps;
    let is_costly = *copies >= MANY_COPIES && seconds > MEASURABLE && step < SHORT_STEP;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_costly.then(|| {
        format!(
            "{name}: {copies} instances have a copy of its library each. A step of an FMU takes {:.2} µs, most of it to fetch \
             the copies from memory. If the FMU keeps no data outside its instances, set `library = \"shared\"` in \
             `[defaults]`. If it does keep data, sharing gives wrong results",
            step * 1e6
        )
    })
}

/// A problem of the file that is not an error, with its place.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_cost_more_than_the_fmu_are_worth_a_note() {
        let copied = [("few.fmu".into(), 31), ("a/many.fmu".into(), 32)];
        let note = advice_on_copies(&copied, 1e7, 1.0).unwrap();
        assert!(note.starts_with("many.fmu: 32 instances"), "{note}");
        assert!(
            note.contains("takes 0.10 µs") && note.contains("library = \"shared\""),
            "{note}"
        );
        assert_eq!(advice_on_copies(&copied[..1], 1e7, 1.0), None);
        assert_eq!(
            advice_on_copies(&copied, 1e6, 1.0),
            None,
            "the FMUs take longer"
        );
        assert_eq!(
            advice_on_copies(&copied, 1e6, 0.05),
            None,
            "too short to say"
        );
        assert_eq!(advice_on_copies(&copied, 0.0, 1.0), None);
        assert_eq!(advice_on_copies(&[], 1e7, 1.0), None);
    }
}
