//! Two pendula with a spring between their tips: Rodríguez et al. (2022), section 4.3, table 4.
//!
//! Absolute coordinates, so that the bond has two axes, force and velocity in x and y, whose powers
//! add up. Step 1 ms, 10 s. Rows: error of the energy and of both tips, mean residual power, share
//! of steps in which the coupling makes energy, share of the excess energy that the correction
//! removes (ν = 1, as in the paper). Limit: figure 33 of the paper could not be reproduced
//! (docs/benchmarks.md).

use gyrator_system::{SystemFile, Value};

use crate::assembly::{
    Assembly, COMPENSATED, Configuration, FRESH, Place, REFINED, REFINEMENT, STALE,
};
use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::figures;
use crate::metrics::{ENERGY_END, ENERGY_LAST, ENERGY_MAX, energy_metrics, rms};
use crate::recording::Recording;
use crate::reference::{CoupledPendula, Reference};
use crate::role::{Role, RoleAssignment, RoleError};
use crate::row::{BenchmarkRow, Metric};

const FIRST: Role = Role {
    name: "pendulum-force",
    model: "PendulumForce",
    summary: "a point mass on a massless rod, with the spring from its tip to tip 2",
    ports: &["x2", "y2", "vx2", "vy2", "fx", "fy", "x", "y", "vx", "vy"],
    parameters: &["k", "c"],
};

const SECOND: Role = Role {
    name: "pendulum-motion",
    model: "PendulumMotion",
    summary: "a point mass on a massless rod, with a force at its tip",
    ports: &["fx", "fy", "x", "y", "vx", "vy"],
    parameters: &[],
};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "pendula",
    summary: "two pendula in absolute coordinates with a spring between their tips: a bond of two axes",
    source: "Rodríguez et al. 2022, section 4.3, table 4",
    roles: &[FIRST, SECOND],
    cases: &[
        Case::new("1", "spring of 6 N/m"),
        Case::new("2", "spring of 50 N/m"),
    ],
    measure,
    figures: figures::pendula::figures,
    conclude: nothing_more,
};

/// The correction needs the whole of its integral term, as the paper says.
pub(crate) const CORRECTED: Configuration =
    Configuration::corrected("corrected", &[("mu", 0.5), ("nu", 1.0)]);
const CORRECTED_WITHOUT: Configuration =
    Configuration::corrected("corrected, nu 0", &[("mu", 0.5)]);

const PAPER: &str = "Rodríguez et al. 2022, section 4.3";

const TIP_2: Metric = Metric::mean_error("rms tip 2", "m");
const TIP_1: Metric = Metric::mean_error("rms tip 1", "m");
const MEAN_POWER: Metric = Metric::figure("mean residual power", "W");
const POSITIVE: Metric = Metric::figure("steps with residual power > 0", "%");
const REMOVED: Metric = Metric::figure("excess energy removed", "%");

const STOP: f64 = 10.0;
pub(crate) const H: f64 = 1e-3;

/// The pendula of a case.
pub(crate) fn table_4(case: &str) -> CoupledPendula {
    CoupledPendula::table_4(if case == "1" { 6.0 } else { 50.0 })
}

/// The coupled system, and the recorded names of x, y, vx, vy of tip 1 and tip 2.
pub(crate) fn system(
    roles: &RoleAssignment,
    pendula: &CoupledPendula,
    configuration: &Configuration,
    step: f64,
) -> Result<(SystemFile, Vec<String>), RoleError> {
    let mut assembly = Assembly::new(roles, step, STOP);
    let place = |name, role, exchange| Place {
        name,
        role,
        step,
        inner_step: step,
        extrapolation: "hold",
        exchange,
    };
    let parameters = [("k", Value::Real(pendula.k)), ("c", Value::Real(pendula.c))];
    assembly.add(place("first", &FIRST, configuration.exchange), &parameters)?;
    assembly.add(place("second", &SECOND, STALE.exchange), &[])?;
    assembly.connect("second.x", "first.x2");
    assembly.connect("second.y", "first.y2");
    let axes = [
        [("first.fx", "second.fx"), ("second.vx", "first.vx2")],
        [("first.fy", "second.fy"), ("second.vy", "first.vy2")],
    ];
    assembly.bond("tips", &axes, configuration);
    let ports = ["x", "y", "vx", "vy"];
    let names = ["first", "second"]
        .into_iter()
        .flat_map(|tip| ports.map(|port| format!("{tip}.{port}")));
    let names = names.map(|name| assembly.variable(&name)).collect();
    Ok((assembly.into_file(), names))
}

fn times(step: f64) -> Vec<f64> {
    let steps = (STOP / step).round() as u32;
    (0..=steps).map(|index| f64::from(index) * step).collect()
}

/// Error of the energy at each time, J, of tips x, y, vx, vy of pendulum 1 and of pendulum 2.
pub(crate) fn energy_errors(
    pendula: &CoupledPendula,
    states: &[Vec<f64>],
    exact: &[Vec<f64>],
) -> Vec<f64> {
    let pairs = states.iter().zip(exact);
    pairs
        .map(|(state, exact)| pendula.energy_of_tips(state) - pendula.energy(exact))
        .collect()
}

/// The energy's error at the end, greatest, over the last second, J; rms distance of tip 2 and of
/// tip 1 from where they should be, m.
fn metrics(
    pendula: &CoupledPendula,
    states: &[Vec<f64>],
    exact: &[Vec<f64>],
    step: f64,
) -> [f64; 5] {
    let errors = energy_errors(pendula, states, exact);
    let [end, max, last] = energy_metrics(&times(step), &errors);
    let tip = |index: usize| {
        rms(states.iter().zip(exact).map(|(state, exact)| {
            let [x, y] = pendula.tips(exact)[index];
            (state[4 * index] - x).hypot(state[4 * index + 1] - y)
        }))
    };
    [end, max, last, tip(1), tip(0)]
}

fn metric_rows(measured: [f64; 5]) -> impl Iterator<Item = BenchmarkRow> {
    let metrics = [ENERGY_END, ENERGY_MAX, ENERGY_LAST, TIP_2, TIP_1];
    metrics
        .into_iter()
        .zip(measured)
        .map(|(metric, measured)| BenchmarkRow::new(metric, measured))
}

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let pendula = table_4(case.name);
    let exact = pendula.states_at(&times(H))?;
    let mut excess = f64::NAN;
    for configuration in [STALE, CORRECTED, CORRECTED_WITHOUT, COMPENSATED, FRESH] {
        let (file, names) = system(roles, &pendula, &configuration, H)?;
        let recording = Recording::of(roles, file)?;
        let measured = metrics(&pendula, &recording.rows(&names)?, &exact, H);
        progress.add(configuration.name, metric_rows(measured));
        if configuration == STALE {
            excess = measured[0];
            progress.add(STALE.name, power_rows(&recording));
        } else if configuration == CORRECTED {
            let note = "the paper says that the correction removes the excess energy (fig. 33)";
            let removed = 100.0 * (1.0 - measured[0] / excess);
            progress.add(
                CORRECTED.name,
                [BenchmarkRow::new(REMOVED, removed)
                    .beside(100.0, PAPER)
                    .note(note)],
            );
        }
    }
    let monolithic = pendula.symplectic_euler(&times(H));
    let measured = metrics(&pendula, &monolithic, &exact, H);
    progress.add("monolithic", metric_rows(measured));
    if progress.is_foreign() {
        let step = H / REFINEMENT;
        let (file, names) = system(roles, &pendula, &REFINED, step)?;
        let states = Recording::of(roles, file)?.rows(&names)?;
        let measured = metrics(&pendula, &states, &pendula.states_at(&times(step))?, step);
        progress.add(REFINED.name, metric_rows(measured));
    }
    Ok(())
}

/// "Remains above zero", says the paper of the residual power.
fn power_rows(recording: &Recording) -> [BenchmarkRow; 2] {
    let power = &recording.bonds[0].residual_power[1..];
    let steps = power.len() as f64;
    let mean = power.iter().sum::<f64>() / steps;
    let positive = 100.0 * power.iter().filter(|power| **power > 0.0).count() as f64 / steps;
    [
        BenchmarkRow::new(MEAN_POWER, mean),
        BenchmarkRow::new(POSITIVE, positive),
    ]
}
