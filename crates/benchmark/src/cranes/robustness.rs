//! Macro-steps that the displacement correction holds on a crane with less friction: 0.5, the default, all of them, and 1 not.

use fmu_models::{Crane, Throttle};
use rayon::prelude::*;

use super::run::FmuPool;
use super::setup::{Coupling, Formulation, Prediction, Setup, Solver};
use crate::benchmark::{MeasureError, Progress};
use crate::row::{BenchmarkRow, Metric};

pub(crate) const CASE: &str = "double-c";

const CRANE: Crane = Crane {
    actuators: 2,
    throttle: Throttle::Medium,
};

/// Macro-steps, ms.
const FIRST: u32 = 10;
const LAST: u32 = 60;
const GRID: u32 = 2;
/// Root mean square error of a length up to which a macro-step holds, m: twice the bar of the other cranes at 50 ms.
const LIMIT: f64 = 2e-4;

const UP_TO: Metric = Metric::figure("every H holds up to", "ms");
const LARGEST_FAILING: Metric = Metric::figure("largest H that does not hold", "ms");
const HOLDING: Metric = Metric::figure("macro-steps that hold", "");
const RMS_S1: Metric = Metric::mean_error("rms s1", "m");
const RMS_S2: Metric = Metric::mean_error("rms s2", "m");

/// A displacement correction.
struct Correction {
    share: f64,
    name: &'static str,
    /// The same at some macro-steps, ms.
    at: [(u32, &'static str); 2],
}

const CORRECTIONS: [Correction; 2] = [
    Correction {
        share: 0.5,
        name: "impulse, displacement correction 0.5",
        at: [
            (10, "impulse, displacement correction 0.5, 10 ms"),
            (50, "impulse, displacement correction 0.5, 50 ms"),
        ],
    },
    Correction {
        share: 1.0,
        name: "impulse, displacement correction 1",
        at: [
            (10, "impulse, displacement correction 1, 10 ms"),
            (50, "impulse, displacement correction 1, 50 ms"),
        ],
    },
];

fn setup(displacement_correction: f64, milliseconds: u32) -> Setup {
    Setup {
        crane: CRANE,
        formulation: Formulation::Restarted,
        coupling: Coupling::Pressure,
        prediction: Prediction::Impulse {
            displacement_correction,
        },
        solver: Solver::Euler,
        tenths: 10 * milliseconds,
    }
}

pub(crate) fn measure(pool: &FmuPool<'_>, progress: &Progress<'_>) -> Result<(), MeasureError> {
    let steps: Vec<u32> = (FIRST..=LAST).step_by(GRID as usize).collect();
    for Correction { share, name, at } in CORRECTIONS {
        let runs = steps.par_iter().map(|step| {
            let outcome = pool.run(&setup(share, *step))?;
            Ok((*step, outcome.rms_s))
        });
        let errors = runs.collect::<Result<Vec<_>, MeasureError>>()?;
        let failing = errors
            .iter()
            .filter(|(_, errors)| errors.iter().any(|error| *error > LIMIT))
            .map(|(step, _)| *step);
        let failing: Vec<u32> = failing.collect();
        let first = failing.first().copied().unwrap_or(LAST + GRID);
        let largest = failing.last().copied().unwrap_or(0);
        let rows = [
            BenchmarkRow::new(UP_TO, f64::from(first - GRID)),
            BenchmarkRow::new(LARGEST_FAILING, f64::from(largest)),
            BenchmarkRow::new(HOLDING, (steps.len() - failing.len()) as f64),
        ];
        progress.add(name, rows);
        for (step, name) in at {
            for (_, [first, second]) in errors.iter().filter(|(found, _)| *found == step) {
                let rows = [
                    BenchmarkRow::new(RMS_S1, *first),
                    BenchmarkRow::new(RMS_S2, *second),
                ];
                progress.add(name, rows);
            }
        }
    }
    Ok(())
}
