//! The response of a coupled system to a disturbance of its inputs: the difference of two whole runs, one with a pulse.
//!
//! The difference follows the loop that is linearised about the course of the system, without what drives it. Its modes are
//! the modes of the loop from one communication point to the next, whatever the units have inside: no states need to be
//! saved.

use gyrator_system::SystemFile;

use crate::doctor::accuracy::root_mean_square;
use crate::doctor::modes::{Modes, modes};
use crate::doctor::probe::{Course, EarlyEnd, ProbeFailure, Prober, Pulse, Whole};

/// Height of the pulse over the size of the signal: less than what makes a system nonlinear, more than the tolerance of
/// the solvers of most FMUs.
const HEIGHT: f64 = 1e-3;
/// Communication points before the pulse, and after it until the pasts of extrapolations, of three values, are full
/// again.
const BEFORE: usize = 2;
const AFTER: usize = 3;
/// The pulse takes one part in so many of the run: a shorter one hardly moves slow units, and its response is still growing
/// when it is over.
const PULSE: usize = 16;
/// Points of the response that show its modes.
const POINTS: usize = 90;

/// How the units of a system are joined, as far as a disturbance needs it.
#[derive(Debug, Clone)]
pub(crate) struct Wiring {
    /// Connections of real variables: output and input.
    pub(crate) connections: Vec<(String, String)>,
    /// Macro-steps from one communication point of all components to the next.
    pub(crate) stride: usize,
    /// Names of the outputs that come back to their components.
    pub(crate) looped: Vec<String>,
}

impl Wiring {
    pub(crate) fn has_loop(&self) -> bool {
        !self.looped.is_empty()
    }
}

/// Two whole runs at one macro-step, one of them with a pulse.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    /// The run without the pulse.
    pub(crate) plain: Whole,
    /// Why one of them failed, other than by values that are not finite.
    pub(crate) failure: Option<String>,
    /// The disturbance at the start, and in the last quarter of the run: root of the mean square over the looped signals, each
    /// over its size and the height of the pulse. Infinite if a run ended in values that are not finite.
    pub(crate) start: f64,
    pub(crate) late: f64,
    /// Modes of the loop over a macro-step, if they are seen: a radius of 0 if nothing comes back.
    pub(crate) modes: Option<Modes>,
}

impl Pair {
    /// How much the disturbance grows, with what it is at the start in the less violent of two pairs.
    pub(crate) fn growth(&self, start: f64) -> f64 {
        self.late / start.min(self.start).max(1.0)
    }
}

/// Runs the system at so many times its macro-step, with and without a pulse, for some macro-steps, and keeps each n-th row.
pub(crate) fn pair(
    prober: &mut Prober<'_>,
    system: &SystemFile,
    wiring: &Wiring,
    factor: f64,
    (steps, every): (usize, usize),
) -> Result<Pair, ProbeFailure> {
    let plain = prober.whole(system, factor, (steps, every), None)?;
    let sources: Vec<Option<usize>> = wiring
        .connections
        .iter()
        .map(|(from, _)| plain.course.names.iter().position(|name| name == from))
        .collect();
    let sizes: Vec<f64> = (0..plain.course.names.len())
        .map(|signal| size(&plain.course, signal))
        .collect();
    let length = (steps / PULSE / wiring.stride).max(1) * wiring.stride;
    let pulse = Pulse {
        after: BEFORE * wiring.stride,
        length,
        inputs: heights(wiring, &sources, &sizes),
        frozen: Vec::new(),
    };
    let disturbed = prober.whole(system, factor, (steps, every), Some(&pulse))?;
    let ends = [&plain.early_end, &disturbed.early_end];
    let failure = ends.into_iter().flatten().find_map(|end| match end {
        EarlyEnd::Failed(text) => Some(text.clone()),
        EarlyEnd::NotFinite(_) => None,
    });
    let scales: Vec<(usize, f64)> = plain
        .looped
        .iter()
        .map(|signal| (*signal, HEIGHT * sizes[*signal]))
        .collect();
    let samples = differences(&plain.course, &disturbed.course, &scales);
    let end_of_pulse = pulse.after + length;
    let window = |from: usize, to: usize| {
        let rows = samples.get(from..to.min(samples.len()));
        root_mean_square(rows.unwrap_or_default().iter().flatten().copied())
    };
    // What the pulse moves by force, and what is left of that: of a slow mode that grows, hardly anything is in the first.
    let [forced, free] = [(0, 2), (2, 4)].map(|(from, to)| {
        let row = |lengths: usize| (pulse.after + lengths * length).div_ceil(every);
        window(row(from), row(to) + 1)
    });
    let start = if free > 0.0 { forced.min(free) } else { forced };
    let rows = steps / every + 1;
    let late = match ends.iter().any(|end| end.is_some()) {
        true => f64::INFINITY,
        false => window(rows - rows.div_ceil(4), rows),
    };
    let after = (end_of_pulse + AFTER * wiring.stride).min(samples.len());
    let free: Vec<Vec<f64>> = samples[after..]
        .iter()
        .step_by(wiring.stride)
        .take(POINTS)
        .cloned()
        .collect();
    let of_points = if every == 1 { modes(&free) } else { None };
    Ok(Pair {
        plain,
        failure,
        start,
        late,
        modes: of_points.map(|found| Modes {
            radius: found.radius.powf((wiring.stride as f64).recip()),
            ..found
        }),
    })
}

/// The size of a signal: in the first quarter, since a signal that explodes later cannot be a measure; over the whole run if
/// it rests there.
fn size(course: &Course, signal: usize) -> f64 {
    let of = |rows: &[Vec<f64>]| root_mean_square(rows.iter().map(|row| row[signal]));
    let rows = &course.rows;
    let sizes = [of(&rows[..rows.len().div_ceil(4)]), of(rows)];
    let size = sizes
        .into_iter()
        .find(|size| *size > 0.0 && size.is_finite());
    size.unwrap_or(1.0)
}

/// The pulse of each input: all of them at once, in parts that no mode is without.
fn heights(wiring: &Wiring, sources: &[Option<usize>], sizes: &[f64]) -> Vec<(String, f64)> {
    let inputs = wiring.connections.iter().zip(sources).enumerate();
    let height = |(number, ((_, input), source)): (usize, (&(String, String), &Option<usize>))| {
        // Between 0.5 and 1.5, all of them unlike.
        let part = 0.5 + (0.618_033_988_75 * (number + 1) as f64).fract();
        Some((input.clone(), HEIGHT * part * sizes[(*source)?]))
    };
    inputs.filter_map(height).collect()
}

/// The differences of two runs, over their scales; less than the last digits of a signal is nothing.
fn differences(plain: &Course, disturbed: &Course, scales: &[(usize, f64)]) -> Vec<Vec<f64>> {
    let rows = plain.rows.iter().zip(&disturbed.rows);
    let row = |(plain, disturbed): (&Vec<f64>, &Vec<f64>)| {
        let values = scales.iter().map(|(signal, scale)| {
            let difference = (disturbed[*signal] - plain[*signal]) / scale;
            let rounding = 1e-12 * plain[*signal].abs() / scale;
            if difference.abs() <= rounding {
                0.0
            } else {
                difference
            }
        });
        values.collect()
    };
    rows.map(row).collect()
}
