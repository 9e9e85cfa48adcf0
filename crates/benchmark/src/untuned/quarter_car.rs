//! The quarter car at steps of 1 ms and with ECCO, against the exact solution.

use gyrator_system::SystemFile;

use super::comparison::{error, record, untuned};
use crate::benchmark::{MeasureError, Progress};
use crate::quarter_car_run::{CUTS, Coupling, Cut, PLAIN};
use crate::quarter_car_tables::couplings;
use crate::role::{RoleAssignment, RoleError};

/// Both halves with almost no error of their own: a solver of order 4.
const SOLVER: (&str, i64) = ("runge_kutta_4", 64);

/// Names of the rows of a cut with equal steps and with ECCO.
const NAMES: [[&str; 2]; 4] = [
    ["lin1, 1 ms", "lin1, ECCO"],
    ["lin2, 1 ms", "lin2, ECCO"],
    ["nl1, 1 ms", "nl1, ECCO"],
    ["nl2, 1 ms", "nl2, ECCO"],
];

/// A run of the car.
struct Outcome {
    error: f64,
    steps: u64,
}

pub(super) fn measure(roles: &RoleAssignment, progress: &Progress<'_>) -> Result<(), MeasureError> {
    for (cut, names) in CUTS.iter().zip(NAMES) {
        for (name, has_ecco) in names.into_iter().zip([false, true]) {
            let mut best = (
                "none runs to its end",
                PLAIN,
                Outcome {
                    error: f64::INFINITY,
                    steps: 0,
                },
            );
            for (published, coupling) in couplings(cut) {
                if coupling.ecco.is_some() != has_ecco {
                    continue;
                }
                let coupling = with_solver(coupling);
                let outcome = run(cut, roles, cut.system(roles, &coupling)?)?;
                if outcome.error < best.2.error {
                    best = (published, coupling, outcome);
                }
            }
            let (published, coupling, outcome) = best;
            let own = own_error(cut, roles, &coupling, outcome.steps)?;
            super::add(progress, name, (published, outcome.error), own);
        }
    }
    Ok(())
}

/// The car's published methods as files, and each cut without a choice.
pub(super) fn files(roles: &RoleAssignment) -> Result<Vec<(String, SystemFile)>, RoleError> {
    let mut files = Vec::new();
    for cut in &CUTS {
        for (way, coupling) in couplings(cut) {
            let (file, _) = cut.system(roles, &coupling)?;
            files.push((format!("quarter-car, {}, {way}", cut.name), file));
        }
        let (file, _) = cut.system(roles, &PLAIN)?;
        files.push((format!("quarter-car, {}, auto", cut.name), untuned(file)));
    }
    Ok(files)
}

fn with_solver(coupling: Coupling) -> Coupling {
    let (integrator, micro_steps) = SOLVER;
    Coupling {
        integrator,
        micro_steps,
        ..coupling
    }
}

/// The error without a choice, in at most so many steps: with ECCO, the tolerance is that with which the steps are as many.
fn own_error(
    cut: &Cut,
    roles: &RoleAssignment,
    coupling: &Coupling,
    steps: u64,
) -> Result<f64, MeasureError> {
    const HALVINGS: u32 = 20;
    let attempt = |coupling: &Coupling| {
        let (file, names) = cut.system(roles, coupling)?;
        run(cut, roles, (untuned(file), names))
    };
    let Some(ecco) = coupling.ecco else {
        return Ok(attempt(coupling)?.error);
    };
    let with = |exponent: f64| {
        let mut ecco = ecco;
        ecco.tolerance *= 10_f64.powf(exponent);
        attempt(&Coupling {
            ecco: Some(ecco),
            ..*coupling
        })
    };
    // Decades of the tolerance: the steps are too many at the lower end, and few enough at the upper one.
    let (mut low, mut high) = (-8.0, 3.0);
    let mut own = with(high)?.error;
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        let outcome = with(middle)?;
        if outcome.steps <= steps {
            (high, own) = (middle, outcome.error);
        } else {
            low = middle;
        }
    }
    Ok(own)
}

/// The error of force and velocity at the cut.
fn run(
    cut: &Cut,
    roles: &RoleAssignment,
    (file, names): (SystemFile, [String; 2]),
) -> Result<Outcome, MeasureError> {
    let Some(recording) = record(roles, file)? else {
        return Ok(Outcome {
            error: f64::INFINITY,
            steps: 0,
        });
    };
    let rows = recording.rows(&names)?;
    let exact = (cut.car)().motion(&recording.times);
    let exact: Vec<[f64; 2]> = exact
        .iter()
        .map(|motion| {
            let velocity = if cut.reticulation == 1 {
                motion.v_c
            } else {
                motion.v_w
            };
            [motion.force, velocity]
        })
        .collect();
    let exact: Vec<&[f64]> = exact.iter().map(|row| &row[..]).collect();
    // The road steps up at the start, when outputs have not followed yet.
    Ok(Outcome {
        error: error(&rows[1..], &exact[1..]),
        steps: recording.report.steps,
    })
}
