//! The dual mass-spring-damper of Chen et al. (2021), section 4.1.
//!
//! Two masses step by 1 ms and exchange velocity and force every 50 ms, with hold, polynomials or
//! H∞ coupling. Rows: spectral radius of a macro-step, errors after pulses of 1, 50 and 200 ms on
//! four systems, and counts of unstable and inaccurate ones among 2000. The same systems run as
//! FMUs under the engine. Limit: the paper's ranges of the random systems are not public, so no
//! count is the paper's.

mod coupling;
mod engine;
mod fmus;
mod methods;
mod stability;
mod system;

use gyrator_system::SystemFile;
use rayon::prelude::*;

use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::figures;
use crate::role::{RoleAssignment, RoleError};
use crate::row::{BenchmarkRow, Metric};
use coupling::{Coupling, errors};
use engine::{measure_fmus, measure_one_sided};
use fmus::{FORCE as FORCE_SIDE, FmuPool, Setup, VELOCITY as VELOCITY_SIDE};
use methods::{Designs, METHODS, Method, PULSES, THRESHOLDS};
pub(crate) use system::MICRO_STEP;
use system::{Course, DualMass};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "dual-mass",
    summary: "two masses in steps of 1 ms that exchange velocity and force every 50 ms: H-infinity coupling",
    source: "Chen et al. 2021, section 4.1; parameters of the random systems are a stand-in for its table 2",
    roles: &[FORCE_SIDE, VELOCITY_SIDE],
    cases: &[
        Case::new("1", "the weakly damped system of figure 7"),
        Case::new("2", "the strongly damped system of figure 8"),
        Case::new("3", "the stiff system with a small mass 1 of figure 9"),
        Case::new("4", "the stiff system with a small mass 2 of figure 10"),
        Case::new(
            "random",
            "2000 random systems: how many are unstable, and how many inaccurate",
        ),
        Case::new(
            "fmus",
            "FMUs under the engine: held and compensated, the same courses as in one process, micro-step by micro-step",
        ),
        Case::new(
            "one-sided",
            "the 2000 random systems as FMUs, the velocity compensated and the force held and fresh",
        ),
    ],
    measure,
    figures: figures::dual_mass::figures,
    conclude: nothing_more,
};

/// Start values of the FMUs in [`dual_mass_systems`], as a study file names them.
pub const DUAL_MASS_PARAMETERS: [&str; 8] = [
    "force.m",
    "force.k",
    "force.d",
    "force.k_c",
    "force.d_c",
    "velocity.m",
    "velocity.k",
    "velocity.d",
];

/// The 2000 random systems of the benchmark `dual-mass`: values of [`DUAL_MASS_PARAMETERS`], in SI units.
#[must_use]
pub fn dual_mass_systems() -> Vec<[f64; 8]> {
    let values = |system: DualMass| {
        let DualMass { m, k, k_c, d_c, d } = system;
        [m[0], k[0], d[0], k_c, d_c, m[1], k[1], d[1]]
    };
    DualMass::random(COUNT).into_iter().map(values).collect()
}

/// The system of a figure, from 0, with pulses of 200 ms and the couplings that the engine has of the paper's.
pub(crate) fn published_files(
    roles: &RoleAssignment,
    figure: usize,
) -> Result<Vec<(&'static str, SystemFile)>, RoleError> {
    let pool = FmuPool::new(roles);
    let names = ["hold, stale", "h-infinity, stale"];
    let setups = names
        .into_iter()
        .filter_map(|name| Some((name, Setup::of(name, MICRO_STEP)?)));
    let file = |(name, setup)| Ok((name, pool.pulsed(&DualMass::FIGURES[figure], &setup, 200)?));
    setups.map(file).collect()
}

const RADIUS: Metric = Metric::figure("spectral radius", "");
const VELOCITY: Metric = Metric::error("NRMS of v, 200 ms", "");
const FORCE: Metric = Metric::error("NRMS of F, 200 ms", "");
const UNSTABLE: Metric = Metric::figure("unstable systems", "");

/// Systems with an error above a threshold, pulse by pulse.
#[rustfmt::skip]
const INACCURATE: [[&str; 5]; 3] = [
    ["error > 0.05, 1 ms", "error > 0.1, 1 ms", "error > 0.2, 1 ms", "error > 0.3, 1 ms", "error > 0.5, 1 ms"],
    ["error > 0.05, 50 ms", "error > 0.1, 50 ms", "error > 0.2, 50 ms", "error > 0.3, 50 ms", "error > 0.5, 50 ms"],
    ["error > 0.05, 200 ms", "error > 0.1, 200 ms", "error > 0.2, 200 ms", "error > 0.3, 200 ms", "error > 0.5, 200 ms"],
];

/// Number of random systems.
const COUNT: usize = 2000;
/// A spectral radius above this is unstable.
const STABLE: f64 = 1.0 + 1e-7;

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let designs = Designs::new()?;
    match (case.name, case.name.parse::<usize>()) {
        (_, Ok(number)) => measure_figure(number - 1, &designs, progress),
        ("fmus", _) => return measure_fmus(roles, &designs, progress),
        ("one-sided", _) => return measure_one_sided(roles, progress),
        _ => measure_random(&designs, progress),
    }
    Ok(())
}

fn measure_figure(index: usize, designs: &Designs, progress: &Progress<'_>) {
    const PULSE: usize = 200;
    let system = &DualMass::FIGURES[index];
    let reference = system.reference(PULSE);
    for method in METHODS {
        let coupling = method.coupling(designs);
        let [velocity, force] = errors(&coupling.clone().course(system, PULSE), &reference);
        let rows = [
            BenchmarkRow::new(RADIUS, coupling.spectral_radius(system)),
            BenchmarkRow::new(VELOCITY, velocity),
            BenchmarkRow::new(FORCE, force),
        ];
        progress.add(method.name, rows);
    }
}

/// Result of a random system with a coupling.
struct Trial {
    is_unstable: bool,
    /// Greater one of the errors of velocity and force, pulse by pulse.
    errors: [f64; 3],
}

impl Trial {
    fn new(system: &DualMass, coupling: &Coupling, references: &[Course; 3]) -> Self {
        let error = |pulse: usize| {
            let course = coupling.clone().course(system, PULSES[pulse]);
            let [velocity, force] = errors(&course, &references[pulse]);
            velocity.max(force)
        };
        let radius = coupling.clone().spectral_radius(system);
        Self {
            is_unstable: radius.is_nan() || radius > STABLE,
            errors: std::array::from_fn(error),
        }
    }
}

fn measure_random(designs: &Designs, progress: &Progress<'_>) {
    let systems = DualMass::random(COUNT);
    let couplings: Vec<Coupling> = METHODS
        .iter()
        .map(|method| method.coupling(designs))
        .collect();
    let trials_of = |system: &DualMass| -> Vec<Trial> {
        let references = PULSES.map(|pulse| system.reference(pulse));
        let trial = |coupling| Trial::new(system, coupling, &references);
        couplings.iter().map(trial).collect()
    };
    let trials: Vec<Vec<Trial>> = systems.par_iter().map(trials_of).collect();
    for (index, method) in METHODS.iter().enumerate() {
        let of_method: Vec<&Trial> = trials.iter().map(|trials| &trials[index]).collect();
        progress.add(method.name, counts(&of_method));
    }
}

fn counts(trials: &[&Trial]) -> Vec<BenchmarkRow> {
    let count = |is_meant: &dyn Fn(&Trial) -> bool| {
        trials.iter().filter(|trial| is_meant(trial)).count() as f64
    };
    let unstable = count(&|trial| trial.is_unstable);
    let mut rows = vec![BenchmarkRow::new(UNSTABLE, unstable)];
    for (pulse, names) in INACCURATE.into_iter().enumerate() {
        for (threshold, name) in names.into_iter().enumerate() {
            let limit = THRESHOLDS[threshold];
            let above = |trial: &Trial| trial.errors[pulse] > limit;
            rows.push(BenchmarkRow::new(Metric::figure(name, ""), count(&above)));
        }
    }
    rows
}

/// Time, s, and coupling force, N, of the system of a figure with pulses of 200 ms, by the name of the
/// method; nothing if no method has that name.
pub(crate) fn figure_course(index: usize, method: &str) -> Result<Vec<(f64, f64)>, MeasureError> {
    let designs = Designs::new()?;
    let method = METHODS.iter().find(|known| known.name == method);
    let course = |method: &Method| {
        let coupling = method.coupling(&designs);
        forces(&coupling.course(&DualMass::FIGURES[index], 200))
    };
    Ok(method.map(course).unwrap_or_default())
}

/// The same of the system as a whole.
pub(crate) fn figure_reference(index: usize) -> Vec<(f64, f64)> {
    forces(&DualMass::FIGURES[index].reference(200))
}

fn forces(course: &Course) -> Vec<(f64, f64)> {
    let times = (0..).map(|step| f64::from(step) * MICRO_STEP);
    times
        .zip(course)
        .map(|(time, [_, force])| (time, *force))
        .collect()
}
