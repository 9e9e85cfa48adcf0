//! How long a step of the quarter car may be, and what a second road step costs.

use fmu_models::QuarterCar;

use crate::benchmark::{MeasureError, Progress};
use crate::quarter_car_run::{
    CarOutcome, Correction, Coupling, Cut, Ecco, PLAIN, POWER_ERROR, STEPS,
};
use crate::role::RoleAssignment;
use crate::row::{Bar, BenchmarkRow, Metric};

const SOURCE: &str = "independent reproduction with extensions, Runge-Kutta 4 in the halves";

const STABLE_STEP: Metric = Metric::figure("largest stable step", "ms");
const REPEATED: Metric = Metric::figure("steps made again", "");

/// The halves are exact, so that it is the coupling that is unstable or in error.
const ACCURATE: Coupling = Coupling {
    integrator: "runge_kutta_4",
    micro_steps: 32,
    ..PLAIN
};

/// A way to couple the halves with equal steps.
struct Method {
    name: &'static str,
    extrapolation: &'static str,
    exchange: &'static str,
    has_nepce: bool,
    /// Figures of an independent reproduction for lin2 and nl2, ms.
    stable_steps: [f64; 2],
    /// The tolerance r of ECCO.
    tolerance: f64,
    /// dP after a second road step with steps of at most 10 and 1 ms, W.
    second_step: [f64; 2],
}

#[rustfmt::skip]
const METHODS: &[Method] = &[
    Method { name: "hold", extrapolation: "hold", exchange: "stale", has_nepce: false,
        stable_steps: [12.0, 10.0], tolerance: 2.6e-6, second_step: [10.6, 0.82] },
    Method { name: "hold, nepce", extrapolation: "hold", exchange: "stale", has_nepce: true,
        stable_steps: [10.0, 10.0], tolerance: 2.6e-6, second_step: [5.3, 0.44] },
    Method { name: "linear", extrapolation: "linear", exchange: "stale", has_nepce: false,
        stable_steps: [12.0, 8.0], tolerance: 8.4e-8, second_step: [8.2, 0.019] },
    Method { name: "linear, fresh", extrapolation: "linear", exchange: "fresh", has_nepce: false,
        stable_steps: [30.0, 12.0], tolerance: 8.4e-8, second_step: [4.9, 0.34] },
];

impl Method {
    fn coupling(&self, cut: &Cut) -> Coupling {
        Coupling {
            extrapolation: self.extrapolation,
            exchange: self.exchange,
            correction: if self.has_nepce {
                Correction::Nepce(Some(cut.alpha))
            } else {
                Correction::Off
            },
            ..ACCURATE
        }
    }
}

/// Whether the force is nowhere greater in the last quarter of the run than before.
///
/// It need not die away: the square-root damper, infinitely stiff at rest, sustains a small
/// oscillation at any step.
fn is_stable(outcome: &CarOutcome) -> bool {
    let largest = |points: &[(f64, f64, f64)]| {
        points
            .iter()
            .map(|(_, force, _)| force.abs())
            .fold(0.0, f64::max)
    };
    let (early, late) = outcome.points.split_at(outcome.points.len() / 4 * 3);
    largest(late) < largest(early)
}

/// The largest constant step, ms, up to which all shorter ones of the grid are stable over 8 s.
fn largest_stable_step(
    roles: &RoleAssignment,
    cut: &Cut,
    coupling: &Coupling,
) -> Result<f64, MeasureError> {
    let mut stable = f64::NAN;
    for milliseconds in [
        5.0_f64, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0,
    ] {
        let step = 1e-3 * milliseconds;
        let long = Cut {
            duration: (8.0 / step).round() * step,
            ..*cut
        };
        if !is_stable(&long.run(roles, &Coupling { step, ..*coupling })?) {
            break;
        }
        stable = milliseconds;
    }
    Ok(stable)
}

/// Measures the reticulation that is less robust.
pub(crate) fn measure(
    roles: &RoleAssignment,
    cut: &Cut,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let case = match cut.name {
        "lin2" => 0,
        "nl2" => 1,
        _ => return Ok(()),
    };
    for method in METHODS {
        let coupling = method.coupling(cut);
        let stable = largest_stable_step(roles, cut, &coupling)?;
        let row = BenchmarkRow::new(STABLE_STEP, stable);
        let reference = method.stable_steps[case];
        let row = match case {
            0 => row.against(reference, Bar::Absolute(0.0), SOURCE),
            _ => row
                .beside(reference, SOURCE)
                .note("what counts as stable is not known there"),
        };
        progress.add(method.name, [row]);
    }
    if case == 0 {
        measure_second_step(roles, cut, progress)?;
    }
    Ok(())
}

const SHORT: [&str; 4] = [
    "second road step, hold, at most 1 ms",
    "second road step, hold, nepce, at most 1 ms",
    "second road step, linear, at most 1 ms",
    "second road step, linear, fresh, at most 1 ms",
];
const LONG: [&str; 4] = [
    "second road step, hold",
    "second road step, hold, nepce",
    "second road step, linear",
    "second road step, linear, fresh",
];
const REPEATING: [&str; 4] = [
    "second road step, hold, steps made again",
    "second road step, hold, nepce, steps made again",
    "second road step, linear, steps made again",
    "second road step, linear, fresh, steps made again",
];

/// The road falls by 5 cm at 2 s, when the steps have grown.
fn measure_second_step(
    roles: &RoleAssignment,
    cut: &Cut,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let car = || QuarterCar {
        second_road_step: -0.05,
        second_road_time: 2.0,
        ..QuarterCar::linear()
    };
    for (names, maximum_step, reject_above) in [
        (LONG, 1e-2, None),
        (SHORT, 1e-3, None),
        (REPEATING, 1e-2, Some(5.0)),
    ] {
        let cut = Cut {
            car,
            maximum_step,
            ..*cut
        };
        for (method, name) in METHODS.iter().zip(names) {
            let ecco = Ecco {
                tolerance: method.tolerance,
                indicator: "sum-abs",
                overshoot: false,
                reject_above,
            };
            let outcome = cut.run(
                roles,
                &Coupling {
                    ecco: Some(ecco),
                    ..method.coupling(&cut)
                },
            )?;
            let row = BenchmarkRow::new(POWER_ERROR, outcome.power.error());
            let row = match reject_above {
                Some(_) => row,
                None => row
                    .beside(method.second_step[usize::from(maximum_step < 1e-2)], SOURCE)
                    .note("the tolerances r are not known there"),
            };
            let mut rows = vec![row, BenchmarkRow::new(STEPS, outcome.steps)];
            if reject_above.is_some() {
                rows.push(BenchmarkRow::new(REPEATED, outcome.repeated));
            }
            progress.add(name, rows);
        }
    }
    Ok(())
}
