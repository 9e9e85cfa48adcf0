//! Oscillators, pendula and crane of Rodríguez et al. (2022), coupled with and without the energy
//! correction, against their reference solutions.
//!
//! The numbers are those of an independent reproduction of the paper in Python: T = 10 s, H = 1 ms
//! unless said otherwise, reference solutions by eigenvalues or by DOP853 at 1e-12. Uncorrected
//! runs have to meet them to 1e-6; corrected ones to 1e-4, as the correction divides by a velocity
//! that passes zero. Rows with a wider tolerance say why.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod crane;
mod cranes;
mod oscillators;
mod pendula;

use gyrator::{RunOptions, System};
use gyrator_benchmark::reference::Reference;
use gyrator_testkit::Trace;

/// How a system is coupled.
#[derive(Clone, Copy)]
struct Coupling<'a> {
    exchange: &'a str,
    correction: &'a [(&'a str, f64)],
}

const UNCORRECTED: Coupling<'_> = Coupling {
    exchange: "stale",
    correction: &[],
};
const MONOLITHIC: Coupling<'_> = Coupling {
    exchange: "fresh",
    correction: &[],
};

const fn corrected<'a>(correction: &'a [(&'a str, f64)]) -> Coupling<'a> {
    Coupling {
        exchange: "stale",
        correction,
    }
}

fn run(mut system: System, stop_time: f64) -> Trace {
    system.stop_time(stop_time);
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    trace
}

/// The rows of the named columns.
fn rows<const N: usize>(trace: &Trace, names: [&str; N]) -> Vec<[f64; N]> {
    let columns = names.map(|name| trace.column(name));
    let count = columns[0].len();
    (0..count)
        .map(|row| std::array::from_fn(|column| columns[column][row]))
        .collect()
}

/// The reference solution on the communication points, 0 to 10 s.
fn exact(system: &impl Reference, step: f64) -> Vec<Vec<f64>> {
    let points = (10.0 / step).round() as u32;
    let times: Vec<f64> = (0..=points).map(|k| f64::from(k) * step).collect();
    system.states_at(&times).unwrap()
}

fn rms(errors: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = errors.len() as f64;
    (errors.map(|error| error * error).sum::<f64>() / count).sqrt()
}

/// Error of the energy at the end, greatest error, mean error over the last second, J.
fn energy_errors(
    system: &impl Reference,
    states: &[Vec<f64>],
    exact: &[Vec<f64>],
    step: f64,
) -> [f64; 3] {
    let pairs = states.iter().zip(exact);
    let errors: Vec<f64> = pairs
        .map(|(state, exact)| system.energy(state) - system.energy(exact))
        .collect();
    let last = &errors[errors.len() - 1 - (1.0 / step).round() as usize..];
    [
        errors[errors.len() - 1],
        errors.iter().fold(0.0, |max, error| error.abs().max(max)),
        last.iter().sum::<f64>() / last.len() as f64,
    ]
}

#[track_caller]
fn expect<const N: usize>(name: &str, measured: [f64; N], expected: [f64; N], tolerance: f64) {
    for (measured, expected) in measured.into_iter().zip(expected) {
        assert!(
            (measured - expected).abs() <= tolerance * expected.abs(),
            "{name}: {measured} instead of {expected}"
        );
    }
}
