//! The response of a coupled system to a disturbance of its inputs: the difference of two runs, one with a pulse.
//!
//! The difference follows the loop that is linearised about the course of the system, without what drives it. Its modes are
//! those of the loop from one communication point to the next, whatever the units have inside: no states need to be saved.

use gyrator_system::SystemFile;

use crate::accuracy::{moves, rms};
use crate::modes::{Modes, modes};
use crate::probe::{Course, ProbeFailure, Prober, Pulse};

/// Height of the pulse over the size of the signal: less than what makes a system nonlinear, more than the tolerance of
/// the solvers of most FMUs.
const HEIGHT: f64 = 1e-3;
/// Communication points before the pulse, and after it until the pasts of extrapolations, of three values, are full
/// again.
const BEFORE: usize = 2;
const AFTER: usize = 3;

/// How the units of a system are joined, as far as a disturbance needs it.
#[derive(Debug, Clone)]
pub(crate) struct Wiring {
    /// Connections of real variables: output and input.
    pub(crate) connections: Vec<(String, String)>,
    /// Macro-steps from one communication point of all components to the next.
    pub(crate) stride: usize,
}

/// The response of the loop at one macro-step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Response {
    /// The undisturbed run.
    pub(crate) course: Course,
    /// Modes of the loop over a macro-step: a radius of 0 without a loop, `None` where they are not seen.
    pub(crate) modes: Option<Modes>,
}

/// Runs the system at so many times its macro-step, with and without a pulse, for a number of points, and macro-steps
/// at most.
pub(crate) fn response(
    prober: &mut Prober<'_>,
    system: &SystemFile,
    wiring: &Wiring,
    factor: f64,
    (points, most): (usize, usize),
) -> Result<Response, ProbeFailure> {
    let steps = ((points + BEFORE + AFTER + 1) * wiring.stride).min(most);
    let course = prober.run(system, factor, steps, None)?;
    let sources: Vec<usize> = wiring
        .connections
        .iter()
        .filter_map(|(from, _)| course.names.iter().position(|name| name == from))
        .collect();
    let pulse = Pulse {
        after: BEFORE * wiring.stride,
        length: wiring.stride,
        inputs: heights(&course, wiring, &sources),
        frozen: Vec::new(),
    };
    if pulse.inputs.is_empty() {
        return Ok(Response {
            course,
            modes: Some(Modes {
                radius: 0.0,
                longest: f64::INFINITY,
            }),
        });
    }
    let disturbed = prober.run(system, factor, steps, Some(&pulse))?;
    let modes = modes_between(&course, &disturbed, wiring.stride, &sources);
    Ok(Response { course, modes })
}

/// The pulse of each input: all of them at once, in parts that no mode is without.
fn heights(course: &Course, wiring: &Wiring, sources: &[usize]) -> Vec<(String, f64)> {
    let inputs = wiring.connections.iter().zip(sources).enumerate();
    let height = |(number, ((_, input), source)): (usize, (&(String, String), &usize))| {
        // Between 0.5 and 1.5, all of them unlike.
        let part = 0.5 + (0.618_033_988_75 * (number + 1) as f64).fract();
        let size = match rms(course, *source) {
            size if size > 0.0 => size,
            _ => 1.0,
        };
        (input.clone(), HEIGHT * part * size)
    };
    inputs.map(height).collect()
}

/// The modes over a macro-step, from the outputs that feed inputs.
fn modes_between(
    course: &Course,
    disturbed: &Course,
    stride: usize,
    sources: &[usize],
) -> Option<Modes> {
    let first = (BEFORE + 1 + AFTER) * stride;
    let mut signals: Vec<usize> = sources.to_vec();
    signals.sort_unstable();
    signals.dedup();
    // A difference of the last digits is none.
    let floor = |signal: usize| 1e-12 * rms(course, signal);
    let difference = |row: usize, signal: usize| {
        let difference = disturbed.rows[row][signal] - course.rows[row][signal];
        if difference.abs() <= floor(signal) {
            0.0
        } else {
            difference
        }
    };
    let rows: Vec<usize> = (first..course.rows.len()).step_by(stride).collect();
    let scaled: Vec<(usize, f64)> = signals
        .iter()
        .map(|signal| {
            let size = rms(course, *signal);
            let size = if moves(course, *signal) && size > 0.0 {
                size
            } else {
                1.0
            };
            (*signal, HEIGHT * size)
        })
        .collect();
    let samples: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| {
            let values = scaled.iter();
            values
                .map(|(signal, size)| difference(*row, *signal) / size)
                .collect()
        })
        .collect();
    let of_points = modes(&samples)?;
    Some(Modes {
        radius: of_points.radius.powf((stride as f64).recip()),
        ..of_points
    })
}
