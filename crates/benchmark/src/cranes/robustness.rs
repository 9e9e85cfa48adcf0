//! Displacement corrections on cranes with less friction: the macro-steps that hold with 0.5, all of them, and with 1. With a sixth
//! of that friction: the greatest speed with 0.5, on which the crane swings, and with the share that a run chooses by itself.

use fmu_models::{Crane, Throttle};
use rayon::prelude::*;

use super::run::{CraneOutcome, FmuPool};
use super::setup::{Coupling, Formulation, Prediction, Setup, Solver};
use crate::benchmark::{MeasureError, Progress};
use crate::row::{BenchmarkRow, Metric};

/// A crane by the name of its case.
pub(crate) const CRANES: [(&str, Throttle); 2] = [
    ("double-c", Throttle::Medium),
    ("double-d", Throttle::Slippery),
];

/// Macro-steps, ms.
const FIRST: u32 = 10;
const LAST: u32 = 60;
const GRID: u32 = 2;
/// Macro-steps at which the greatest speed is looked for, ms.
const CALM: [u32; 7] = [10, 12, 14, 17, 20, 24, 30];
/// Root mean square error of a length up to which a macro-step holds, m: twice the bar of the other cranes at 50 ms.
const LIMIT: f64 = 2e-4;

const UP_TO: Metric = Metric::figure("every H holds up to", "ms");
const LARGEST_FAILING: Metric = Metric::figure("largest H that does not hold", "ms");
const HOLDING: Metric = Metric::figure("macro-steps that hold", "");
const GREATEST_RATE: Metric = Metric::figure("greatest rate of a length over the true one", "");
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

fn setup(throttle: Throttle, displacement_correction: Option<f64>, milliseconds: u32) -> Setup {
    Setup {
        crane: Crane {
            actuators: 2,
            throttle,
        },
        formulation: Formulation::Restarted,
        coupling: Coupling::Pressure,
        prediction: Prediction::Impulse {
            displacement_correction,
        },
        solver: Solver::Euler,
        tenths: 10 * milliseconds,
    }
}

fn outcomes(
    pool: &FmuPool<'_>,
    throttle: Throttle,
    share: Option<f64>,
    steps: &[u32],
) -> Result<Vec<(u32, CraneOutcome)>, MeasureError> {
    let run = |step: &u32| Ok((*step, pool.run(&setup(throttle, share, *step))?));
    steps.par_iter().map(run).collect()
}

/// The rows of a crane.
pub(crate) fn measure(
    pool: &FmuPool<'_>,
    throttle: Throttle,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    if throttle == Throttle::Slippery {
        return measure_speed(pool, progress);
    }
    let steps: Vec<u32> = (FIRST..=LAST).step_by(GRID as usize).collect();
    for Correction { share, name, at } in CORRECTIONS {
        let outcomes = outcomes(pool, throttle, Some(share), &steps)?;
        let failing = outcomes
            .iter()
            .filter(|(_, outcome)| outcome.rms_s.iter().any(|error| *error > LIMIT))
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
            for (_, outcome) in outcomes.iter().filter(|(found, _)| *found == step) {
                let [first, second] = outcome.rms_s;
                let rows = [
                    BenchmarkRow::new(RMS_S1, first),
                    BenchmarkRow::new(RMS_S2, second),
                ];
                progress.add(name, rows);
            }
        }
    }
    Ok(())
}

/// The greatest speed of all macro-steps with too great a share, and with the one that a run chooses.
fn measure_speed(pool: &FmuPool<'_>, progress: &Progress<'_>) -> Result<(), MeasureError> {
    for (share, name) in [
        (Some(0.5), "impulse, displacement correction 0.5"),
        (None, "impulse, displacement correction auto"),
    ] {
        let outcomes = outcomes(pool, Throttle::Slippery, share, &CALM)?;
        let rates = outcomes.iter().map(|(_, outcome)| outcome.greatest_rate);
        let greatest = rates.fold(0.0, f64::max);
        progress.add(name, [BenchmarkRow::new(GREATEST_RATE, greatest)]);
    }
    Ok(())
}
