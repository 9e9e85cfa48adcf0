//! The gain of the open loop: how large a signal comes back by the other units, by frequency.
//!
//! All inputs are frozen, and one of them gets a pulse in each run: the outputs are the impulse responses of each unit alone, sampled
//! at the communication points. Their sums with e^(−jωHk) are its frequency responses G(jω), as it is seen from the coupling, with
//! the hold of its inputs and the delay of the exchange. Chen et al. (2021), section 2.3: a loop is stable whatever its phases are if
//! its gain is below one at all frequencies (small gain), or if both ends of a bond are passive.

use nalgebra::{Complex, DMatrix};
use serde::Serialize;

use crate::doctor::coupling::Coupling;
use crate::doctor::disturbance::Wiring;
use crate::doctor::probe::{Course, ExamineError, ProbeFailure, Prober, Pulse};
use gyrator_system::{Port, SystemFile};

/// Points of the impulse responses, and frequencies from 0 to half the rate of the exchange: choices.
const POINTS: usize = 48;
const FREQUENCIES: usize = 64;
/// Inputs of a system whose gains are looked at, at most: each needs a run.
const MOST_INPUTS: usize = 8;
/// A unit that still answers so much of its largest answer at the last point keeps energy: its gain at a resonance has no bound.
const LASTING: f64 = 0.2;
/// Height of the pulses over the sizes of the signals: a choice, as for a [disturbance](crate::doctor::disturbance), but
/// with frozen inputs the units alone have to stay linear.
const HEIGHT: f64 = 1e-2;

/// The gain of the open loop over all frequencies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopGain {
    /// The largest spectral radius of the open loop.
    pub gain: f64,
    /// Its frequency, Hz.
    pub frequency: f64,
    /// 1 over the gain: how much larger the gain may be for the loop to be stable whatever its phases are; below one, phases decide.
    pub small_gain_margin: f64,
    /// Units keep energy: the gain at their resonances is as large as the response is long.
    pub is_lasting: bool,
    /// One for each power bond of one axis.
    pub bonds: Vec<BondMargins>,
}

/// The two ends of a bond.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BondMargins {
    /// Name of the bond.
    pub name: String,
    /// The largest product of the gains of its two ends.
    pub gain: f64,
    /// Frequency of it, Hz.
    pub frequency: f64,
    /// The least real part of the response of end a, effort by flow, over its largest magnitude: not negative if it is passive as the
    /// coupling sees it.
    pub passivity_a: f64,
    /// The same of end b, flow by effort.
    pub passivity_b: f64,
}

/// The impulse responses of all outputs to each input.
struct Responses {
    names: Vec<String>,
    /// By input: a row for each point, with a value for each output.
    of_input: Vec<Vec<Vec<f64>>>,
}

/// Measures the gains of the loop; `None` if that cannot be done with this system, or no steps are left.
pub(crate) fn loop_gain(
    prober: &mut Prober<'_>,
    system: &SystemFile,
    wiring: &Wiring,
    step: f64,
) -> Result<Option<LoopGain>, ExamineError> {
    let inputs = wiring.connections.len();
    let length = (POINTS + 3) * wiring.stride;
    let cost = (inputs + 1) * length;
    if inputs == 0 || inputs > MOST_INPUTS || cost as f64 > prober.left() {
        return Ok(None);
    }
    let responses = match responses(prober, system, wiring, length) {
        Ok(responses) => responses,
        Err(ProbeFailure::Interrupted) => return Err(ExamineError::Interrupted),
        Err(_) => return Ok(None),
    };
    let interval = wiring.stride as f64 * step;
    let open_loop = |turn: f64| {
        let source = |input: usize| responses.output(&wiring.connections[input].0);
        DMatrix::from_fn(inputs, inputs, |to, by| match source(to) {
            Some(output) => {
                factor(system, &wiring.connections[to]) * responses.at(by, output, turn)
            }
            None => Complex::new(0.0, 0.0),
        })
    };
    let mut greatest = (0.0, 0.0);
    for turn in turns() {
        let eigenvalues = open_loop(turn).schur().eigenvalues();
        let values = eigenvalues.iter().flat_map(|values| values.iter());
        let radius = values.map(|value| value.norm()).fold(0.0, f64::max);
        if radius > greatest.0 {
            greatest = (radius, frequency(turn, interval));
        }
    }
    Ok(Some(LoopGain {
        gain: greatest.0,
        frequency: greatest.1,
        small_gain_margin: greatest.0.recip(),
        is_lasting: responses.last(),
        bonds: bonds(system, wiring, &responses, interval),
    }))
}

/// Angles from one point to the next, up to half a turn.
fn turns() -> impl Iterator<Item = f64> {
    (0..=FREQUENCIES).map(|index| std::f64::consts::PI * index as f64 / FREQUENCIES as f64)
}

fn frequency(turn: f64, interval: f64) -> f64 {
    turn / (2.0 * std::f64::consts::PI * interval)
}

/// Factor of a connection outside of bonds. The gain of a bond is its power's.
fn factor(system: &SystemFile, (from, to): &(String, String)) -> f64 {
    let is = |port: &Port, name: &str| format!("{}.{}", port.component, port.variable) == name;
    let mut connections = system.connections.iter();
    let found = connections.find(|found| is(&found.from.value, from) && is(&found.to.value, to));
    let gain = found.and_then(|connection| connection.gain.as_ref());
    gain.map_or(1.0, |gain| gain.value)
}

fn responses(
    prober: &mut Prober<'_>,
    system: &SystemFile,
    wiring: &Wiring,
    length: usize,
) -> Result<Responses, ProbeFailure> {
    // Each unit by itself: outputs as its step leaves them.
    let plain = Coupling {
        method: Some("jacobi".to_owned()),
        exchange: Some("stale".to_owned()),
        extrapolation: Some("hold".to_owned()),
        correction: Some("off".to_owned()),
        ..Coupling::default()
    };
    let system = plain.applied(system);
    let frozen: Vec<String> = wiring
        .connections
        .iter()
        .map(|(_, to)| to.clone())
        .collect();
    let pulse = |inputs: Vec<(String, f64)>| Pulse {
        after: 2 * wiring.stride,
        length: wiring.stride,
        inputs,
        frozen: frozen.clone(),
    };
    let base = prober.run(&system, 1.0, length, Some(&pulse(Vec::new())))?;
    let mut of_input = Vec::new();
    for (from, to) in &wiring.connections {
        let output = base.names.iter().position(|name| name == from);
        let size = output.map_or(0.0, |output| crate::doctor::accuracy::rms(&base, output));
        let height = HEIGHT * if size > 0.0 { size } else { 1.0 };
        let found = prober.run(
            &system,
            1.0,
            length,
            Some(&pulse(vec![(to.clone(), height)])),
        )?;
        of_input.push(difference(&found, &base, wiring.stride, height));
    }
    Ok(Responses {
        names: base.names,
        of_input,
    })
}

/// The response to a pulse of one, from the point after it on.
fn difference(found: &Course, base: &Course, stride: usize, height: f64) -> Vec<Vec<f64>> {
    let rows = found.rows.iter().zip(&base.rows);
    let rows = rows.skip(3 * stride).step_by(stride);
    let row = |(found, base): (&Vec<f64>, &Vec<f64>)| {
        let values = found.iter().zip(base);
        values
            .map(|(found, base)| (found - base) / height)
            .collect()
    };
    rows.map(row).collect()
}

impl Responses {
    fn output(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|output| output == name)
    }

    /// The frequency response of an output to an input; the first point is one communication step after the pulse began.
    fn at(&self, input: usize, output: usize, turn: f64) -> Complex<f64> {
        let rows = self.of_input[input].iter().enumerate();
        let terms = rows
            .map(|(point, row)| Complex::from_polar(1.0, -turn * (point + 1) as f64) * row[output]);
        terms.sum()
    }

    /// Whether an answer has not died away.
    fn last(&self) -> bool {
        let outputs = 0..self.names.len();
        let mut pairs =
            outputs.flat_map(|output| self.of_input.iter().map(move |rows| (output, rows)));
        pairs.any(|(output, rows)| {
            let size = |rows: &[Vec<f64>]| {
                let values = rows.iter().map(|row| row[output].abs());
                values.fold(0.0, f64::max)
            };
            let whole = size(rows);
            whole > 0.0 && size(&rows[rows.len() * 3 / 4..]) > LASTING * whole
        })
    }
}

fn bonds(
    system: &SystemFile,
    wiring: &Wiring,
    responses: &Responses,
    interval: f64,
) -> Vec<BondMargins> {
    let name = |port: &Port| format!("{}.{}", port.component, port.variable);
    let input = |port: &Port| {
        let to = name(port);
        wiring
            .connections
            .iter()
            .position(|connection| connection.1 == to)
    };
    let mut found = Vec::new();
    for bond in &system.bonds {
        let ([effort], [flow]) = (&bond.effort[..], &bond.flow[..]) else {
            continue;
        };
        let (Some(effort_input), Some(flow_input)) =
            (input(&effort.to.value), input(&flow.to.value))
        else {
            continue;
        };
        let outputs =
            [&effort.from.value, &flow.from.value].map(|port| responses.output(&name(port)));
        let [Some(effort_output), Some(flow_output)] = outputs else {
            continue;
        };
        let sense = bond.sense.value;
        // End a takes −sense·effort·flow, end b sense·effort·flow.
        let ends = |turn: f64| {
            let a = responses.at(flow_input, effort_output, turn) * -sense;
            let b = responses.at(effort_input, flow_output, turn) * sense;
            (a, b)
        };
        let mut margins = BondMargins {
            name: bond.name.value.clone(),
            gain: 0.0,
            frequency: 0.0,
            passivity_a: f64::INFINITY,
            passivity_b: f64::INFINITY,
        };
        let mut greatest = (0.0_f64, 0.0_f64);
        for turn in turns() {
            let (a, b) = ends(turn);
            let gain = a.norm() * b.norm();
            if gain > margins.gain {
                (margins.gain, margins.frequency) = (gain, frequency(turn, interval));
            }
            margins.passivity_a = margins.passivity_a.min(a.re);
            margins.passivity_b = margins.passivity_b.min(b.re);
            greatest = (greatest.0.max(a.norm()), greatest.1.max(b.norm()));
        }
        if greatest.0 > 0.0 && greatest.1 > 0.0 {
            margins.passivity_a /= greatest.0;
            margins.passivity_b /= greatest.1;
            found.push(margins);
        }
    }
    found
}
