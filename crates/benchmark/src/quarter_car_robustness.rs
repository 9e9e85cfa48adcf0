//! How long a step of the quarter car may be, and what a second road step costs.

use fmu_models::QuarterCar;

use crate::benchmark::{MeasureError, Progress};
use crate::quarter_car_run::{
    CarOutcome, Correction, Coupling, Cut, Ecco, PLAIN, POWER_ERROR, STEPS,
};
use crate::role::RoleAssignment;
use crate::row::{BenchmarkRow, Metric};

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
    /// The tolerance r of ECCO.
    tolerance: f64,
}

#[rustfmt::skip]
const METHODS: &[Method] = &[
    Method { name: "hold", extrapolation: "hold", exchange: "stale", has_nepce: false, tolerance: 2.6e-6 },
    Method { name: "hold, nepce", extrapolation: "hold", exchange: "stale", has_nepce: true, tolerance: 2.6e-6 },
    Method { name: "linear", extrapolation: "linear", exchange: "stale", has_nepce: false, tolerance: 8.4e-8 },
    Method { name: "linear, fresh", extrapolation: "linear", exchange: "fresh", has_nepce: false, tolerance: 8.4e-8 },
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
    if cut.reticulation != 2 {
        return Ok(());
    }
    for method in METHODS {
        let stable = largest_stable_step(roles, cut, &method.coupling(cut))?;
        progress.add(method.name, [BenchmarkRow::new(STABLE_STEP, stable)]);
    }
    if cut.name == "lin2" {
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
            let mut rows = vec![
                BenchmarkRow::new(POWER_ERROR, outcome.power.error()),
                BenchmarkRow::new(STEPS, outcome.steps),
            ];
            if reject_above.is_some() {
                rows.push(BenchmarkRow::new(REPEATED, outcome.repeated));
            }
            progress.add(name, rows);
        }
    }
    Ok(())
}
