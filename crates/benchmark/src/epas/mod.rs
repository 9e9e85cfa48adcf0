//! An electric power steering and a vehicle: a stand-in for Chen et al. (2021), section 4.2.
//!
//! Steering with friction and vehicle exchange velocity and force every 20 ms; with tie rods of
//! three stiffnesses, linear extrapolation is accurate, rings, and is unstable. Rows: NRMS of the
//! column angle, rack velocity, yaw rate and lateral velocity for each coupling against the system
//! in one. Limit: the parameters of the paper (table 5), its vehicle and its control unit are not
//! public.

mod fmus;
mod system;

use fmu_models::TieRod;
use gyrator::h_infinity::{Design, Specification};
use rayon::prelude::*;

use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::channel::Channel;
use crate::figures;
use crate::metrics::{distance, greatest, nrms};
use crate::role::RoleAssignment;
use crate::row::{Bar, BenchmarkRow, Metric};
use fmus::{CONTROLLER, STEERING, Setup, VEHICLE, course};
use system::{Manoeuvre, Sample, TO_STEERING, TO_VEHICLE};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "epas-stand-in",
    summary: "a power steering with friction and a vehicle that exchange velocity and force every 20 ms: a stand-in",
    source: "after Chen et al. 2021, section 4.2, whose vehicle, control unit and table 5 are not public",
    roles: &[STEERING, CONTROLLER, VEHICLE],
    cases: &[
        Case::new("A-1Hz", "soft tie rod, steering torque from 0 to 1 Hz"),
        Case::new("A-3Hz", "soft tie rod, steering torque from 0 to 3 Hz"),
        Case::new(
            "R-1Hz",
            "stiffer tie rod, with which linear extrapolation rings, 0 to 1 Hz",
        ),
        Case::new(
            "R-3Hz",
            "stiffer tie rod, with which linear extrapolation rings, 0 to 3 Hz",
        ),
        Case::new(
            "S-1Hz",
            "stiffest tie rod, with which linear extrapolation is unstable, 0 to 1 Hz",
        ),
        Case::new(
            "S-3Hz",
            "stiffest tie rod, with which linear extrapolation is unstable, 0 to 3 Hz",
        ),
    ],
    measure,
    figures: figures::epas::figures,
    conclude: nothing_more,
};

const PROJECT: &str = "bar of this project";

/// Errors of column angle, rack velocity, yaw rate and lateral velocity.
const ERRORS: [Metric; 4] = [
    Metric::figure("NRMS of the column angle", ""),
    Metric::figure("NRMS of the rack velocity", ""),
    Metric::figure("NRMS of the yaw rate", ""),
    Metric::figure("NRMS of the lateral velocity", ""),
];
const RACK: usize = 1;

const HOLD: &str = "hold";
const LINEAR: &str = "linear";
const QUADRATIC: &str = "quadratic";
const FIRST: &str = "h-infinity, W1";
const SECOND: &str = "h-infinity, W2";
const THIRD: &str = "h-infinity, W3";
const UNSMOOTHED: &str = "h-infinity, W2 without smoother";
const METHODS: [&str; 7] = [HOLD, LINEAR, QUADRATIC, FIRST, SECOND, THIRD, UNSMOOTHED];

fn channels(method: &str) -> Result<[Channel; 2], MeasureError> {
    let both = |design: Design| {
        [TO_VEHICLE, TO_STEERING].map(|steps| Channel::compensated(&design, steps))
    };
    let specification = match method {
        HOLD => return Ok([(); 2].map(|()| Channel::polynomial(0))),
        LINEAR => return Ok([(); 2].map(|()| Channel::polynomial(1))),
        QUADRATIC => return Ok([(); 2].map(|()| Channel::polynomial(2))),
        FIRST => Specification {
            static_gain: 0.983,
            ..Specification::of_order(1)
        },
        SECOND => Specification::of_order(2),
        THIRD => Specification::of_order(3),
        _ => Specification {
            smoother_cutoff: None,
            control_weight: 1e-2,
            ..Specification::of_order(2)
        },
    };
    Ok(both(specification.design()?))
}

fn manoeuvre(case: &str) -> Manoeuvre {
    let (stiffness, damping) = match &case[..1] {
        "A" => (7e5, 800.0),
        "R" => (7.4e5, 800.0),
        _ => (8e5, 700.0),
    };
    Manoeuvre {
        tie_rod: TieRod { stiffness, damping },
        frequency: if case.ends_with("-1Hz") { 1.0 } else { 3.0 },
    }
}

/// Time, s, and velocity of the rack, m/s, in a case with a method.
pub(crate) fn rack_velocities(case: &str, method: &str) -> Result<Vec<(f64, f64)>, MeasureError> {
    let [velocity, force] = channels(method)?;
    Ok(velocities(&manoeuvre(case).coupled(velocity, force)))
}

/// The same of the system as a whole.
pub(crate) fn rack_reference(case: &str) -> Vec<(f64, f64)> {
    velocities(&manoeuvre(case).reference())
}

fn velocities(samples: &[Sample]) -> Vec<(f64, f64)> {
    let times = (0..).map(|step| f64::from(step) * 1e-3);
    let samples = samples.iter().map(|sample| sample[RACK]);
    times.zip(samples).collect()
}

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let manoeuvre = manoeuvre(case.name);
    let reference = manoeuvre.reference();
    let errors = |method: &&'static str| {
        let [velocity, force] = channels(method)?;
        let samples = manoeuvre.coupled(velocity, force);
        let errors: [f64; 4] = std::array::from_fn(|variable| nrms(&samples, &reference, variable));
        Ok((*method, errors))
    };
    let all: Result<Vec<_>, MeasureError> = METHODS.par_iter().map(errors).collect();
    let all = all?;
    let hold = all[0].1[RACK];
    for (method, errors) in all {
        let rows = (0..4).map(|variable| BenchmarkRow::new(ERRORS[variable], errors[variable]));
        progress.add(method, rows);
        let share = match method {
            FIRST => 0.65,
            THIRD => 0.30,
            LINEAR if case.name.starts_with('R') => {
                let row = BenchmarkRow::new(BESIDE_HOLD, errors[RACK] / hold);
                progress.add(method, [row.within(Bar::AtLeast(2.0), PROJECT)]);
                continue;
            }
            _ => continue,
        };
        let row = BenchmarkRow::new(BESIDE_HOLD, errors[RACK] / hold);
        progress.add(method, [row.within(Bar::AtMost(share), PROJECT)]);
    }
    measure_fmus(roles, &manoeuvre, &reference, progress)
}

const DIFFERENCE: Metric = Metric::figure("difference from the process, greatest", "");
const HELD: Setup = Setup {
    name: "FMUs, hold, stale",
    extrapolation: "hold",
    exchange: "stale",
};
const ONE_SIDED: Setup = Setup {
    name: "FMUs, one-sided, fresh",
    extrapolation: "hinfinity",
    exchange: "fresh",
};

/// The same three units as FMUs; the signal to the vehicle is seen every millisecond.
fn measure_fmus(
    roles: &RoleAssignment,
    manoeuvre: &Manoeuvre,
    reference: &[Sample],
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let [velocity, force] = channels(HOLD)?;
    let held = manoeuvre.coupled(velocity, force);
    let rows = |setup: &Setup| {
        let course = course(roles, manoeuvre, setup)?;
        let samples: Vec<Sample> = course
            .iter()
            .map(|[angle, velocity]| [*angle, *velocity, f64::NAN, f64::NAN, f64::NAN])
            .collect();
        Ok::<_, MeasureError>(samples)
    };
    let samples = rows(&HELD)?;
    let differences = [0, RACK].map(|variable| distance(&samples, &held, variable));
    let row = BenchmarkRow::new(DIFFERENCE, greatest(differences.into_iter()))
        .within(Bar::AtMost(1e-9), PROJECT);
    progress.add(HELD.name, [row]);
    let samples = rows(&ONE_SIDED)?;
    let row =
        |variable: usize| BenchmarkRow::new(ERRORS[variable], nrms(&samples, reference, variable));
    progress.add(ONE_SIDED.name, [row(0), row(1)]);
    Ok(())
}

const BESIDE_HOLD: Metric = Metric::figure("rack velocity, error by hold's", "");
