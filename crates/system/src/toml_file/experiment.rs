//! `[experiment]`: when and how the system is run.

use super::section::{Reader, Section};
use crate::problem::{Problem, Spanned};
use crate::system_file::{Experiment, Tolerance, Value};

pub(super) fn read(mut section: Section<'_>, reader: &mut Reader) -> Experiment {
    let start_time = section.number("start_time", reader);
    let stop_time = section.number("stop_time", reader);
    let duration = section.number("duration", reader);
    let experiment = Experiment {
        stop_time: stop_or_duration(start_time.as_ref(), stop_time, duration, reader),
        start_time,
        step_size: section.number("step_size", reader),
        tolerance: tolerance(&mut section, reader),
        method: section.choice("method", reader),
        exchange: section.text("exchange", reader),
        step_control: section.choice("step_control", reader),
        extrapolation: section.choice("extrapolation", reader),
        scenario: section
            .text("scenario", reader)
            .map(|path| Spanned::new(path.value.into(), path.span)),
    };
    section.finish(reader);
    experiment
}

/// A number, or the word for none.
fn tolerance(section: &mut Section<'_>, reader: &mut Reader) -> Option<Spanned<Tolerance>> {
    const KEY: &str = "tolerance";
    const EXPECTED: &str = "a number or \"none\"";
    let given = section.take(KEY)?;
    let found = reader.scalar(KEY, EXPECTED, given)?;
    let tolerance = match found.value {
        Value::Real(number) => Some(Tolerance::Relative(number)),
        Value::Integer(number) => Some(Tolerance::Relative(number as f64)),
        Value::String(word) if word == Tolerance::NONE => Some(Tolerance::Off),
        Value::String(_) | Value::Boolean(_) => None,
    };
    if tolerance.is_none() {
        reader.wrong_type(KEY, EXPECTED, given);
    }
    tolerance.map(|tolerance| Spanned::new(tolerance, found.span))
}

/// A duration is another way to write the stop time: it counts from `start_time`, or from 0 s.
fn stop_or_duration(
    start: Option<&Spanned<f64>>,
    stop: Option<Spanned<f64>>,
    duration: Option<Spanned<f64>>,
    reader: &mut Reader,
) -> Option<Spanned<f64>> {
    let Some(duration) = duration else {
        return stop;
    };
    if stop.is_some() {
        let message = "`duration` and `stop_time` are both given";
        reader.problems.push(
            Problem::error("stop-time-given-twice", message)
                .at(&duration.span)
                .help("keep one of the two"),
        );
        return stop;
    }
    let start = start.map_or(0.0, |start| start.value);
    Some(Spanned::new(start + duration.value, duration.span))
}
