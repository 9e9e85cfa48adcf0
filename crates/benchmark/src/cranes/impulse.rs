//! Interface models that pass the impulse of each macro-step: macro-steps ten times the paper's.

use fmu_models::Crane;
use rayon::prelude::*;

use super::run::FmuPool;
use super::setup::{Coupling, Formulation, Prediction, Setup, Solver};
use crate::benchmark::{MeasureError, Progress};
use crate::row::{Bar, BenchmarkRow, Metric};

const RMS_S1: Metric = Metric::mean_error("rms s1", "m");
const RMS_S2: Metric = Metric::mean_error("rms s2", "m");
const RMS_V1: Metric = Metric::mean_error("rms v1", "m/s");
const FINISHED: Metric = Metric::figure("every H finishes up to", "ms");

/// A configuration at several macro-steps.
struct Impulse {
    /// At 10, 20, 30 and 50 ms, and up to the largest.
    names: [&'static str; 5],
    formulation: Formulation,
    coupling: Coupling,
    prediction: Prediction,
    /// Every macro-step up to this finishes, ms.
    finishes: u32,
}

const STEPS: [u32; 4] = [10, 20, 30, 50];

#[rustfmt::skip]
const IMPULSES: [Impulse; 3] = [
    Impulse {
        names: ["impulse, 10 ms", "impulse, 20 ms", "impulse, 30 ms", "impulse, 50 ms", "impulse, to 100 ms"],
        formulation: Formulation::Restarted, coupling: Coupling::Pressure,
        prediction: Prediction::Impulse { displacement_correction: Some(0.0) },
        finishes: 100,
    },
    Impulse {
        names: ["impulse, displacement correction, 10 ms", "impulse, displacement correction, 20 ms",
            "impulse, displacement correction, 30 ms", "impulse, displacement correction, 50 ms", "impulse, displacement correction, to 100 ms"],
        formulation: Formulation::Restarted, coupling: Coupling::Pressure,
        prediction: Prediction::Impulse { displacement_correction: Some(1.0) },
        finishes: 100,
    },
    Impulse {
        names: ["impulse, ALI1, force, 10 ms", "impulse, ALI1, force, 20 ms", "impulse, ALI1, force, 30 ms", "impulse, ALI1, force, 50 ms", "impulse, ALI1, force, to 80 ms"],
        formulation: Formulation::IndexOne, coupling: Coupling::Force,
        prediction: Prediction::Impulse { displacement_correction: Some(0.0) },
        finishes: 80,
    },
];

impl Impulse {
    fn setup(&self, crane: Crane, milliseconds: u32) -> Setup {
        Setup {
            crane,
            formulation: self.formulation,
            coupling: self.coupling,
            prediction: self.prediction,
            solver: Solver::Euler,
            tenths: 10 * milliseconds,
        }
    }

    /// Greatest error of a length at 50 ms, m.
    fn headline(&self) -> f64 {
        match self.prediction {
            Prediction::Impulse {
                displacement_correction,
            } if displacement_correction > Some(0.0) => 1e-4,
            _ => 1e-3,
        }
    }

    fn rows(
        &self,
        pool: &FmuPool<'_>,
        crane: Crane,
        place: usize,
    ) -> Result<Vec<BenchmarkRow>, MeasureError> {
        let outcome = pool.run(&self.setup(crane, STEPS[place]))?;
        let mut measured = vec![(RMS_S1, outcome.rms_s[0]), (RMS_V1, outcome.rms_v[0])];
        if crane.actuators == 2 {
            measured.insert(1, (RMS_S2, outcome.rms_s[1]));
        }
        let mut rows = Vec::new();
        for (metric, measured) in measured {
            rows.push(BenchmarkRow::new(metric, measured));
            if STEPS[place] == 50 && metric.unit == "m" {
                let metric = if metric == RMS_S1 { LIMIT_S1 } else { LIMIT_S2 };
                rows.push(
                    BenchmarkRow::new(metric, measured)
                        .within(Bar::AtMost(self.headline()), HEADLINE),
                );
            }
        }
        Ok(rows)
    }

    /// Largest macro-step, ms, up to which all of a grid of 2 ms finish.
    fn finishes(&self, pool: &FmuPool<'_>, crane: Crane) -> Result<u32, MeasureError> {
        for milliseconds in (2..=self.finishes).step_by(2) {
            let setup = self.setup(crane, milliseconds);
            if !pool.run_within(&setup, f64::INFINITY)?.is_finished {
                return Ok(milliseconds - 2);
            }
        }
        Ok(self.finishes)
    }
}

/// The three configurations at all macro-steps, and the pipelined one.
pub(crate) fn measure(
    pool: &FmuPool<'_>,
    crane: Crane,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let cells: Vec<(&Impulse, usize)> = IMPULSES
        .iter()
        .flat_map(|impulse| (0..=STEPS.len()).map(move |i| (impulse, i)))
        .collect();
    let rows = cells.par_iter().map(|(impulse, place)| {
        let rows = if *place < STEPS.len() {
            impulse.rows(pool, crane, *place)?
        } else {
            let finishes = f64::from(impulse.finishes(pool, crane)?);
            let bar = Bar::AtLeast(f64::from(impulse.finishes));
            vec![BenchmarkRow::new(FINISHED, finishes).within(bar, HEADLINE)]
        };
        Ok((impulse.names[*place], rows))
    });
    for (name, rows) in rows.collect::<Result<Vec<_>, MeasureError>>()? {
        progress.add(name, rows);
    }
    let pipelined = Impulse {
        prediction: Prediction::Pipelined,
        ..IMPULSES[0]
    };
    let outcome = pool.run(&pipelined.setup(crane, 20))?;
    progress.add(
        "impulse, pipelined, 20 ms",
        [BenchmarkRow::new(RMS_S1, outcome.rms_s[0])],
    );
    Ok(())
}

const LIMIT_S1: Metric = Metric::mean_error("rms s1, limit", "m");
const LIMIT_S2: Metric = Metric::mean_error("rms s2, limit", "m");
const HEADLINE: &str = "bar of this project";
